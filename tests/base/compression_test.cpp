#include "base/compression.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/case_id.h"
#include "base/error.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Compression of(const std::string& text) { return compression(parse_case("m/d/s/np:2/batch:2/compress:" + text)); }

TEST(Compression, IsReadWithItsDefaults) {
  EXPECT_EQ(of("none"), Compression{});
  EXPECT_EQ(of("bf16"), (Compression{.kind = CompressionKind::bf16}));
  EXPECT_EQ(of("powersgd"), (Compression{.kind = CompressionKind::powersgd, .rank = 4}));
  EXPECT_EQ(of("powersgd[rank=1]").rank, 1);
  EXPECT_EQ(of("topk"), (Compression{.kind = CompressionKind::topk, .ratio = 0.01}));
  EXPECT_EQ(of("topk[ratio=1]").ratio, 1);
}

TEST(Compression, PrintsWithoutDefaults) {
  const auto printed = [](const char* key) {
    return to_id(parse_case(std::string("m/d/s/np:2/batch:2/compress:") + key));
  };
  EXPECT_EQ(printed("none"), "m/d/s/np:2/batch:2");
  EXPECT_EQ(printed("powersgd[rank=4]"), "m/d/s/np:2/batch:2/compress:powersgd");
  EXPECT_EQ(printed("topk[ratio=1e-1]"), "m/d/s/np:2/batch:2/compress:topk[ratio=0.1]");
}

TEST(Compression, SaysWhatItTakes) {
  const auto complaint = [](const char* text) -> std::string {
    try {
      of(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(complaint("zip"), AllOf(HasSubstr("compress"), HasSubstr("'zip'"), HasSubstr("powersgd")));
  EXPECT_THAT(complaint("powersgd[rank=0]"), AllOf(HasSubstr("rank of compress:powersgd"), HasSubstr("'0'"),
                                                   HasSubstr("from 1"), HasSubstr("try rank=4")));
  EXPECT_THAT(complaint("topk[ratio=0]"), AllOf(HasSubstr("ratio of compress:topk"), HasSubstr("'0'"), HasSubstr("> 0"),
                                                HasSubstr("try ratio=0.01")));
  EXPECT_THAT(complaint("topk[ratio=1.5]"), HasSubstr("<= 1"));
  EXPECT_THAT(complaint("topk[rank=4]"), AllOf(HasSubstr("'rank'"), HasSubstr("ratio")));
  EXPECT_THAT(complaint("bf16[rank=4]"), HasSubstr("no parameters"));
}

TEST(Compression, TopKKeepsAShareAndAtLeastOne) {
  for (const double ratio : {0.001, 0.01, 0.1, 1 / 3.0, 0.5, 1.0}) {
    const Compression by{.kind = CompressionKind::topk, .ratio = ratio};
    std::int64_t before = 1;
    for (std::int64_t values = 1; values < 2000; ++values) {
      const std::int64_t kept = by.kept(values);
      EXPECT_GE(kept, std::max<std::int64_t>(1, static_cast<std::int64_t>(ratio * static_cast<double>(values))));
      EXPECT_LE(kept, values);
      EXPECT_LE(static_cast<double>(kept), ratio * static_cast<double>(values) + 1);
      EXPECT_TRUE(kept == before || kept == before + 1);
      before = kept;
    }
    EXPECT_EQ(by.kept(1000), static_cast<std::int64_t>(std::ceil(ratio * 1000 - 1e-6))) << ratio;
  }
}

TEST(Compression, FactorsMatricesThatAreSmallerSo) {
  const Compression by{.kind = CompressionKind::powersgd, .rank = 2};
  EXPECT_TRUE(by.factors(10, 10));
  EXPECT_FALSE(by.factors(8, 8)) << "16 * 4 is 64";
  EXPECT_FALSE(by.factors(1000, 1)) << "a vector";
  EXPECT_FALSE(Compression{.kind = CompressionKind::topk}.factors(100, 100));
}

}  // namespace
}  // namespace parabench
