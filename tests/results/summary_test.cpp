#include "results/summary.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace parabench::results
