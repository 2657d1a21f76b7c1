#include "suite/rank/compute_beside.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <thread>

namespace parabench::rank {
namespace {

TEST(ComputeBeside, TellsTheExchangeWhatIsComputedMeanwhile) {
  compute_beside([](const std::atomic<double>& done_s) {
    for (double last = 0; last < 5e-3; last = done_s) {
      while (done_s == last) std::this_thread::yield();
      EXPECT_GT(done_s, last);
    }
  });
}

TEST(ComputeBeside, LostIsTheMeanOverTheRanksThatExchangeForLongEnough) {
  EXPECT_DOUBLE_EQ(lost_share(std::array<ComputedBeside, 2>{{{1, 0.75}, {2, 1}}}).value(), (0.25 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(lost_share(std::array<ComputedBeside, 2>{{{1, 0.75}, {1e-8, 1e-4}}}).value(), 0.25)
      << "one takes no part";
  EXPECT_EQ(lost_share(std::array<ComputedBeside, 1>{{{1, 1.5}}}), 0) << "nobody gains";
  EXPECT_FALSE(lost_share(std::array<ComputedBeside, 1>{{{1e-3, 0}}})) << "too short";
}

TEST(ComputeBeside, EndsWithTheExchangeAndRethrowsWhatItThrows) {
  const int threads = at::get_num_threads();
  EXPECT_THROW(compute_beside([](const auto&) { throw std::runtime_error("lost"); }), std::runtime_error);
  EXPECT_EQ(at::get_num_threads(), threads);
}

}  // namespace
}  // namespace parabench::rank
