#include "base/time_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace parabench {
namespace {

TEST(TimeParts, WithATotalAddUpToItExactly) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> magnitude(-20, 2);
  int off = 0;
  for (int i = 0; i < 100'000; ++i) {
    TimeParts parts;
    double total = 0;
    // Only some of the parts, their total added up in the opposite order.
    for (auto field = time_part_fields.rbegin(); field != time_part_fields.rend(); ++field) {
      if (random() % 3 != 0) parts.*field->second = std::exp2(magnitude(random));
      total += parts.*field->second;
    }
    off += parts.total() != total ? 1 : 0;
    const TimeParts fitted = with_total(parts, total);
    ASSERT_EQ(fitted.total(), total);
    for (const auto& [name, part] : time_part_fields) {
      ASSERT_NEAR(fitted.*part, parts.*part, 1e-15 * total) << name;
      ASSERT_EQ(fitted.*part == 0, parts.*part == 0) << name << " where there was none, or none where there was some";
    }
  }
  EXPECT_GT(off, 1000) << "the order of a sum matters, else this tests nothing";
}

TEST(TimeParts, BeyondATotalAreCutAndTheFirstTakesWhatIsMissing) {
  EXPECT_EQ(with_total({.launch = 2, .memory = 3}, 4), (TimeParts{.launch = 1, .memory = 3}));
  EXPECT_EQ(with_total({.launch = 2, .memory = 3}, 2), (TimeParts{.memory = 2}));
  EXPECT_EQ(with_total({.launch = 2, .memory = 3}, 9), (TimeParts{.launch = 6, .memory = 3}));
  EXPECT_EQ(with_total({}, 9), (TimeParts{.compute = 9}));
}

}  // namespace
}  // namespace parabench
