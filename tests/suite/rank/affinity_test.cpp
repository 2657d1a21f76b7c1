#include "suite/rank/affinity.h"

#include <gtest/gtest.h>

#include <thread>

namespace parabench::rank {
namespace {

TEST(Affinity, PrintsCoresAsLinuxDoes) {
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(to_text({3}), "3");
  EXPECT_EQ(to_text({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(Affinity, RanksThatFitTakeTheirShareInOrder) {
  // In a thread of its own: the share stays with the thread that took it.
  std::thread([] {
    const std::vector<int> all = allowed_cores();
    const int ranks = static_cast<int>(all.size());
    EXPECT_EQ(take_cores(ranks - 1, ranks, 1), std::vector<int>{all.back()});
    EXPECT_EQ(allowed_cores(), std::vector<int>{all.back()});
  }).join();
}

TEST(Affinity, RanksThatDoNotFitShareAllCores) {
  const std::vector<int> all = allowed_cores();
  EXPECT_EQ(take_cores(0, static_cast<int>(all.size()) + 1, 1), all);
  EXPECT_EQ(allowed_cores(), all);
}

TEST(Affinity, RanksOnGpusShareAllCoresOfTheNode) {
  EXPECT_EQ(cores_beside_gpu(16, 1), 16);
  EXPECT_EQ(cores_beside_gpu(16, 3), 5);
  EXPECT_EQ(cores_beside_gpu(2, 4), 1);
}

}  // namespace
}  // namespace parabench::rank
