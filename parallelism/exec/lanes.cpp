#include "parallelism/exec/lanes.h"

#include <algorithm>

namespace parabench::exec {

bool LaneProgress::all_given_out(std::span<const plan::OpRef> refs) const {
  return std::all_of(refs.begin(), refs.end(), [&](const plan::OpRef& ref) { return given_out(ref); });
}

void LaneProgress::give_out(int lane, int index) {
  given_out_[lane][index].store(true, std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_release);
  changes_.notify_all();
}

void LaneProgress::wait_for(std::span<const plan::OpRef> refs) {
  for (;;) {
    const std::uint32_t seen = changes_.load(std::memory_order_acquire);
    if (failed()) rethrow();
    if (all_given_out(refs)) return;
    changes_.wait(seen, std::memory_order_acquire);
  }
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
