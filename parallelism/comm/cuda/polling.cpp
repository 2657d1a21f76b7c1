#include "parallelism/comm/cuda/polling.h"

#include <algorithm>
#include <thread>

#include "parallelism/comm/looks.h"

namespace parabench::comm {
namespace {

/// A transfer between GPUs takes some 10 us, being woken takes longer: so long a wait only yields the core.
constexpr double watch_s = 50e-6;
constexpr double longest_pause_s = 10e-3, longest_awaited_pause_s = 50e-6;
constexpr double unawaited_pause_s = 2e-3;

}  // namespace

void GpuPolling::count_in_flight(int change) {
  in_flight_ += change;
  last_change_ = Clock::now();
}

void GpuPolling::count_awaited(int change) {
  awaited_ += change;
  last_change_ = Clock::now();
}

double GpuPolling::pause_s(double limit_s, bool waits_for_end) const {
  if (in_flight_ + awaited_ == 0) return limit_s;
  if (awaited_ == 0 && !waits_for_end) return std::min(limit_s, unawaited_pause_s);
  const double waited_s = std::chrono::duration<double>(Clock::now() - last_change_).count();
  if (waited_s < watch_s) {
    std::this_thread::yield();
    return 0;
  }
  const double longest = awaited_ > 0 ? longest_awaited_pause_s : longest_pause_s;
  return std::min(limit_s, pause_after(waited_s, longest));
}

}  // namespace parabench::comm
