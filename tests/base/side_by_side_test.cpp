#include "base/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
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
