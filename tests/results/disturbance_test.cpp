#include "results/disturbance.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/results/samples.h"

namespace parabench::results {
namespace {

Record under(std::vector<Canary> canaries) {
  Record record = ok_record("resnet18/cifar10-synthetic/gpipe/np:2/batch:64", 400);
  record.measured->canaries = std::move(canaries);
  record.paired_canary.reset();
  return record;
}

TEST(Disturbance, OfARecordIsThatOfTheLaunchThatToldTheMost) {
  Record record = under({{.steal_share = 0.01, .matrix_product_spread = 1.125}, {.matrix_product_spread = 1.5}});
  EXPECT_EQ(disturbance_of(record).steal_share, 0.01);
  EXPECT_EQ(disturbance_of(record).core_spread, 1.5);
  EXPECT_TRUE(disturbance_of(record).is_large());
  record.paired_canary = Canary{.steal_share = 0.03};
  EXPECT_EQ(disturbance_of(record).steal_share, 0.03);
  EXPECT_FALSE(disturbance_of(under({})).is_known());
  EXPECT_FALSE(disturbance_of(under({{.steal_share = 0.04, .matrix_product_spread = 1.25}})).is_large());
}

TEST(Disturbance, IsToldOfTheCasesThatItWasLargeIn) {
  const Record quiet = under({{.steal_share = 0.01, .matrix_product_spread = 1.0625}});
  const Record slow = under({{.steal_share = 0.01, .matrix_product_spread = 2.25}});
  const Record stolen = under({{.steal_share = 0.125}});
  Record skipped = quiet;
  skipped.measured.reset();
  EXPECT_EQ(disturbance_text(std::vector{quiet, skipped}), "");
  EXPECT_EQ(
      disturbance_text(std::vector{quiet, slow, skipped}),
      "in 1 of 2 cases the cores ran up to 2.25 times as slow at one time as at another: times differ by what the "
      "machine did");
  EXPECT_EQ(disturbance_text(std::vector{slow, stolen}),
            "in 2 of 2 cases the cores ran up to 2.25 times as slow at one time as at another and lost up to 12.5 % of "
            "their time to the hypervisor: times differ by what the machine did");
}

}  // namespace
}  // namespace parabench::results
