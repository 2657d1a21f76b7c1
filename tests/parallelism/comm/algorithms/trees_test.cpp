#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "parallelism/comm/algorithms/double_tree.h"

namespace parabench::comm {
namespace {

TEST(TreePlace, ParentsAndChildrenAgree) {
  for (int members = 1; members <= 70; ++members) {
    for (int tree = 0; tree < 2; ++tree) {
      int roots = 0, edges = 0;
      for (int i = 0; i < members; ++i) {
        const TreePlace place = tree_place(tree, members, i);
        roots += place.parent < 0;
        edges += static_cast<int>(place.children.size());
        EXPECT_LE(place.children.size(), 2u);
        for (const int child : place.children) {
          EXPECT_EQ(tree_place(tree, members, child).parent, i);
          EXPECT_EQ(tree_place(tree, members, child).level, place.level + 1);
        }
      }
      EXPECT_EQ(roots, 1) << members;
      EXPECT_EQ(edges, members - 1) << members;
    }
  }
}

TEST(TreePlace, IsAsDeepAsTheLogarithmOfTheMembers) {
  for (int members = 2; members <= 70; ++members) {
    for (int tree = 0; tree < 2; ++tree) {
      int deepest = 0;
      for (int i = 0; i < members; ++i) deepest = std::max(deepest, tree_place(tree, members, i).level);
      EXPECT_EQ(deepest, std::bit_width(static_cast<unsigned>(members - 1))) << members;
    }
  }
}

TEST(TreePlace, HasChildrenInOneTreeOnlyButForTheFirstMemberOfAnOddNumber) {
  for (int members = 2; members <= 70; ++members) {
    for (int i = 0; i < members; ++i) {
      const bool both = !tree_place(0, members, i).children.empty() && !tree_place(1, members, i).children.empty();
      EXPECT_TRUE(!both || (members % 2 == 1 && i == 0)) << "member " << i << " of " << members;
    }
  }
}

TEST(DoubleTree, HasABusiestMemberThatSendsTwiceTheBufferFromFourMembersOn) {
  constexpr std::int64_t bytes = 1 << 20;
  for (int members = 2; members <= 17; ++members) {
    std::int64_t most = 0;
    for (int i = 0; i < members; ++i) most = std::max(most, traffic_of(double_tree(bytes, members, i)).sent);
    EXPECT_EQ(most, members == 2 ? bytes : members == 3 ? bytes * 3 / 2 : bytes * 2) << members;
  }
}

}  // namespace
}  // namespace parabench::comm
