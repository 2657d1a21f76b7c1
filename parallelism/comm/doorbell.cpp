#include "parallelism/comm/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>
#include <thread>

namespace parabench::comm {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4,
              "the kernel waits on the plain 32-bit word");

/// Tells the core that the thread only looks, without giving it to another one.
void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Sequentially consistent on both sides: either the ringer sees the sleeper, or the sleeper sees the event.
void ring(Doorbell& bell) noexcept {
  bell.events.fetch_add(1);
  if (bell.sleepers.load() > 0) syscall(SYS_futex, &bell.events, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool watch(const Doorbell& bell, std::uint32_t seen, double limit_s, BetweenLooks between) noexcept {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  do {
    if (bell.events.load() != seen) return true;
    between == BetweenLooks::yield ? std::this_thread::yield() : pause_core();
  } while (Clock::now() < end);
  return false;
}

void sleep_on(Doorbell& bell, std::uint32_t seen, double limit_s) noexcept {
  bell.sleepers.fetch_add(1);
  if (bell.events.load() == seen) {
    const auto whole = static_cast<std::time_t>(limit_s);
    const timespec limit{whole, static_cast<long>((limit_s - static_cast<double>(whole)) * 1e9)};
    syscall(SYS_futex, &bell.events, FUTEX_WAIT, seen, &limit, nullptr, 0);
  }
  bell.sleepers.fetch_sub(1);
}

}  // namespace parabench::comm
