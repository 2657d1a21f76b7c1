// Loader threads with bounded prefetch: pieces of the training stream, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "datasets/source.h"

namespace parabench {

/// A run of positions of the stream: one micro-batch of one step.
struct PieceRequest {
  std::int64_t first_position = 0;
  int samples = 0;
};

struct LoadedPiece {
  std::vector<float> pixels;         ///< samples x C x H x W; empty when only labels were asked for
  std::vector<std::int64_t> labels;  ///< samples
};

struct LoaderOptions {
  int threads = 1;
  int prefetch = 4;          ///< pieces read ahead at most
  bool pixels = true;        ///< false: labels only (a last stage that is not the first)
  bool skip_corrupt = false; ///< replace a corrupt sample by the next readable one of the set, counted
  std::uint64_t seed = 1;
};

/// Serves the pieces that `request(0), request(1), ...` name, in that order, for as long as next() is called.
/// next() rethrows what a reader threw. The destructor joins the threads.
class Loader {
 public:
  Loader(std::shared_ptr<const SampleSource> source, std::function<PieceRequest(std::int64_t)> request,
         LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  LoadedPiece next();
  std::int64_t skipped() const;  ///< corrupt samples replaced so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parabench
