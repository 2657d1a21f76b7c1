#include "parallelism/comm/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace parabench::comm {
namespace {

using Declared = std::vector<std::vector<Rank>>;

TEST(RankGroups, HoldTheWorldFirst) {
  const RankGroups none = 3;
  EXPECT_EQ(none.ranks(), 3);
  EXPECT_EQ(none.count(), 1);
  EXPECT_THAT(none.members(world_group), testing::ElementsAre(Rank(0), Rank(1), Rank(2)));

  const RankGroups some(4, {{Rank(1), Rank(3)}, {Rank(1), Rank(3)}, {Rank(0)}});
  EXPECT_EQ(some.ranks(), 4);
  EXPECT_EQ(some.count(), 4);
  EXPECT_THAT(some.members(CommGroupId(2)), testing::ElementsAre(Rank(1), Rank(3)));
  EXPECT_EQ(to_text(some, world_group), "every rank");
  EXPECT_EQ(to_text(some, CommGroupId(2)), "{1, 3}");
}

TEST(RankGroups, KnowThePlaceOfARank) {
  const RankGroups groups(6, {{Rank(1), Rank(3), Rank(4)}});
  const int places[] = {-1, 0, -1, 1, 2, -1};
  for (int r = 0; r < 6; ++r) {
    EXPECT_EQ(groups.position(world_group, Rank(r)), r);
    EXPECT_EQ(groups.position(CommGroupId(1), Rank(r)), places[r]);
  }
}

TEST(RankGroups, NameTheOneThatCannotBe) {
  const std::vector<Rank> good = {Rank(0)};
  for (const auto& bad :
       Declared{{}, {Rank(1), Rank(0)}, {Rank(1), Rank(1)}, {Rank(-1), Rank(0)}, {Rank(0), Rank(3)}}) {
    try {
      RankGroups(3, {good, bad});
      ADD_FAILURE() << "made of " << bad.size() << " ranks";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("group 2"), testing::HasSubstr("0 to 2")));
    }
  }
}

}  // namespace
}  // namespace parabench::comm
