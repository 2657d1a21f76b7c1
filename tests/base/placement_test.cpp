#include "base/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parabench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Placement, HostsAreNumberedInTheOrderOfTheirLowestRanksAndOneHostIsNone) {
  const std::vector<std::string> by_turns = {"n2", "n1", "n2", "n1"}, same = {"n1", "n1"};
  EXPECT_THAT(placement_by_names(by_turns).host_of_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(placement_by_names(same).host_of_rank, IsEmpty());
  EXPECT_EQ(host_count(placement_by_names(by_turns)), 2);
  EXPECT_EQ(host_count({}), 1);
}

TEST(Placement, BlocksFillTheFirstHostsMore) {
  EXPECT_THAT(in_blocks(5, 2).host_of_rank, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(in_blocks(3, 3).host_of_rank, ElementsAre(0, 1, 2));
  EXPECT_EQ(in_blocks(4, 1), Placement{});
}

TEST(Placement, RanksBesideOneAreThoseOfItsHost) {
  const Placement uneven{{0, 1, 1, 2, 1}};
  EXPECT_EQ(ranks_beside(uneven, Rank(0), 5), 1);
  EXPECT_EQ(ranks_beside(uneven, Rank(4), 5), 3);
  EXPECT_EQ(ranks_beside({}, Rank(4), 5), 5);
  EXPECT_EQ(first_on_fullest_host(uneven), Rank(1));
  EXPECT_EQ(first_on_fullest_host(in_blocks(4, 2)), Rank(0)) << "of hosts that are alike the first";
  EXPECT_EQ(first_on_fullest_host({}), Rank(0));
  EXPECT_EQ(ranks_on_fullest_host(in_blocks(5, 2), 5), 3);
  EXPECT_EQ(ranks_on_fullest_host({}, 4), 4) << "all are on one host";
  EXPECT_TRUE(on_one_host(uneven, Rank(1), Rank(4)));
  EXPECT_FALSE(on_one_host(uneven, Rank(0), Rank(1)));
}

TEST(Placement, AGroupsShapeIsItsRanksItsHostsAndTheMostOnOne) {
  const Placement four = in_blocks(4, 2);
  EXPECT_EQ(group_shape(four, std::vector{Rank(0), Rank(1)}), (GroupShape{.ranks = 2, .hosts = 1, .most = 2}));
  EXPECT_EQ(group_shape(four, std::vector{Rank(0), Rank(2)}), (GroupShape{.ranks = 2, .hosts = 2, .most = 1}));
  EXPECT_EQ(group_shape(four, std::vector{Rank(0), Rank(1), Rank(3)}), (GroupShape{.ranks = 3, .hosts = 2, .most = 2}));
  EXPECT_EQ(group_shape({}, std::vector{Rank(0), Rank(3)}), (GroupShape{.ranks = 2, .hosts = 1, .most = 2}));
}

TEST(Placement, AShapeReadsAsASentencesPart) {
  EXPECT_EQ(to_text(GroupShape{.ranks = 1}), "1 rank");
  EXPECT_EQ(to_text(GroupShape{.ranks = 4}), "4 ranks");
  EXPECT_EQ(to_text(GroupShape{.ranks = 4, .hosts = 2, .most = 2}), "4 ranks on 2 hosts");
  EXPECT_EQ(to_text(GroupShape{.ranks = 4, .hosts = 2, .most = 3}), "4 ranks on 2 hosts, 3 on the fullest");
}

}  // namespace
}  // namespace parabench
