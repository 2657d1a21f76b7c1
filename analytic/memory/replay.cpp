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

/// The longest that a tensor lives, in requests, among those in the middle of the sequence.
std::size_t longest_life(std::span<const Request> requests) {
  std::size_t longest = 0;
  for (std::size_t i = requests.size() / 3; i < 2 * (requests.size() / 3); ++i) {
    if (const int asked = requests[i].gives_back; asked != Request::none) longest = std::max(longest, i - asked);
  }
  return longest;
}

class Replaying {
 public:
  Replaying(std::span<const Request> requests, std::int64_t limit)
      : requests_(requests),
        period_(period_of(requests)),
        life_(longest_life(requests)),
        allocator_(limit),
        blocks_(requests.size()) {}

  std::optional<Replay> run() {
    std::size_t replayed = 0, repeating = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i, ++replayed) {
      repeating = repeats(i) ? repeating + 1 : 0;
      if (repeating == 0) earlier_.reset();
      if (!serve(i)) return std::nullopt;
      if (repeating == 0 || repeating % period_ != 0) continue;
      if (const std::size_t cycle = find_cycle(i + 1); cycle > 0) i = skip(i + 1, cycle) - 1;
    }
    return Replay{allocator_.usage().reserved_peak, replayed};
  }

 private:
  bool serve(std::size_t i) {
    const Request& request = requests_[i];
    if (request.gives_back != Request::none) {
      allocator_.free(blocks_[request.gives_back].number);
      return true;
    }
    const auto block = allocator_.allocate(request.bytes, request.stream);
    if (block) blocks_[i] = *block;
    return block.has_value();
  }

  /// Whether a request is that of a period before; what it gives back must not be too old to be compared.
  bool repeats(std::size_t i) const {
    if (period_ == 0 || i < period_ || !alike(requests_, i, i - period_)) return false;
    const int asked = requests_[i].gives_back;
    return asked == Request::none || i - asked <= life_;
  }

  /// After how many requests the allocator has come back, before request `end`, to where it was, with the same tensors
  /// at the same addresses; 0: not yet. It may take several periods: an earlier place is kept for one, two, four, ...
  /// of them (Brent 1980).
  std::size_t find_cycle(std::size_t end) {
    if (end < life_) return 0;
    const auto alive = [&](std::size_t at) { return std::span(blocks_).subspan(at - life_, life_); };
    if (earlier_ && earlier_->holds_same(allocator_) &&
        std::ranges::equal(alive(end), alive(earlier_end_), {}, &DeviceBlock::address, &DeviceBlock::address))
      return end - earlier_end_;
    if (!earlier_ || end - earlier_end_ == patience_ * period_) {
      patience_ = earlier_ ? 2 * patience_ : 1;
      earlier_ = allocator_;
      earlier_end_ = end;
    }
    return 0;
  }

  /// Past the whole cycles that repeat from `begin` on.
  std::size_t skip(std::size_t begin, std::size_t cycle) {
    std::size_t end = begin;
    while (end < requests_.size() && repeats(end)) ++end;
    end -= (end - begin) % cycle;
    for (std::size_t i = begin; i < end; ++i) blocks_[i] = blocks_[i - cycle];
    return end;
  }

  std::span<const Request> requests_;
  std::size_t period_, life_;
  CachingAllocator allocator_;
  std::vector<DeviceBlock> blocks_;          ///< of what was asked for
  std::optional<CachingAllocator> earlier_;  ///< as it was before request earlier_end_
  std::size_t earlier_end_ = 0;
  std::size_t patience_ = 1;  ///< periods for which it is kept
};

}  // namespace

std::optional<Replay> replay(std::span<const Request> requests, std::int64_t limit) {
  return Replaying(requests, limit).run();
}

}  // namespace parabench::analytic
