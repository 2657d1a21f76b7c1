#include "analytic/memory/replay.h"

#include <algorithm>
#include <vector>

#include "analytic/memory/caching_allocator.h"

namespace parabench::analytic {
namespace {

class Replaying {
 public:
  Replaying(std::span<const Request> requests, std::int64_t limit, std::size_t period)
      : requests_(requests), period_(period), allocator_(limit), addresses_(requests.size()) {}

  std::optional<Replay> run() {
    std::size_t replayed = 0, alike = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i, ++replayed) {
      alike = repeats(i) ? alike + 1 : 0;
      if (!serve(i)) return std::nullopt;
      if (alike >= 2 * period_ && period_ > 0 && alike % period_ == 0 && is_back(i + 1)) i = skip(i + 1) - 1;
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
    if (period_ == 0 || i < period_) return false;
    const Request &now = requests_[i], &before = requests_[i - period_];
    if (now.gives_back == Request::none)
      return before.gives_back == Request::none && now.bytes == before.bytes && now.stream == before.stream;
    const std::size_t age = i - now.gives_back;
    return before.gives_back != Request::none && age <= period_ && i - period_ - before.gives_back == age;
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

std::optional<Replay> replay(std::span<const Request> requests, std::int64_t limit, std::size_t period) {
  return Replaying(requests, limit, period).run();
}

}  // namespace parabench::analytic
