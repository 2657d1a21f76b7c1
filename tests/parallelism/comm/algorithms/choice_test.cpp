#include "parallelism/comm/algorithms/choice.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace parabench::comm {
namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                    CollectiveKind::all_gather};
constexpr std::int64_t large = std::int64_t{1} << 30;

std::optional<Algorithm> automatic(CollectiveKind kind, std::int64_t bytes, const std::vector<int>& hosts) {
  return algorithm_for(ReduceKind::automatic, kind, bytes, hosts);
}

TEST(AlgorithmFor, IsTheOneAskedFor) {
  const std::vector<int> hosts{0, 0, 1};
  for (const CollectiveKind kind : kinds) {
    for (const std::int64_t bytes : {std::int64_t{4}, large}) {
      EXPECT_EQ(algorithm_for(ReduceKind::ring, kind, bytes, hosts), Algorithm::ring);
      EXPECT_EQ(algorithm_for(ReduceKind::halving_doubling, kind, bytes, hosts), Algorithm::halving_doubling);
      EXPECT_EQ(algorithm_for(ReduceKind::double_tree, kind, bytes, hosts), Algorithm::double_tree);
      EXPECT_EQ(algorithm_for(ReduceKind::hierarchical, kind, bytes, hosts), Algorithm::hierarchical);
      EXPECT_EQ(algorithm_for(ReduceKind::library, kind, bytes, hosts), std::nullopt);
      EXPECT_THROW(algorithm_for(ReduceKind::window, kind, bytes, hosts), std::logic_error);
    }
  }
}

TEST(AlgorithmFor, TakesForLargeBuffersWhatSendsTheLeastOverTheNetwork) {
  for (const CollectiveKind kind : kinds) {
    EXPECT_EQ(automatic(kind, large, {0, 1}), Algorithm::halving_doubling);
    EXPECT_EQ(automatic(kind, large, {0, 1, 2, 3}), Algorithm::halving_doubling);
    EXPECT_EQ(automatic(kind, large, {0, 1, 2}), Algorithm::ring);
    EXPECT_EQ(automatic(kind, large, {0, 0, 0}), Algorithm::ring);
    EXPECT_EQ(automatic(kind, large, {0, 0, 1, 1}), Algorithm::hierarchical);
    EXPECT_EQ(automatic(kind, large, {0, 0, 1}), Algorithm::hierarchical);
  }
}

TEST(AlgorithmFor, TakesForSmallBuffersTheFewestRounds) {
  for (int members = 2; members <= 40; ++members) {
    for (int width = 1; width <= 4; ++width) {
      std::vector<int> hosts;
      for (int i = 0; i < members; ++i) hosts.push_back(i / width);
      for (const CollectiveKind kind : kinds) {
        const int rounds = rounds_of(*automatic(kind, 4, hosts), kind, hosts);
        for (const Algorithm other : {Algorithm::ring, Algorithm::halving_doubling, Algorithm::hierarchical})
          EXPECT_LE(rounds, rounds_of(other, kind, hosts)) << members << " members, " << width << " on each host";
      }
    }
  }
}

TEST(ReductionText, SaysWhatBecomesOfIt) {
  EXPECT_EQ(reduction_text(ReduceKind::automatic, std::vector<int>{0, 1}), "halving-doubling");
  EXPECT_EQ(reduction_text(ReduceKind::automatic, std::vector<int>{0, 1, 2}), "ring");
  // 8 rounds around the ring in place of 6 by halving and doubling.
  EXPECT_EQ(reduction_text(ReduceKind::automatic, std::vector<int>{0, 1, 2, 3, 4}),
            "ring, halving-doubling up to 65536 bytes");
  EXPECT_EQ(reduction_text(ReduceKind::double_tree, std::vector<int>{0, 1}), "double-tree");
  EXPECT_EQ(reduction_text(ReduceKind::library, std::vector<int>{0, 1}), "library");
}

}  // namespace
}  // namespace parabench::comm
