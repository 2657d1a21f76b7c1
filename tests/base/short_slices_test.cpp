// What the system is asked for threads that mostly wait.
#include "base/short_slices.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace parabench {
namespace {

/// What Linux tells of the calling thread's slice: 0 before 6.12.
std::uint64_t slice_ns() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } told{};
  return syscall(SYS_sched_getattr, 0, &told, sizeof told, 0) == 0 ? told.runtime : 0;
}

int nice_of_this_thread() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

TEST(ShortSlices, AreThoseOfTheCallingThreadAlone) {
  const std::uint64_t before = slice_ns();
  std::thread([&] {
    ask_for_short_slices();
    EXPECT_EQ(slice_ns(), before > 0 ? 100'000u : 0u);
  }).join();
  EXPECT_EQ(slice_ns(), before);
}

TEST(ShortSlices, LeaveNiceAndPolicyAsTheyWere) {
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 7), 0);
    ask_for_short_slices();
    EXPECT_EQ(nice_of_this_thread(), 7);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  }).join();
}

TEST(ShortSlices, AThreadOfAnotherPolicyKeepsIt) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    ask_for_short_slices();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace parabench
