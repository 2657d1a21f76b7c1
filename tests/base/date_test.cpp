#include "base/date.h"

#include <gtest/gtest.h>

namespace parabench {
namespace {

using namespace std::chrono_literals;

TEST(Date, IsReadAsItIsWritten) {
  EXPECT_EQ(parse_utc("2026-03-01T12:34:56Z"), std::chrono::sys_days{2026y / 3 / 1} + 12h + 34min + 56s);
  EXPECT_EQ(parse_utc("1970-01-01T00:00:00Z"), std::chrono::sys_seconds());
  const auto now = std::chrono::system_clock::now();
  const auto written = parse_utc(utc_now());
  ASSERT_TRUE(written);
  EXPECT_LT(std::chrono::abs(now - *written), 1min);
}

TEST(Date, IsNothingElse) {
  for (const char* text :
       {"", "once", "2026-03-01", "2026-03-01T12:34:56", "2026-13-01T00:00:00Z", "2026-03-01T12:34:56Z, or so"})
    EXPECT_FALSE(parse_utc(text)) << text;
}

}  // namespace
}  // namespace parabench
