#include "results/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/results/report/reports.h"

namespace parabench::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string work = "resnet18/cifar10-synthetic/";
const std::string sequential = work + "sequential/np:1/batch:32";
const std::string gpipe = work + "gpipe/np:2/batch:32";

const Scaling* scaling(const ReportRow& row, ScalingKind kind) {
  const auto found = std::ranges::find(row.scalings, kind, &Scaling::kind);
  return found == row.scalings.end() ? nullptr : &*found;
}

TEST(Report, SaysOfEveryRowThatDoesNotCountWhy) {
  std::vector<Record> records(5, ok_record(gpipe, 400));
  records[1].status = Status::failed;
  records[1].reason = "rank 1 was killed";
  records[2].equivalence.status = EquivalenceStatus::fail;
  records[2].equivalence.reason = "fc.bias differs";
  records[3].equivalence.loss_agrees = false;
  records[4] = skipped_record(gpipe, "no GPU");
  const Report report = report_of(records);
  ASSERT_THAT(report.rows, SizeIs(5));
  EXPECT_TRUE(report.rows[0].counts);
  EXPECT_EQ(report.rows[0].why_not, "");
  for (std::size_t i = 1; i < 5; ++i) EXPECT_FALSE(report.rows[i].counts);
  EXPECT_EQ(report.rows[1].why_not, "failed: rank 1 was killed");
  EXPECT_EQ(report.rows[2].why_not, "not equivalent: fc.bias differs");
  EXPECT_EQ(report.rows[3].why_not, "not equivalent: its losses are not those of the reference");
  EXPECT_EQ(report.rows[4].why_not, "skipped: no GPU");
}

TEST(Report, RowsThatDoNotCountEnterNoMeanNoGroupAndNoSpeedUp) {
  Record bad = ok_record(gpipe, 400);
  bad.predicted->step_time_s *= 100;
  bad.equivalence.status = EquivalenceStatus::fail;
  const Report report = report_of({ok_record(sequential, 200), bad});
  EXPECT_FALSE(report.rows[1].group);
  EXPECT_THAT(report.rows[1].scalings, IsEmpty());
  ASSERT_THAT(report.means, SizeIs(1));
  EXPECT_EQ(report.means[0].cases, 1);
  ASSERT_THAT(report.strategies, SizeIs(1));
  EXPECT_EQ(report.strategies[0].strategy, "sequential");
}

TEST(Report, ScalesOverOneRankOverTheBatchPerRankAndOverAsManyCores) {
  const Report report = report_of({ok_record(sequential, 100), ok_record(sequential + "/threads:2", 160),
                                   ok_record(work + "sequential/np:1/batch:16", 80), ok_record(gpipe, 240)});
  const ReportRow& row = report.rows[3];
  ASSERT_THAT(row.scalings, SizeIs(3));
  EXPECT_DOUBLE_EQ(scaling(row, ScalingKind::one_rank)->speedup, 2.4);
  EXPECT_DOUBLE_EQ(scaling(row, ScalingKind::one_rank)->efficiency, 1.2);
  EXPECT_DOUBLE_EQ(scaling(row, ScalingKind::batch_per_rank)->speedup, 3);
  EXPECT_EQ(scaling(row, ScalingKind::batch_per_rank)->reference, work + "sequential/np:1/batch:16");
  EXPECT_DOUBLE_EQ(scaling(row, ScalingKind::same_cores)->speedup, 1.5);
  EXPECT_DOUBLE_EQ(scaling(row, ScalingKind::same_cores)->efficiency, 1.5);
  EXPECT_DOUBLE_EQ(report.record(row).measured->baseline->speedup, 1.5) << "the same as in the results file";
  EXPECT_NEAR(*scaling(row, ScalingKind::one_rank)->predicted_speedup, 2.4, 1e-12);
  EXPECT_THAT(report.rows[0].scalings, IsEmpty()) << "a reference";
}

TEST(Report, SaysInWhatTheNearestSequentialCaseDiffersFromARowThatIsComparedWithNothing) {
  const auto why = [](const std::string& reference, const std::string& id) {
    return report_of({ok_record(reference, 100), ok_record(id, 240)}).rows[1].why_no_scaling;
  };
  const std::string nearest = "the nearest sequential case in the same file differs in ";
  EXPECT_EQ(why(sequential, gpipe), "");
  EXPECT_EQ(why(sequential, gpipe + "/optimizer:adam"), nearest + "optimizer");
  EXPECT_EQ(why(sequential, gpipe + "/precision:bf16/lr:0.1"), nearest + "precision, lr");
  EXPECT_EQ(why(sequential + "/recompute:all", gpipe), nearest + "recompute") << "which would flatter the row";
  EXPECT_EQ(why(sequential, gpipe + "/recompute:all"), "");
  EXPECT_EQ(why(sequential, work + "gpipe/np:2/batch:96"), nearest + "batch");
  EXPECT_EQ(why(sequential + "/threads:4", gpipe), nearest + "threads");
  EXPECT_EQ(why(work + "sequential/np:1/batch:16/threads:2", gpipe), nearest + "threads")
      << "weak scaling is by ranks of as many threads";
  EXPECT_EQ(why("resnet34/cifar10-synthetic/sequential/np:1/batch:32", gpipe),
            "no sequential case of the same model and data set in the same file was measured and counts");

  Record failed = ok_record(gpipe, 240);
  failed.status = Status::failed;
  const Report report = report_of({ok_record(sequential + "/optimizer:adam", 100),
                                   ok_record(sequential + "/optimizer:adam/precision:bf16", 100),
                                   ok_record(gpipe + "/optimizer:lars/precision:bf16", 240), failed});
  EXPECT_EQ(report.rows[0].why_no_scaling, "") << "a reference";
  EXPECT_EQ(report.rows[2].why_no_scaling, nearest + "optimizer") << "of the two that which differs in less";
  EXPECT_EQ(report.rows[3].why_no_scaling, "") << "it does not count, which is told elsewhere";
}

TEST(Report, SumsUpRowsWithoutSpeedUpByReason) {
  const Report report =
      report_of({ok_record(sequential, 100), ok_record(gpipe, 240), ok_record(gpipe + "/optimizer:adam", 240),
                 ok_record(gpipe + "/lr:0.1", 240), ok_record(work + "1f1b/np:2/batch:32/optimizer:adam", 240)});
  EXPECT_THAT(
      missing_scalings(report),
      ElementsAre(
          "a: no speed-up of 1 row (" + gpipe + "/lr:0.1): the nearest sequential case in the same file differs in lr",
          "a: no speed-up of 2 rows (" + gpipe +
              "/optimizer:adam, ...): the nearest sequential case in the same file differs in optimizer"));
  EXPECT_THAT(missing_scalings(report_of({ok_record(sequential, 100), ok_record(gpipe, 240)})), IsEmpty());
}

TEST(Report, ScalingHasAnIntervalOverLaunchesWhereBothHaveEnough) {
  const auto with_launches = [](const std::string& id, std::vector<double> seconds) {
    Record record = ok_record(id, 100);
    record.measured->step_time_s.samples.clear();
    for (const double one : seconds) record.measured->step_time_s.samples.push_back({one, one, one});
    return record;
  };
  const Record alone = with_launches(work + "sequential/np:1/batch:16", {.4, .5, .4});
  const Report report = report_of({alone, with_launches(gpipe, {.25, .25, .2})});
  const Scaling* weak = scaling(report.rows[1], ScalingKind::batch_per_rank);
  ASSERT_TRUE(weak && weak->speedup_interval && weak->efficiency_interval);
  // Twice the samples in no less than .4 / .25 and no more than .5 / .2 times as many steps.
  EXPECT_DOUBLE_EQ(weak->speedup_interval->first, 2 * 1.6);
  EXPECT_DOUBLE_EQ(weak->speedup_interval->second, 2 * 2.5);
  EXPECT_DOUBLE_EQ(weak->efficiency_interval->first, 1.6);
  EXPECT_DOUBLE_EQ(weak->efficiency_interval->second, 2.5);
  const Report few = report_of({alone, with_launches(gpipe, {.25, .2})});
  EXPECT_FALSE(scaling(few.rows[1], ScalingKind::batch_per_rank)->speedup_interval);
}

TEST(Report, TakesNoReferenceFromAnotherFile) {
  std::vector<ReportFile> files;
  files.push_back(file_of({ok_record(gpipe, 240)}, "a"));
  files.push_back(
      file_of({ok_record(sequential, 50), ok_record(sequential + "/threads:2", 80), ok_record(gpipe, 240)}, "b"));
  const Report report = make_report(files);
  EXPECT_FALSE(report.record(report.rows[0]).measured->baseline);
  EXPECT_THAT(report.rows[0].scalings, IsEmpty());
  ASSERT_TRUE(report.record(report.rows[3]).measured->baseline);
  EXPECT_DOUBLE_EQ(report.record(report.rows[3]).measured->baseline->speedup, 3);
  EXPECT_DOUBLE_EQ(scaling(report.rows[3], ScalingKind::one_rank)->speedup, 4.8);
}

TEST(Report, KeepsTheSameCaseOfSeveralFilesApart) {
  std::vector<ReportFile> files;
  files.push_back(file_of({ok_record(gpipe, 200)}, "a"));
  files.push_back(file_of({ok_record(gpipe, 300)}, "b"));
  const Report report = make_report(files);
  ASSERT_THAT(report.rows, SizeIs(2));
  EXPECT_EQ(report.rows[0].file, 0u);
  EXPECT_EQ(report.rows[1].file, 1u);
  EXPECT_EQ(report.record(report.rows[1]).measured->throughput_samples_per_s, 300);
}

TEST(Report, AStrategyHasTheSamePlaceWhateverElseAReportHolds) {
  const std::vector<std::string_view> order = {"sequential", "zb-v", "gpipe"};
  const auto places = [&](const std::vector<std::string>& ids) {
    std::vector<Record> records;
    for (const std::string& id : ids) records.push_back(ok_record(work + id, 100));
    std::vector<std::size_t> found;
    std::vector<ReportFile> files;
    files.push_back(file_of(std::move(records)));
    for (const ReportRow& row : make_report(std::move(files), order).rows) found.push_back(row.strategy_place);
    return found;
  };
  EXPECT_THAT(places({"gpipe/np:2/batch:32", "gpipe/np:2/batch:64"}), ElementsAre(2, 2));
  EXPECT_THAT(places({"zb-v/np:2/batch:32", "gpipe/np:2/batch:32", "sequential/np:1/batch:32"}), ElementsAre(1, 2, 0));
  EXPECT_THAT(places({"zero1/np:2/batch:32", "1f1b/np:2/batch:32", "gpipe/np:2/batch:32"}), ElementsAre(4, 3, 2))
      << "those that the order does not name come behind it, by name";
}

TEST(Report, GroupsTheSameWorkOnAsManyCoresOfTheSameHardware) {
  std::vector<ReportFile> files;
  files.push_back(file_of({ok_record(gpipe, 200), ok_record(sequential + "/threads:2", 150), ok_record(sequential, 90),
                           ok_record(work + "gpipe/np:2/batch:64", 200), ok_record(gpipe + "/precision:bf16", 300)},
                          "a"));
  files.push_back(file_of({ok_record(gpipe, 210)}, "b"));
  files.push_back(file_of({ok_record(gpipe, 900)}, "c"));
  files[2].results.context.gpus[0].name = "Another GPU";
  const Report report = make_report(files);
  std::vector<std::size_t> groups;
  for (const ReportRow& row : report.rows) groups.push_back(*row.group);
  EXPECT_THAT(groups, ElementsAre(0, 0, 1, 2, 3, 0, 4));
  EXPECT_THAT(report.groups, ElementsAre("resnet18/cifar10-synthetic, batch 32, 2 cores (a)",
                                         "resnet18/cifar10-synthetic, batch 32, 1 core",
                                         "resnet18/cifar10-synthetic, batch 64, 2 cores",
                                         "resnet18/cifar10-synthetic, batch 32, 2 cores, bf16",
                                         "resnet18/cifar10-synthetic, batch 32, 2 cores (c)"));
}

TEST(Report, FindsTheFrontOfTimeAgainstMemoryWithinAGroup) {
  Record fast = ok_record(gpipe, 400), small = ok_record(work + "1f1b/np:2/batch:32", 300);
  Record beaten = ok_record(work + "dapple/np:2/batch:32", 250);
  for (RankMeasured& rank : small.measured->ranks) rank.peak_memory[MemoryCategory::activations] /= 2;
  for (RankPredicted& rank : beaten.predicted->ranks) rank.peak_memory[MemoryCategory::activations] /= 4;
  const Report report = report_of({fast, small, beaten});
  EXPECT_TRUE(report.rows[0].on_measured_front && report.rows[1].on_measured_front);
  EXPECT_FALSE(report.rows[2].on_measured_front);
  EXPECT_TRUE(report.rows[0].on_predicted_front && report.rows[2].on_predicted_front);
  EXPECT_FALSE(report.rows[1].on_predicted_front);
}

TEST(Report, HoldsWhatTrainsSomethingElseApart) {
  Record usual = ok_record(gpipe, 400), late = ok_record(work + "1f1b/np:2/batch:32", 300),
         later = ok_record(work + "dapple/np:2/batch:32", 200);
  late.equivalence.reference = later.equivalence.reference = "delayed-update";
  const Report report = report_of({usual, late, later});
  EXPECT_NE(*report.rows[0].group, *report.rows[1].group);
  EXPECT_EQ(*report.rows[1].group, *report.rows[2].group);
  EXPECT_TRUE(report.rows[0].on_measured_front) << "although both others are faster";
  EXPECT_THAT(report.groups[*report.rows[1].group], testing::HasSubstr("not sequential training (delayed-update)"));
}

TEST(Report, SaysWhetherTheMeasuredMedianIsInsideThePrediction) {
  Record inside = ok_record(gpipe, 400), outside = inside, none = inside;
  inside.predicted->interval_s = {0, 1};
  outside.predicted->interval_s = {1, 2};
  none.predicted->interval_s = {0.1, 0.1};
  const Report report = report_of({inside, outside, skipped_record(gpipe, "no GPU"), none});
  EXPECT_EQ(report.rows[0].inside, true);
  EXPECT_EQ(report.rows[1].inside, false);
  EXPECT_EQ(report.rows[2].inside, std::nullopt);
  EXPECT_EQ(report.rows[3].inside, std::nullopt) << "costs of a data sheet have no spread";
}

TEST(Report, NamesWhatALineOverRanksHasInCommon) {
  EXPECT_EQ(series(ok_record(gpipe + "/micro:8", 100)), "gpipe/micro:8");
  EXPECT_EQ(short_id(ok_record(gpipe + "/micro:8", 100)), "gpipe/np:2/batch:32/micro:8");
  Record odd = ok_record(gpipe, 100);
  odd.id = "no slashes";
  EXPECT_EQ(short_id(odd), "no slashes");
  EXPECT_EQ(workload(odd), "resnet18/cifar10-synthetic");
}

class ReadReportFiles : public testing::Test {
 protected:
  ReadReportFiles() { std::filesystem::create_directories(folder_ / "x"); }
  ~ReadReportFiles() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "read_report_files";
};

TEST_F(ReadReportFiles, LabelsFilesByNameAndByFolderWhereNamesRepeat) {
  const std::string text = results_text(sample_files()[0]);
  const std::vector<std::filesystem::path> paths = {write("run.json", text), write("x/run.json", text),
                                                    write("other.json", text)};
  const std::vector<ReportFile> files = read_report_files(paths);
  EXPECT_EQ(files[0].label, (folder_ / "run").string());
  EXPECT_EQ(files[1].label, (folder_ / "x" / "run").string());
  EXPECT_EQ(files[2].label, "other");
}

TEST_F(ReadReportFiles, RefusesAFileGivenTwiceAndWhatIsNoResultsFile) {
  const auto path = write("run.json", results_text(sample_files()[0]));
  EXPECT_THROW(read_report_files(std::vector{path, folder_ / "x" / ".." / "run.json"}), Error);
  try {
    read_report_files(std::vector{write("bad.json", R"({"schema_version": "1.6"})")});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("bad.json"));
  }
}

}  // namespace
}  // namespace parabench::results
