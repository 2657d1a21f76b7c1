#include "analytic/memory/replay.h"

#include <algorithm>
#include <vector>

#include "analytic/memory/caching_allocator.h"

namespace parabench::analytic {
namespace {

/// Whether two requests of a sequence are alike: ask for as much, or give back what was asked for as long before.
bool alike(std::span<const Request> requests, std::size_t i, std::size_t j) {
  const Request &a = requests[i], &b = requests[j];
  const bool asks = a.gives_back == Request::none;
  if (asks != (b.gives_back == Request::none)) return false;
  return asks ? a.bytes == b.bytes && a.stream == b.stream : i - a.gives_back == j - b.gives_back;
}

/// After how many requests those in the middle of the sequence, behind a pipeline's filling and before its draining,
/// repeat themselves; 0: they do not. By the longest border of every prefix (Knuth, Morris, Pratt 1977).
std::size_t period_of(std::span<const Request> requests) {
  const std::size_t begin = requests.size() / 3, size = requests.size() / 3;
  std::vector<std::size_t> border(size + 1, 0);
  for (std::size_t i = 1, length = 0; i < size; ++i) {
    while (length > 0 && !alike(requests, begin + i, begin + length)) length = border[length];
    if (alike(requests, begin + i, begin + length)) ++length;
    border[i + 1] = length;
  }
  const std::size_t period = size - border[size];
  return 2 * period <= size ? period : 0;
}

class Replaying {
 public:
  Replaying(std::span<const Request> requests, std::int64_t limit)
      : requests_(requests), period_(period_of(requests)), allocator_(limit), addresses_(requests.size()) {}

  std::optional<Replay> run() {
    std::size_t replayed = 0, repeating = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i, ++replayed) {
      repeating = repeats(i) ? repeating + 1 : 0;
      if (!serve(i)) return std::nullopt;
      if (repeating >= 2 * period_ && period_ > 0 && repeating % period_ == 0 && is_back(i + 1)) i = skip(i + 1) - 1;
    }
    return Replay{allocator_.usage().reserved_peak, replayed};
  }

 private:
  bool serve(std::size_t i) {
    const Request& request = requests_[i];
    if (request.gives_back != Request::none) {
      allocator_.free(addresses_[request.gives_back]);
      return true;
    }
    const auto block = allocator_.allocate(request.bytes, request.stream);
    if (block) addresses_[i] = block->address;
    return block.has_value();
  }

  /// Whether a request is that of a period before; what it gives back must not be older than a period.
  bool repeats(std::size_t i) const {
    if (period_ == 0 || i < period_ || !alike(requests_, i, i - period_)) return false;
    const int asked = requests_[i].gives_back;
    return asked == Request::none || i - asked <= period_;
  }

  /// Whether the allocator is as it was a period before, and handed out the same addresses since. Until the latter holds
  /// nothing is remembered of it.
  bool is_back(std::size_t end) {
    const auto period = std::span(addresses_).subspan(end - period_, period_);
    const auto before = std::span(addresses_).subspan(end - 2 * period_, period_);
    if (!std::ranges::equal(period, before)) {
      earlier_.reset();
      return false;
    }
    if (earlier_ && earlier_end_ + period_ == end && earlier_->holds_same(allocator_)) return true;
    earlier_ = allocator_;
    earlier_end_ = end;
    return false;
  }

  /// Past the whole periods that repeat from `begin` on.
  std::size_t skip(std::size_t begin) {
    std::size_t end = begin;
    while (end < requests_.size() && repeats(end)) ++end;
    end -= (end - begin) % period_;
    for (std::size_t i = begin; i < end; ++i) addresses_[i] = addresses_[i - period_];
    return end;
  }

  std::span<const Request> requests_;
  std::size_t period_;
  CachingAllocator allocator_;
  std::vector<std::int64_t> addresses_;      ///< of what was asked for
  std::optional<CachingAllocator> earlier_;  ///< as it was before the request earlier_end_
  std::size_t earlier_end_ = 0;
};

}  // namespace

std::optional<Replay> replay(std::span<const Request> requests, std::int64_t limit) {
  return Replaying(requests, limit).run();
}

}  // namespace parabench::analytic
