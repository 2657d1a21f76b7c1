#include "datasets/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "datasets/order.h"

namespace parabench {
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
  const std::size_t sample_values;

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
      loaded.labels = take<std::int64_t>(piece.samples.size(), loaded.label_memory);
      if (options.pixels) loaded.pixels = take<float>(piece.samples.size() * sample_values, loaded.pixel_memory);
    });
  }

  /// The place of sample i in its piece; `scratch` where the pixels are read only to see whether they can be.
  std::span<float> pixels_of(Piece& piece, std::size_t i, std::vector<float>& scratch) const {
    if (options.pixels) return piece.loaded.pixels.subspan(i * sample_values, sample_values);
    scratch.resize(options.skip_corrupt ? sample_values : 0);
    return scratch;
  }

  void read(std::int64_t index, std::int64_t epoch, std::span<float> pixels, std::int64_t& label) const {
    label = source->label(index);
    if (!pixels.empty()) source->read(index, epoch, pixels);
  }

  /// True when the sample had to be replaced.
  bool read_or_replace(SampleOrder::Sample sample, std::span<float> pixels, std::int64_t& label) const {
    try {
      read(sample.index, sample.epoch, pixels, label);
      return false;
    } catch (const CorruptSample&) {
      if (!options.skip_corrupt) throw;
      for (std::int64_t next = 1; next < std::min(source->size(), most_replacements); ++next) {
        try {
          read((sample.index + next) % source->size(), sample.epoch, pixels, label);
          return true;
        } catch (const CorruptSample&) {
          // The one after it may be readable.
        }
      }
      throw;
    }
  }

  void serve() {
    std::vector<float> scratch;
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
        replaced = read_or_replace(piece.samples[i], pixels_of(piece, i, scratch), piece.loaded.labels[i]);
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

}  // namespace parabench
