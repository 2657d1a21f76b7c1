#include "parallelism/exec/lanes.h"

#include <algorithm>

namespace parabench::exec {

bool LaneProgress::all_given_out(std::span<const plan::OpRef> refs) const {
  return std::all_of(refs.begin(), refs.end(), [&](const plan::OpRef& ref) { return given_out(ref); });
}

void LaneProgress::give_out(int lane, int index) {
  order_[lane][index].store(1 + given_out_.fetch_add(1), std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_release);
  changes_.notify_all();
}

std::optional<double> LaneProgress::place(const plan::OpRef& ref) const {
  const std::uint32_t order = order_[ref.lane][ref.index].load(std::memory_order_acquire);
  if (order == 0) return std::nullopt;
  return order;
}

void LaneProgress::fail(std::exception_ptr error) {
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  failed_.store(true, std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_release);
  changes_.notify_all();
}

void LaneProgress::rethrow() {
  std::lock_guard lock(mutex_);
  std::rethrow_exception(error_);
}

}  // namespace parabench::exec
