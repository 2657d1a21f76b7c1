#include "results/summary.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"
#include "results/baseline.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

const char* const sequential = "resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2";
const char* const gpipe = "resnet18/cifar10-synthetic/gpipe/np:2/batch:32";

/// Every way of not counting that still leaves a measured time on record.
std::vector<Record> rows_that_do_not_count() {
  std::vector<Record> rows(4, ok_record(gpipe, 400));
  rows[0].status = Status::failed;
  rows[0].reason = "rank 1 was killed by signal 9";
  rows[1].equivalence.status = EquivalenceStatus::fail;
  rows[2].equivalence.loss_agrees = false;
  rows[3].status = Status::skipped;
  return rows;
}

Record unchecked(Record record) {
  record.equivalence = {.reason = "switched off by --verify off"};
  return record;
}

TEST(Counts, AreOkAndEquivalentRowsOrSuchAsWereNotChecked) {
  EXPECT_TRUE(counts(ok_record(gpipe, 400)));
  EXPECT_TRUE(counts(unchecked(ok_record(gpipe, 400))));
  for (const Record& row : rows_that_do_not_count()) EXPECT_FALSE(counts(row));
  EXPECT_FALSE(counts(skipped_record(gpipe, "no GPU")));
}

TEST(Counts, RowsThatDoNotSayWhy) {
  std::vector<Record> rows = rows_that_do_not_count();
  rows[1].equivalence.reason = "fc.bias differs";
  EXPECT_EQ(why_not_counted(ok_record(gpipe, 400)), "");
  EXPECT_EQ(why_not_counted(rows[0]), "failed: rank 1 was killed by signal 9");
  EXPECT_EQ(why_not_counted(rows[1]), "not equivalent: fc.bias differs");
  EXPECT_EQ(why_not_counted(rows[2]), "not equivalent: its losses are not those of the reference");
  EXPECT_EQ(why_not_counted(rows[3]), "skipped");
  rows[2].equivalence.reason = "switched off";
  EXPECT_EQ(why_not_counted(rows[2]), "not equivalent: its losses are not those of the reference, switched off");
}

TEST(MeanErrors, LeaveOutRowsThatDoNotCount) {
  std::vector<Record> records = rows_that_do_not_count();
  for (Record& row : records) row.predicted->step_time_s *= 100;
  EXPECT_TRUE(mean_errors(records).empty());
  Record good = ok_record(gpipe, 400);
  good.predicted->step_time_s = 0.9 * good.measured->step_time_s.median;
  records.push_back(good);
  const std::vector<MeanError> means = mean_errors(records);
  ASSERT_EQ(means.size(), 1u);
  EXPECT_EQ(means[0].cases, 1);
  EXPECT_NEAR(means[0].step_time, 0.1, 1e-12);
}

TEST(MeanErrors, KeepCheckedUncheckedAndEmulatedRowsApart) {
  const auto with_error = [](Record record, double error) {
    record.predicted->step_time_s = (1 + error) * record.measured->step_time_s.median;
    return record;
  };
  Record emulated = unchecked(ok_record(std::string(gpipe) + "/device:emulated", 400));
  for (RankMeasured& rank : emulated.measured->ranks) rank.peak_memory = {};
  const std::vector<Record> records = {with_error(ok_record(gpipe, 400), 0.1),
                                       with_error(unchecked(ok_record(gpipe, 400)), -0.2), with_error(emulated, 0.4)};
  const std::vector<MeanError> means = mean_errors(records);
  ASSERT_EQ(means.size(), 3u);
  EXPECT_NEAR(means[0].step_time, 0.1, 1e-12);
  EXPECT_NEAR(means[1].step_time, 0.2, 1e-12);
  EXPECT_NEAR(means[2].step_time, 0.4, 1e-12);
  EXPECT_TRUE(means[0].checked && !means[1].checked && means[2].emulated);
  EXPECT_TRUE(means[1].peak_memory);
  EXPECT_FALSE(means[2].peak_memory) << "nothing is counted there";
}

TEST(MeanErrors, NoiseIsOfLaunchesWhereThatOfAllRowsIs) {
  std::vector<Record> records(3, ok_record(gpipe, 400));
  records[0].error->noise_floor = NoiseFloor{0.25, true};
  records[1].error->noise_floor = NoiseFloor{0.5, true};
  records[2].error->noise_floor = std::nullopt;
  NoiseFloor noise = mean_errors(records).at(0).noise_floor.value();
  EXPECT_DOUBLE_EQ(noise.relative, 0.375) << "over rows that have one";
  EXPECT_TRUE(noise.of_launches);
  records[2].error->noise_floor = NoiseFloor{0.75, false};
  noise = mean_errors(records).at(0).noise_floor.value();
  EXPECT_DOUBLE_EQ(noise.relative, 0.5);
  EXPECT_FALSE(noise.of_launches);
}

TEST(Baseline, NeitherComesFromNorGoesToARowThatDoesNotCount) {
  for (const Record& bad : rows_that_do_not_count()) {
    std::vector<Record> records = {ok_record(sequential, 200), bad};
    fill_baselines(records);
    EXPECT_FALSE(records[1].measured->baseline);
    records = {bad, ok_record(gpipe, 300)};
    records[0].id = sequential;
    records[0].parameters = ok_record(sequential, 200).parameters;
    fill_baselines(records);
    EXPECT_FALSE(records[1].measured->baseline);
  }
}

TEST(PeakBytes, AreThoseOfTheRankThatNeedsMost) {
  Record record = ok_record(gpipe, 400);
  record.measured->ranks[1].peak_memory = {{40, 0, 0, 0, 1 << 30}, 1000};
  EXPECT_EQ(peak_bytes(*record.measured), (1 << 30) + 40);
}

Record with_launches(const std::string& id, const std::vector<double>& medians) {
  Record record = ok_record(id, 100);
  record.measured->step_time_s.samples.clear();
  for (const double s : medians) record.measured->step_time_s.samples.push_back({s, s, s});
  return record;
}

/// `cases` cases of three launches, each case with a time of its own.
std::vector<Record> noisy_cases(std::uint64_t cases, double sigma) {
  std::vector<Record> out;
  for (std::uint64_t i = 0; i < cases; ++i) {
    std::vector<double> medians;
    for (std::uint64_t k = 0; k < 3; ++k)
      medians.push_back(static_cast<double>(1 + i) * std::exp(sigma * counter_normal(i, 3, k)));
    out.push_back(with_launches(gpipe, medians));
  }
  return out;
}

TEST(Noise, HoldsErrorsOfEitherSignThatAreNoLarger) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(is_within(-0.25, {0.25, true}));
  EXPECT_FALSE(is_within(0.26, {0.25, true}));
  EXPECT_FALSE(is_within(nan, {0.25, true}));
  EXPECT_EQ(noise_percent({0.25, true}, 0.3), "25.0 %");
  EXPECT_EQ(noise_percent({0.25, false}, -0.2), "~25.0 %, within");
  EXPECT_EQ(noise_percent({nan, true}, 0), "-");
}

TEST(LaunchMedians, LeaveOutWhatIsNoTime) {
  Measured measured;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  measured.step_time_s.samples = {{3, 1, 2}, {nan, 5}, {nan, 0}, {}};
  EXPECT_EQ(launch_medians(measured), (std::vector<double>{2, 5}));
}

TEST(LaunchNoise, IsTheStandardDeviationOfNormalLaunches) {
  const auto noise = launch_noise(noisy_cases(400, 0.02), DeviceKind::cpu);
  ASSERT_TRUE(noise);
  EXPECT_NEAR(noise->sigma, 0.02, 0.001) << "three launches a case bring no bias";
  EXPECT_EQ(noise->cases, 400);
  EXPECT_EQ(noise->launches, 1200);
  EXPECT_EQ(noise->degrees_of_freedom, 800);
}

// ln of the launches: 0, 0.01, 0.04; differences 0.01, 0.03, 0.04.
TEST(LaunchNoise, FollowsItsFormula) {
  const auto noise =
      launch_noise(std::vector{with_launches(gpipe, {1, std::exp(0.04), std::exp(0.01)})}, DeviceKind::cpu);
  EXPECT_NEAR(noise->sigma, 1.048358 * 0.03, 1e-12);
  // t(0.975, 2) = 4.302653 (scipy 1.17.1).
  EXPECT_NEAR(smallest_difference(*noise, 3, 6, 0.05), 4.302653 * noise->sigma * std::sqrt(3.14159265 / 2 * 0.5), 1e-6);
}

TEST(LaunchNoise, IsUnmovedByAFewStrayedLaunches) {
  std::vector<Record> records = noisy_cases(50, 0.02);
  for (std::size_t i = 0; i < 5; ++i)
    records[i].measured->step_time_s.samples[0] = {100.0 * static_cast<double>(i + 1)};
  EXPECT_NEAR(launch_noise(records, DeviceKind::cpu)->sigma, 0.02, 0.006);
}

TEST(LaunchNoise, IsUnknownWithoutThreeLaunchesOfARowThatCounts) {
  EXPECT_FALSE(launch_noise(std::vector{with_launches(gpipe, {1, 2})}, DeviceKind::cpu));
  EXPECT_FALSE(launch_noise(rows_that_do_not_count(), DeviceKind::cpu));
  Record failed = with_launches(gpipe, {1, 2, 3});
  failed.status = Status::failed;
  EXPECT_FALSE(launch_noise(std::vector{failed}, DeviceKind::cpu));
  EXPECT_FALSE(launch_noise(std::vector{with_launches(gpipe, {1, 2, 3})}, DeviceKind::cuda));
}

// Two sets of launches from one distribution, the noise known from many cases: medians are hardly ever further apart.
TEST(LaunchNoise, SmallestDifferencesAreRarelyExceededByNoise) {
  const auto noise = launch_noise(noisy_cases(200, 0.02), DeviceKind::cpu);
  for (const std::size_t number : {3, 5, 9}) {
    constexpr std::uint64_t trials = 1000;
    int exceeded = 0;
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
      std::array<double, 2> medians{};
      for (std::uint64_t side = 0; side < 2; ++side) {
        std::vector<double> logs;
        for (std::uint64_t k = 0; k < number; ++k) logs.push_back(0.02 * counter_normal(10000 + trial, side, k));
        medians[side] = median(logs);
      }
      exceeded += std::abs(medians[0] - medians[1]) > smallest_difference(*noise, number, number, 0.05);
    }
    EXPECT_LE(exceeded, 0.055 * trials) << number;
    EXPECT_GE(exceeded, 0.015 * trials) << number << ": not wider than needed";
  }
}

}  // namespace
}  // namespace parabench::results
