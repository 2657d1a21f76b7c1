#include "results/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "results/summary.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

const char* const gpipe = "resnet18/cifar10-synthetic/gpipe/np:2/batch:32";
constexpr double calibrated_s = 2e-4;

/// A case whose canary took exp(drift) of the calibration's, and whose step exp(missing) of what was predicted.
Record drifted(double drift, double missing) {
  Record record = ok_record(gpipe, 400);
  record.predicted->canary_matrix_product_s = calibrated_s;
  record.measured->canaries = {{.matrix_product_s = calibrated_s * std::exp(drift), .triad_s = 1e-3}};
  record.predicted->step_time_s = record.measured->step_time_s.median * std::exp(-missing);
  record.error = compare(*record.predicted, *record.measured);
  return record;
}

/// Cases whose steps follow their canaries by a power.
std::vector<Record> following(double exponent, const std::vector<double>& drifts = {-0.1, 0.05, 0.2, 0.12}) {
  std::vector<Record> records;
  for (const double one : drifts) records.push_back(drifted(one, exponent * one));
  fill_adjusted_errors(records);
  return records;
}

TEST(Drift, IsTheMedianLaunchsCanaryOverTheCalibrations) {
  Record record = drifted(0.25, 0);
  EXPECT_NEAR(*drift(record), 0.25, 1e-12);
  record.measured->canaries.push_back({.matrix_product_s = 9 * calibrated_s, .triad_s = 1e-3});
  record.measured->canaries.push_back({.matrix_product_s = calibrated_s, .triad_s = 1e-3});
  EXPECT_NEAR(*drift(record), 0.25, 1e-12) << "of three launches the middle one";
  record.measured->canaries.clear();
  EXPECT_FALSE(drift(record));
  record = drifted(0.25, 0);
  record.predicted->canary_matrix_product_s.reset();
  EXPECT_FALSE(drift(record));
  record.measured.reset();
  EXPECT_FALSE(drift(record));
}

TEST(Drift, CanariesThatAreFarApartAreNone) {
  EXPECT_TRUE(drift(drifted(0.69, 0)));
  EXPECT_TRUE(drift(drifted(-0.69, 0)));
  EXPECT_FALSE(drift(drifted(0.70, 0))) << "more than a factor of two";
  EXPECT_FALSE(drift(drifted(-4.8, 0))) << "the calibration was timed while something else had the cores";
}

TEST(AdjustedError, FindsTheExponentByWhichStepsFollowTheCanary) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.8}) {
    for (const Record& record : following(exponent)) {
      ASSERT_TRUE(record.error->adjusted);
      EXPECT_NEAR(record.error->adjusted->exponent, exponent, 1e-9);
      EXPECT_NEAR(record.error->adjusted->relative, 0, 1e-9) << "the model itself is right here";
    }
  }
}

TEST(AdjustedError, LeavesTheForecastsOwnErrorAlone) {
  const std::vector<Record> records = following(1);
  for (const Record& record : records)
    EXPECT_DOUBLE_EQ(record.error->step_time_relative, compare(*record.predicted, *record.measured).step_time_relative);
}

TEST(AdjustedError, IsOfTheModelWhereThatIsWrong) {
  std::vector<Record> records = following(1);
  records.push_back(drifted(0.1, 0.1 + std::log(1.25)));
  fill_adjusted_errors(records);
  EXPECT_NEAR(records.back().error->adjusted->relative, 1 / 1.25 - 1, 1e-9);
}

TEST(AdjustedError, IsFittedOnTheOtherCasesByLeastSquaresThroughTheOrigin) {
  std::vector<Record> records = {drifted(0.3, 99), drifted(0.1, 0.2), drifted(-0.2, 0.1), drifted(0.2, 0.3)};
  fill_adjusted_errors(records);
  const double exponent = (0.1 * 0.2 - 0.2 * 0.1 + 0.2 * 0.3) / (0.01 + 0.04 + 0.04);
  EXPECT_NEAR(records[0].error->adjusted->exponent, exponent, 1e-9) << "whatever the case itself took";
  EXPECT_NEAR(records[0].error->adjusted->relative, std::exp(0.3 * exponent - 99) - 1, 1e-9);
  EXPECT_EQ(records[1].error->adjusted->exponent, 2) << "99 counts there";
}

TEST(AdjustedError, TheExponentStaysBetweenNothingAndTwo) {
  for (const Record& record : following(5)) EXPECT_EQ(record.error->adjusted->exponent, 2);
  for (const Record& record : following(-1)) {
    EXPECT_EQ(record.error->adjusted->exponent, 0);
    EXPECT_NEAR(record.error->adjusted->relative, record.error->step_time_relative, 1e-12);
  }
}

TEST(AdjustedError, WantsThreeOtherCasesThatCount) {
  std::vector<Record> records = following(1);
  records.pop_back();
  fill_adjusted_errors(records);
  for (const Record& record : records) EXPECT_FALSE(record.error->adjusted) << "what was there is cleared";
  records.push_back(drifted(0.12, 0.12));
  records[3].status = Status::failed;
  fill_adjusted_errors(records);
  EXPECT_FALSE(records[0].error->adjusted) << "two others count";
  EXPECT_TRUE(records[3].error->adjusted) << "three do beside the one that failed";
  records[3] = drifted(0.12, 0.12);
  records[3].measured->canaries.clear();
  fill_adjusted_errors(records);
  EXPECT_FALSE(records[0].error->adjusted);
  EXPECT_FALSE(records[3].error->adjusted) << "nobody knows its drift";
}

TEST(AdjustedError, IsUnknownWhereDriftsHardlyDiffer) {
  for (const Record& record : following(1, {0.2, 0.21, 0.2, 0.19, 0.2}))
    EXPECT_FALSE(record.error->adjusted) << "a slower machine, or a model that is always too low";
  for (const Record& record : following(1, {0.0, 0.01, -0.01, 0.0})) EXPECT_FALSE(record.error->adjusted);
  for (const Record& record : following(1, {0.2, 0.26, 0.2, 0.14, 0.2})) EXPECT_TRUE(record.error->adjusted);
}

TEST(AdjustedError, HasAMeanBesideTheForecasts) {
  const std::vector<Record> records = following(1);
  const MeanError mean = mean_errors(records).front();
  EXPECT_GT(mean.step_time, 0.05);
  EXPECT_NEAR(mean.adjusted.value(), 0, 1e-9);
  EXPECT_FALSE(mean_errors(following(1, {0.1, 0.1, 0.1, 0.1})).front().adjusted);
}

TEST(AdjustedError, OfTimesThatAreNoneThereIsNone) {
  std::vector<Record> records = following(1);
  records.push_back(drifted(0.1, 0));
  records.back().predicted->step_time_s = 0;
  records.push_back(skipped_record(gpipe, "no GPU"));
  fill_adjusted_errors(records);
  EXPECT_FALSE(records[4].error->adjusted);
  EXPECT_NEAR(records[0].error->adjusted->exponent, 1, 1e-9);
}

}  // namespace
}  // namespace parabench::results
