#include "suite/rank/compute_beside.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

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

TEST(ComputeBeside, EndsWithTheExchangeAndRethrowsWhatItThrows) {
  const int threads = at::get_num_threads();
  EXPECT_THROW(compute_beside([](const auto&) { throw std::runtime_error("lost"); }), std::runtime_error);
  EXPECT_EQ(at::get_num_threads(), threads);
}

}  // namespace
}  // namespace parabench::rank
