#include "datasets/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "datasets/order.h"

namespace parabench::datasets {
namespace {

/// So many unreadable samples in a row are no blemish: the set is broken, or the disk.
constexpr std::int64_t most_replacements = 1000;

/// A piece on its way: its samples are claimed one by one in order, and finish in any order.
struct Piece {
  LoadedPiece loaded;
  std::vector<SampleOrder::Sample> samples;
  std::size_t claimed = 0, finished = 0;
  std::int64_t skipped = 0;
  std::exception_ptr error;
  std::size_t error_sample = 0;  // of the first sample that failed, whichever thread came first

  std::once_flag memory_taken;

  bool all_claimed() const { return claimed == samples.size(); }
  bool complete() const { return finished == samples.size(); }
};

}  // namespace

struct Loader::State {
  State(std::shared_ptr<const SampleSource> source_in, std::function<PieceRequest(std::int64_t)> request_in,
        const LoaderOptions& options_in)
      : source(std::move(source_in)),
        request(std::move(request_in)),
        options(options_in),
        sample_values(static_cast<std::size_t>(source->shape().elements())),
        sample_labels(static_cast<std::size_t>(source->label_shape().elements())),
        indices(source->shape().kind() == ElementKind::int64),
        order(source->size(), options.seed) {}

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    work.notify_all();
  }

  const std::shared_ptr<const SampleSource> source;
  const std::function<PieceRequest(std::int64_t)> request;
  const LoaderOptions options;
  const std::size_t sample_values, sample_labels;
  const bool indices;  ///< samples are of int64, not of real numbers

  mutable std::mutex mutex;                // guards all below
  std::condition_variable work, complete;  // a sample may be claimed, or stop; the front piece is complete
  SampleOrder order;
  std::deque<std::unique_ptr<Piece>> pieces;  // opened and not yet delivered; only the last may have unclaimed samples
  std::int64_t opened = 0, skipped = 0;
  bool stop = false;
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  bool has_work() const {
    return pieces.size() < static_cast<std::size_t>(options.prefetch) || !pieces.back()->all_claimed();
  }

  void open_piece() {
    Piece& piece = *pieces.emplace_back(std::make_unique<Piece>());
    try {
      const PieceRequest wanted = request(opened++);
      for (int i = 0; i < wanted.samples; ++i) piece.samples.push_back(order.at(wanted.first_position + i));
    } catch (...) {
      piece.samples.clear();
      piece.error = std::current_exception();
    }
  }

  template <class Value>
  std::span<Value> take(std::size_t count, std::shared_ptr<void>& memory) const {
    memory = options.memory(count * sizeof(Value));
    return {static_cast<Value*>(memory.get()), count};
  }

  /// Once for all samples of the piece; without the lock, since new memory takes its time, pinned memory above all.
  void take_memory(Piece& piece) const {
    std::call_once(piece.memory_taken, [&] {
      LoadedPiece& loaded = piece.loaded;
      const std::size_t samples = piece.samples.size(), values = samples * sample_values;
      loaded.samples = static_cast<int>(samples);
      loaded.labels = take<std::int64_t>(samples * sample_labels, loaded.label_memory);
      if (!options.values) return;
      if (indices)
        loaded.values = take<std::int64_t>(values, loaded.value_memory);
      else
        loaded.values = take<float>(values, loaded.value_memory);
    });
  }

  /// Where a sample's values and labels go; without values where they are not read.
  struct Place {
    std::optional<SampleValues> values;
    std::span<std::int64_t> labels;
  };
  struct Scratch {
    std::vector<float> real;
    std::vector<std::int64_t> indices;
  };
  /// Of sample i of a piece; `scratch` takes values that are read only to see whether they can be.
  Place place_of(Piece& piece, std::size_t i, Scratch& scratch) const {
    Place place{{}, piece.loaded.labels.subspan(i * sample_labels, sample_labels)};
    const auto part = [&](auto span) { return SampleValues(span.subspan(i * sample_values, sample_values)); };
    if (options.values) {
      place.values = std::visit(part, piece.loaded.values);
    } else if (options.skip_corrupt) {
      scratch.real.resize(indices ? 0 : sample_values);
      scratch.indices.resize(indices ? sample_values : 0);
      place.values = indices ? SampleValues(scratch.indices) : SampleValues(scratch.real);
    }
    return place;
  }

  void read(std::int64_t index, std::int64_t epoch, const Place& place) const {
    source->read_labels(index, place.labels);
    if (place.values) source->read(index, epoch, *place.values);
  }

  /// True when the sample had to be replaced.
  bool read_or_replace(SampleOrder::Sample sample, const Place& place) const {
    try {
      read(sample.index, sample.epoch, place);
      return false;
    } catch (const CorruptSample&) {
      if (!options.skip_corrupt) throw;
      for (std::int64_t next = 1; next < std::min(source->size(), most_replacements); ++next) {
        try {
          read((sample.index + next) % source->size(), sample.epoch, place);
          return true;
        } catch (const CorruptSample&) {
          // The one after it may be readable.
        }
      }
      throw;
    }
  }

  void serve() {
    Scratch scratch;
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [&] { return stop || has_work(); });
      if (stop) return;
      if (pieces.empty() || pieces.back()->all_claimed()) open_piece();
      Piece& piece = *pieces.back();
      if (piece.all_claimed()) {  // nothing to read in it
        complete.notify_one();
        continue;
      }
      const std::size_t i = piece.claimed++;
      lock.unlock();
      bool replaced = false;
      std::exception_ptr error;
      try {
        take_memory(piece);
        replaced = read_or_replace(piece.samples[i], place_of(piece, i, scratch));
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      piece.skipped += replaced;
      if (error && (!piece.error || i < piece.error_sample)) {
        piece.error = error;
        piece.error_sample = i;
      }
      ++piece.finished;
      if (pieces.front()->complete()) complete.notify_one();
    }
  }
};

std::shared_ptr<void> plain_memory(std::size_t bytes) {
  return {::operator new(bytes), [](void* memory) { ::operator delete(memory); }};
}

Loader::Loader(std::shared_ptr<const SampleSource> source, std::function<PieceRequest(std::int64_t)> request,
               LoaderOptions options)
    : state_(std::make_unique<State>(std::move(source), std::move(request), options)) {
  for (int i = 0; i < options.threads; ++i) state_->threads.emplace_back([s = state_.get()] { s->serve(); });
}

Loader::~Loader() = default;

LoadedPiece Loader::next() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.complete.wait(lock, [&] { return !s.pieces.empty() && s.pieces.front()->complete(); });
  const std::unique_ptr<Piece> piece = std::move(s.pieces.front());
  s.pieces.pop_front();
  s.skipped += piece->skipped;
  lock.unlock();
  s.work.notify_all();
  if (piece->error) std::rethrow_exception(piece->error);
  return std::move(piece->loaded);
}

std::int64_t Loader::skipped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->skipped;
}

}  // namespace parabench::datasets
