#include "base/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parabench {
namespace {

using testing::ElementsAre;

TEST(SplitAtCommas, LeavesBracketsWhole) {
  EXPECT_THAT(split_at_commas("a,b[c,d],e"), ElementsAre("a", "b[c,d]", "e"));
  EXPECT_THAT(split_at_commas("a[b[c,d],e],f"), ElementsAre("a[b[c,d],e]", "f"));
}

TEST(SplitAtCommas, KeepsEmptyParts) {
  EXPECT_THAT(split_at_commas(""), ElementsAre(""));
  EXPECT_THAT(split_at_commas(",a,"), ElementsAre("", "a", ""));
}

}  // namespace
}  // namespace parabench
