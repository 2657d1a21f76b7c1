#include "base/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace parabench {
namespace {

TEST(SideBySide, EveryPieceIsDoneOnce) {
  for (const std::size_t count : {0, 1, 3, 1000}) {
    std::vector<std::atomic<int>> done(count);
    side_by_side(count, [&](std::size_t piece) { ++done[piece]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(SideBySide, PiecesRunAtTheSameTimeOnFewThreads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  std::latch both(2);  // passed by nobody alone
  std::mutex mutex;
  std::set<std::thread::id> threads;
  side_by_side(100, [&](std::size_t piece) {
    if (piece < 2) both.arrive_and_wait();
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_GE(threads.size(), 2U);
  EXPECT_LE(threads.size(), 4U);
}

TEST(SideBySide, PiecesWithinAPieceStayOnItsThread) {
  std::atomic<int> done = 0, elsewhere = 0;
  side_by_side(8, [&](std::size_t) {
    const std::thread::id here = std::this_thread::get_id();
    side_by_side(8, [&](std::size_t) {
      ++done;
      elsewhere += std::this_thread::get_id() != here;
    });
  });
  EXPECT_EQ(done, 64);
  EXPECT_EQ(elsewhere, 0);
}

TEST(SideBySide, TheLowestPieceThatFailsIsTold) {
  std::atomic<int> done = 0;
  try {
    side_by_side(100, [&](std::size_t piece) {
      ++done;
      if (piece % 10 == 7) throw std::runtime_error(std::to_string(piece));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(done, 100) << "others are done all the same";
}

}  // namespace
}  // namespace parabench
