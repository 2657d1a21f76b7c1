#include "parallelism/comm/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace parabench::comm {
namespace {

TEST(ShareOf, CoversTheBufferInWholeLines) {
  for (int ranks : {1, 2, 3, 4, 7, 64}) {
    for (std::int64_t bytes : {0, 4, 63, 64, 65, 128, 1000, 4096, 100004}) {
      std::int64_t end = 0, least = bytes, most = 0;
      for (int r = 0; r < ranks; ++r) {
        const Share share = share_of(bytes, ranks, r);
        EXPECT_EQ(share.begin, end);
        EXPECT_TRUE(share.begin % 64 == 0 || share.begin == bytes);
        end = share.end;
        least = std::min(least, share.bytes());
        most = std::max(most, share.bytes());
      }
      EXPECT_EQ(end, bytes);
      EXPECT_LE(most - least, 64) << ranks << " ranks, " << bytes << " bytes";
    }
  }
}

TEST(ShareOf, OfAHugeBufferDoesNotOverflow) {
  constexpr std::int64_t huge = std::int64_t{1} << 55;
  EXPECT_EQ(share_of(huge, 64, 63), (Share{huge / 64 * 63, huge}));
}

TEST(Shares, EvenOnesAreShareOfEachMember) {
  for (const std::int64_t bytes : {0, 4, 64, 1000, 4096}) {
    const Shares shares = Shares::even(bytes, 3);
    EXPECT_EQ(shares.members(), 3);
    EXPECT_EQ(shares.bytes(), bytes);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(shares.of(i), share_of(bytes, 3, i));
  }
}

TEST(Shares, LieOneAfterTheOther) {
  const std::int64_t bytes[] = {16, 0, 48};
  const Shares shares(bytes);
  EXPECT_EQ(shares.of(0), (Share{0, 16}));
  EXPECT_EQ(shares.of(1), (Share{16, 16}));
  EXPECT_EQ(shares.of(2), (Share{16, 64}));
  EXPECT_EQ(shares.bytes(), 64);
  EXPECT_EQ(share_sizes(shares.ends()), "16, 0 and 48");
}

TEST(Shares, KnowWhetherAllAreOfOneSize) {
  const std::int64_t unequal[] = {0, 64}, zeros[] = {0, 0};
  EXPECT_TRUE(Shares::even(192 * 5, 3).equal());
  EXPECT_FALSE(Shares::even(192 * 5 + 4, 3).equal());
  EXPECT_FALSE(Shares(unequal).equal());
  EXPECT_TRUE(Shares(zeros).equal());
}

TEST(Shares, RefuseNegativeSizes) {
  const std::int64_t bytes[] = {16, -4, 48};
  EXPECT_THAT([&] { Shares shares(bytes); }, testing::ThrowsMessage<std::invalid_argument>(testing::AllOf(
                                                 testing::HasSubstr("share 1"), testing::HasSubstr("-4 bytes"))));
}

}  // namespace
}  // namespace parabench::comm
