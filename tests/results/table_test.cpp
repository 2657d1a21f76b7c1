#include "results/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "results/baseline.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

std::vector<Record> quick_records() {
  const std::string net = "resnet18/imagenet-synthetic[pixels=32,classes=10]/";
  std::vector<Record> records = {
      ok_record(net + "sequential/np:1/batch:32/threads:2", 481.25),
      ok_record(net + "data-parallel/np:2/batch:32", 405),
      ok_record(net + "gpipe/np:2/batch:32", 352.6),
      ok_record(net + "pipedream/np:2/batch:32", 98.7),
      skipped_record(net + "gpipe/np:64/batch:64", "64 stages, but the model has 10 segments"),
  };
  records[1].measured->ranks[0].peak_memory[MemoryCategory::workspace] = 80 << 20;
  records[2].predicted->step_time_s *= 0.8;
  records[3].equivalence.status = EquivalenceStatus::fail;
  records[3].equivalence.reason = "layer1.0.conv1.weight differs by 0.31, tolerance 1e-9";
  Record killed = skipped_record(net + "gpipe/np:2/batch:32/micro:8", "rank 1 was killed by signal 9");
  killed.status = Status::failed;
  killed.predicted = records[2].predicted;
  records.push_back(killed);
  fill_baselines(records);
  return records;
}

TEST(Table, LooksAsTheGoldenFile) {
  const std::string path = std::string(GOLDEN_DIR) + "/table.txt";
  const std::string table = results_table(quick_records());
  if (std::getenv("PARABENCH_UPDATE_GOLDEN")) write_atomically(path, table);
  EXPECT_EQ(table, read_text(path)) << "PARABENCH_UPDATE_GOLDEN=1 rewrites it";
}

TEST(Table, OfNoRecordsIsItsHeading) {
  const std::string table = results_table({});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);
}

TEST(Table, TellsTheLossOfWhatIsNotSequentialTrainingAfterAsManySamples) {
  const auto with_loss = [](const std::string& rest, const std::string& reference, std::vector<double> losses) {
    Record record = ok_record("m/d/" + rest, 100);
    record.equivalence.reference = reference;
    record.measured->losses = std::move(losses);
    for (RankMeasured& rank : record.measured->ranks) rank.steps.reset();
    return record;
  };
  const Record sequential = with_loss("sequential/np:1/batch:32", "sequential", {2.5, 2.25, 2.125}),
               other = with_loss("sequential/np:1/batch:32/lr:0.5", "sequential", {9, 9, 9}),
               compressed = with_loss("data-parallel/np:2/batch:32/compress:topk", "compressed", {2.5, 2.375});
  const std::vector<Record> both = {other, sequential, compressed}, alone = {other, compressed};
  const std::string line = "\n    not sequential training (compressed): loss 2.375 after 2 steps of 32 samples";
  EXPECT_NE(results_table(both).find(line + ", of sequential training 2.25\n"), std::string::npos);
  EXPECT_NE(results_table(alone).find(line + "\n"), std::string::npos) << "of another learning rate is none";
  EXPECT_EQ(results_table(std::vector{sequential}).find("loss"), std::string::npos);
  std::vector<Record> shorter = {sequential, compressed};
  shorter[0].measured->losses.resize(1);
  EXPECT_NE(results_table(shorter).find("loss 2.5 after 1 step of 32 samples, of sequential training 2.5\n"),
            std::string::npos);
}

TEST(Table, TellsHowManySamplesUpdatesTookWhereServersDoWithoutSome) {
  Record record = ok_record("m/d/parameter-server[mode=backup]/np:4/batch:24", 100);
  record.equivalence.reference = "backup-workers";
  record.measured->losses = {2.5, 2.25};
  for (RankMeasured& rank : record.measured->ranks) rank.steps.reset();
  for (const auto& [rank, taken] : {std::pair(0, 1.0), {1, 0.75}, {2, 0.25}})
    record.measured->ranks.at(rank).steps = WorkerSteps{.taken = taken};
  EXPECT_NE(results_table(std::vector{record})
                .find("(backup-workers): loss 2.25 after 2 steps of 24 samples, 16 of which updates took\n"),
            std::string::npos);
}

TEST(Table, MarksAnErrorThatIsWithinTheNoise) {
  Record record = ok_record("m/d/sequential/np:1/batch:32", 100);  // whose error is 5 %
  record.error->noise_floor = NoiseFloor{0.06, false};
  EXPECT_NE(results_table(std::vector{record}).find("  +5.0 %  ~6.0 %, within  "), std::string::npos);
  record.error->noise_floor = NoiseFloor{0.04, true};
  EXPECT_EQ(results_table(std::vector{record}).find("within"), std::string::npos);
}

TEST(Table, ShowsNoNumberThatIsNotFinite) {
  std::vector<Record> records = {ok_record("m/d/sequential/np:1/batch:32", 100)};
  records[0].measured->step_time_s.median = 0;
  records[0].measured->throughput_samples_per_s = 0.0 / 0.0;
  const std::string table = results_table(records);
  EXPECT_EQ(table.find("nan"), std::string::npos) << table;
  EXPECT_EQ(table.find("inf"), std::string::npos) << table;
}

}  // namespace
}  // namespace parabench::results
