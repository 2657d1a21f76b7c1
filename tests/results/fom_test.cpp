#include "results/fom.h"

#include <gtest/gtest.h>

#include "tests/results/samples.h"

namespace parabench::results {
namespace {

const char* const gpipe = "resnet18/cifar10-synthetic/gpipe/np:2/batch:32";

TEST(Fom, PassesWhereEveryRowCountsOrWasSkipped) {
  const Record good = ok_record(gpipe, 100), skipped = skipped_record(gpipe, "no GPU");
  Record failed = good, unequal = good, adrift = good;
  failed.status = Status::failed;
  unequal.equivalence.status = EquivalenceStatus::fail;
  adrift.equivalence.loss_agrees = false;
  const auto outcome = [](std::vector<Record> records) { return outcome_of(records); };
  EXPECT_EQ(outcome({good}), Outcome::pass);
  EXPECT_EQ(outcome({good, skipped}), Outcome::pass);
  EXPECT_EQ(outcome({skipped, skipped}), Outcome::skip);
  for (const Record& bad : {failed, unequal, adrift}) EXPECT_EQ(outcome({good, bad, skipped}), Outcome::fail);
}

TEST(Fom, LinesOfARowThatDoesNotCountHoldNoNumber) {
  Record unequal = ok_record(gpipe, 100);
  EXPECT_NE(fom_lines(std::vector{unequal}).find("FOM step_time_median_s: 0.32\n"), std::string::npos);
  unequal.equivalence.status = EquivalenceStatus::fail;
  EXPECT_EQ(fom_lines(std::vector{unequal}), "FOM case: " + unequal.id + "\n");
}

}  // namespace
}  // namespace parabench::results
