// Loader threads with bounded prefetch: pieces of the training stream, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "datasets/source.h"

namespace parabench::datasets {

/// A run of positions of the stream: one micro-batch of one step.
struct PieceRequest {
  std::int64_t first_position = 0;
  int samples = 0;
};

/// Gives so many bytes, at least one, with anything in them, aligned for every type. Several threads call it at once,
/// and any thread lets go of what it gave. May throw.
using HostMemory = std::function<std::shared_ptr<void>(std::size_t bytes)>;
/// Of the heap.
std::shared_ptr<void> plain_memory(std::size_t bytes);

struct LoadedPiece {
  int samples = 0;
  SampleValues values;             ///< samples x shape; empty when only labels were asked for
  std::span<std::int64_t> labels;  ///< samples x label_shape
  std::shared_ptr<void> value_memory, label_memory;

  bool has_values() const {
    return std::visit([](auto span) { return !span.empty(); }, values);
  }
};

struct LoaderOptions {
  int threads = 1;                   ///< at least 1; they share the samples of a piece
  int prefetch = 4;                  ///< pieces read ahead at most, at least 1
  bool values = true;                ///< false: labels only (a last stage that is not the first)
  bool skip_corrupt = false;         ///< replace a corrupt sample by the next readable one of the set, counted
  std::uint64_t seed = 1;            ///< of the order of samples
  HostMemory memory = plain_memory;  ///< that pieces are read into; called by the loader's threads
};

/// Serves the pieces that `request(0), request(1), ...` name, in that order, for as long as next() is called.
/// `request` is called by one thread at a time, in order. Threads that wait, sleep.
///
/// A piece with a sample that cannot be read, or without memory, is delivered as what the reader (or `request`) threw
/// for its first such sample; next() may be called again for the piece after it. With skip_corrupt the sample takes the
/// values and labels of the next readable index of the set (cyclic; CorruptSample when none of the next 999 is), the
/// same on every rank: so a loader of labels alone reads values then, too.
class Loader {
 public:
  Loader(std::shared_ptr<const SampleSource> source, std::function<PieceRequest(std::int64_t)> request,
         LoaderOptions options);
  /// Joins the threads, each after the sample at hand. No call of next() may be under way.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// One caller at a time.
  LoadedPiece next();
  std::int64_t skipped() const;  ///< samples replaced in the pieces delivered so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parabench::datasets
