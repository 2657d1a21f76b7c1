#include "results/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/case_key.h"
#include "base/error.h"
#include "results/baseline.h"
#include "results/record_json.h"
#include "results/record_read.h"
#include "results/summary.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

using nlohmann::json;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const gpipe = "resnet18/cifar10-synthetic/gpipe/np:2/batch:32";

Record read(const json& value) { return record_from_json(JsonReader(value, "record")); }

std::set<std::string> keys(const json& object) {
  std::set<std::string> out;
  for (const auto& item : object.items()) out.insert(item.key());
  return out;
}

TEST(Summarise, TakesOrderStatisticsOverAllLaunches) {
  StepTime time;
  time.samples = {{3, 1, 4}, {1, 5, 9, 2}};
  summarise(time);
  EXPECT_EQ(time.median, 3);
  EXPECT_DOUBLE_EQ(time.p10, 1.0);
  EXPECT_DOUBLE_EQ(time.p90, 6.6);
  EXPECT_LE(time.ci95.first, time.median);
  EXPECT_GE(time.ci95.second, time.median);
  StepTime nothing;
  EXPECT_THROW(summarise(nothing), std::invalid_argument);
}

TEST(Compare, IsPredictedAgainstMeasured) {
  const Record record = ok_record(gpipe, 400);
  Predicted predicted = *record.predicted;
  Measured measured = *record.measured;
  predicted.step_time_s = 0.9;
  measured.step_time_s.median = 1.2;
  predicted.ranks[1].peak_memory = {{30, 30}, 0};
  measured.ranks[1].peak_memory = {{40, 0, 0, 0, 10}, 1000};
  predicted.ranks[1].breakdown_s.bubble = 0.25;
  measured.ranks[1].breakdown_s->bubble = 0.75;
  const PredictionError error = compare(predicted, measured);
  EXPECT_DOUBLE_EQ(error.step_time_relative, -0.25);
  EXPECT_DOUBLE_EQ(error.peak_memory_relative[1], 0.2);
  EXPECT_DOUBLE_EQ(error.breakdown_s[1].bubble, -0.5);
}

TEST(Compare, OfResidentMemoryWhereItWasPredictedAndMeasured) {
  const Record record = ok_record(gpipe, 400);
  Predicted predicted = *record.predicted;
  Measured measured = *record.measured;
  for (RankMeasured& rank : measured.ranks) rank.peak_memory.resident = 1000;
  for (RankPredicted& rank : predicted.ranks) rank.peak_memory.resident = 0;
  EXPECT_THAT(compare(predicted, measured).resident_memory_relative, IsEmpty());
  predicted.ranks[0].peak_memory.resident = 1250;
  predicted.ranks[1].peak_memory.resident = 900;
  EXPECT_THAT(compare(predicted, measured).resident_memory_relative, ElementsAre(0.25, DoubleNear(-0.1, 1e-12)));
  measured.ranks[0].peak_memory.resident = measured.ranks[1].peak_memory.resident = 0;
  EXPECT_THAT(compare(predicted, measured).resident_memory_relative, IsEmpty());
}

TEST(RecordJson, FilesOfSchema1_13HaveNoErrorOfResidentMemory) {
  json written = to_json(ok_record(gpipe, 400));
  written["error"]["resident_memory_relative"] = {0.25, 0.5};
  EXPECT_THAT(read(written).error->resident_memory_relative, ElementsAre(0.25, 0.5));
  written["error"].erase("resident_memory_relative");
  EXPECT_THAT(read(written).error->resident_memory_relative, IsEmpty());
}

TEST(Compare, OfSeveralLaunchesTheNoiseFloorIsEachOnePredictedByTheOthers) {
  const Record record = ok_record(gpipe, 400);
  Measured measured = *record.measured;
  measured.step_time_s.samples = {{1.0, 1.0}, {1.25, 1.25}};
  const auto floor = noise_floor(*record.predicted, measured);
  ASSERT_TRUE(floor);
  EXPECT_TRUE(floor->of_launches);
  EXPECT_DOUBLE_EQ(floor->relative, (0.25 + 0.2) / 2) << "1.25 says 25 % too much of 1, 1 says 20 % too little of 1.25";
  EXPECT_EQ(compare(*record.predicted, measured).noise_floor->relative, floor->relative);
}

TEST(Compare, OfOneLaunchTheNoiseFloorIsThatOfTheCosts) {
  const Record record = ok_record(gpipe, 400);
  Predicted predicted = *record.predicted;
  Measured measured = *record.measured;
  measured.step_time_s.samples = {{2.0}};
  predicted.interval_s = {2.0 - 1.96 * 0.1, 2.0 + 1.96 * 0.1};
  const auto floor = noise_floor(predicted, measured);
  ASSERT_TRUE(floor);
  EXPECT_FALSE(floor->of_launches);
  EXPECT_NEAR(floor->relative, 0.0398942, 1e-6) << "the mean absolute value of normal noise of 5 %";
  predicted.interval_s = {2, 2};
  EXPECT_FALSE(noise_floor(predicted, measured)) << "costs of a data sheet have no spread";
}

TEST(Compare, ThePairedErrorIsTheMedianOverRounds) {
  const Record record = ok_record(gpipe, 400);
  EXPECT_FALSE(compare(*record.predicted, *record.measured).paired_step_time_relative);
  const std::vector<PairedRound> rounds = {{1.0, 1.0}, {2.2, 2.0}, {1.5, 3.0}};
  EXPECT_DOUBLE_EQ(*compare(*record.predicted, *record.measured, rounds).paired_step_time_relative, 0.0);
}

TEST(Compare, LeavesOutRanksWithoutABreakdown) {
  Record record = ok_record(gpipe, 400);
  for (RankMeasured& rank : record.measured->ranks) rank.breakdown_s.reset();
  record.error = compare(*record.predicted, *record.measured);
  EXPECT_TRUE(record.error->breakdown_s.empty());
  const json written = to_json(record);
  EXPECT_EQ(written["measured"]["ranks"][0]["breakdown_s"], nullptr);
  EXPECT_EQ(written["error"]["breakdown_s"]["forward"], json::array());
  EXPECT_EQ(to_json(read(written)), written);
}

TEST(RecordJson, HasExactlyTheFieldsOfTheContract) {
  const json record = to_json(sample_files()[0].records[0]);
  EXPECT_EQ(keys(record),
            (std::set<std::string>{"id", "parameters", "plan", "status", "reason", "equivalence", "measured",
                                   "predicted", "error", "paired", "paired_canary", "earlier_failures",
                                   "last_operations", "emulate", "launch", "reproduce"}));
  EXPECT_EQ(
      keys(record["measured"]["ranks"][0]["peak_memory_bytes"]),
      (std::set<std::string>{"parameters", "gradients", "optimizer", "weight_versions", "activations", "communication",
                             "workspace", "total_counted", "resident", "reserved", "device_used"}));
  EXPECT_EQ(keys(record["measured"]["ranks"][0]["breakdown_s"]),
            (std::set<std::string>{"forward", "backward", "recompute", "update", "communication_exposed", "bubble",
                                   "data_wait", "other"}));
  EXPECT_EQ(keys(record["predicted"]["ranks"][0]), (std::set<std::string>{"rank", "peak_memory_bytes", "breakdown_s"}));
  EXPECT_EQ(keys(record["predicted"]["step_parts_s"]),
            (std::set<std::string>{"rank", "compute", "launch", "memory", "latency", "transfer"}));
  EXPECT_EQ(keys(record["error"]),
            (std::set<std::string>{"step_time_relative", "adjusted_step_time_relative", "adjusted_exponent",
                                   "paired_step_time_relative", "noise_floor_relative", "noise_floor_of",
                                   "peak_memory_relative", "resident_memory_relative", "breakdown_s"}));
  EXPECT_EQ(keys(record["measured"]["canary"][0]),
            (std::set<std::string>{"matrix_product_s", "triad_s", "steal_share", "involuntary_switches",
                                   "matrix_product_spread"}));
  EXPECT_EQ(record["error"]["breakdown_s"]["forward"].size(), 2U) << "one difference per rank";
  EXPECT_EQ(record["reason"], nullptr);
  EXPECT_EQ(record["measured"]["sync"], false);
  EXPECT_EQ(record["predicted"]["method"], "simulated");
  EXPECT_EQ(record["parameters"]["bucket"], 26214400);
  EXPECT_EQ(record["measured"]["ranks"][0]["peak_memory_bytes"]["total_counted"],
            record["predicted"]["ranks"][0]["peak_memory_bytes"]["total_counted"]);
  EXPECT_EQ(record["predicted"]["ranks"][0]["peak_memory_bytes"]["resident"], nullptr);
  EXPECT_EQ(record["predicted"]["ranks"][0]["peak_memory_bytes"]["reserved"], nullptr) << "on the processor";
}

TEST(RecordJson, SurvivesTheRoundTrip) {
  for (const ResultsFile& file : sample_files()) {
    for (const Record& record : file.records) {
      const json written = json::parse(to_json(record).dump());
      EXPECT_EQ(to_json(read(written)), written);
    }
  }
}

TEST(RecordJson, WhatStoppedACaseAndItsTimelineSurviveTheRoundTrip) {
  const Record record = ok_record(gpipe, 400);
  const Record again = read(to_json(record));
  EXPECT_EQ(again.measured->stopped_by, StopReason::repetitions);
  EXPECT_EQ(again.measured->reduction, "ring");
  EXPECT_EQ(again.measured->mpi_settings, "OMPI_MCA_btl_tcp_flags=1");
  EXPECT_EQ(again.measured->timeline, record.measured->timeline);
  EXPECT_EQ(again.predicted->timeline, record.predicted->timeline);
  EXPECT_EQ(again.earlier_failures, record.earlier_failures);
  EXPECT_EQ(again.last_operations, record.last_operations);
  EXPECT_EQ(again.launch, record.launch);
}

TEST(RecordJson, CanariesAndTheErrorTheyAdjustSurviveTheRoundTrip) {
  const Record record = ok_record(gpipe, 400), again = read(to_json(record));
  ASSERT_EQ(again.measured->canaries.size(), 2u);
  EXPECT_EQ(again.measured->canaries, record.measured->canaries);
  EXPECT_EQ(again.paired_canary, record.paired_canary);
  EXPECT_EQ(again.predicted->canary_matrix_product_s, record.predicted->canary_matrix_product_s);
  EXPECT_EQ(again.error->adjusted->relative, 0.02);
  EXPECT_EQ(again.error->adjusted->exponent, 0.75);
}

TEST(RecordJson, PairedRoundsSurviveTheRoundTripWithAndWithoutBreakdowns) {
  Record record = ok_record(gpipe, 400);
  record.paired = {{1.5, 1, {{Breakdown{.forward = 1}, Breakdown{.bubble = 2}}}}, {2.5, 2}};
  const Record again = read(to_json(record));
  ASSERT_EQ(again.paired.size(), 2u);
  EXPECT_EQ(again.paired[0].predicted_step_time_s, 1.5);
  EXPECT_EQ(again.paired[0].measured_step_time_s, 1);
  EXPECT_EQ(again.paired[0].breakdown_s->predicted, Breakdown{.forward = 1});
  EXPECT_EQ(again.paired[0].breakdown_s->measured, Breakdown{.bubble = 2});
  EXPECT_FALSE(again.paired[1].breakdown_s) << "of schema 1.14";
}

TEST(RecordJson, TheLaunchesBehindAPredictionSurviveTheRoundTrip) {
  Record record = ok_record(gpipe, 400);
  EXPECT_EQ(read(to_json(record)).predicted->calibrated_by, record.predicted->calibrated_by);
  record.predicted->calibrated_by->launches = 1;
  record.predicted->calibrated_by->spread.reset();
  EXPECT_EQ(read(to_json(record)).predicted->calibrated_by, record.predicted->calibrated_by);
  json written = to_json(record);
  written["predicted"].erase("calibrated_by");
  EXPECT_FALSE(read(written).predicted->calibrated_by) << "of schema 1.12";
}

TEST(RecordJson, BrokenAssumptionsSurviveTheRoundTrip) {
  const Record record = ok_record(gpipe, 400);
  json written = to_json(record);
  EXPECT_FALSE(record.predicted->broken_assumptions.empty());
  EXPECT_EQ(read(written).predicted->broken_assumptions, record.predicted->broken_assumptions);
  written["predicted"].erase("broken_assumptions");
  EXPECT_TRUE(read(written).predicted->broken_assumptions.empty()) << "of schema 1.15";
}

TEST(RecordJson, OlderFilesKnowNoCanaries) {
  json written = to_json(ok_record(gpipe, 400));
  written["measured"].erase("canary");
  written["predicted"].erase("canary_matrix_product_s");
  written["error"].erase("adjusted_step_time_relative");
  written["error"].erase("adjusted_exponent");
  written.erase("paired_canary");
  const Record again = read(written);
  EXPECT_TRUE(again.measured->canaries.empty());
  EXPECT_FALSE(again.predicted->canary_matrix_product_s);
  EXPECT_FALSE(again.error->adjusted);
  EXPECT_FALSE(again.paired_canary);
}

TEST(RecordJson, ACanaryWithoutATimeIsRefused) {
  for (const char* time : {"matrix_product_s", "triad_s"}) {
    json written = to_json(ok_record(gpipe, 400));
    written["measured"]["canary"][1][time] = 0;
    try {
      read(written);
      FAIL() << "no complaint";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("/measured/canary/1/") + time));
    }
  }
}

TEST(RecordJson, ATimelineHasABeginAndAnEndForEveryAction) {
  json written = to_json(ok_record(gpipe, 400));
  written["measured"]["timeline"]["ranks"][0]["end_s"].push_back(1.0);
  EXPECT_THROW(read(written), Error);
}

TEST(RecordJson, GpuMemorySurvivesTheRoundTripAndMayBeMissing) {
  Record record = ok_record(gpipe, 400);
  record.predicted->ranks[0].peak_memory.reserved = 22 << 20;
  record.predicted->ranks[0].peak_memory.device_used = 600 << 20;
  json written = to_json(record);
  EXPECT_EQ(read(written).predicted->ranks[0].peak_memory, record.predicted->ranks[0].peak_memory);
  for (const char* half : {"measured", "predicted"}) {
    for (json& rank : written[half]["ranks"]) {
      rank["peak_memory_bytes"].erase("reserved");
      rank["peak_memory_bytes"].erase("device_used");
    }
  }
  EXPECT_EQ(read(written).predicted->ranks[0].peak_memory.device_used, 0);
}

TEST(RecordJson, OlderFilesDoNotKnowThePartsOfAStep) {
  json written = to_json(ok_record(gpipe, 400));
  EXPECT_EQ(written["predicted"]["step_parts_s"]["rank"], read(written).predicted->step_parts->rank.value);
  written["predicted"].erase("step_parts_s");
  EXPECT_FALSE(read(written).predicted->step_parts);
}

TEST(RecordJson, PartsSurviveTheRoundTripAlone) {
  const Record record = sample_files()[0].records[0];
  EXPECT_EQ(to_json(measured_from_json(JsonReader(to_json(*record.measured), "measured"))), to_json(*record.measured));
  EXPECT_EQ(to_json(predicted_from_json(JsonReader(to_json(*record.predicted), "predicted"))),
            to_json(*record.predicted));
  EXPECT_EQ(to_json(equivalence_from_json(JsonReader(to_json(record.equivalence), "equivalence"))),
            to_json(record.equivalence));
}

TEST(RecordJson, SaysOfARoundOfTheCheckHowLongItWasWhereThereAreSuch) {
  Equivalence equivalence;
  EXPECT_EQ(to_json(equivalence)["every"], nullptr);
  equivalence.every = 2;
  json written = to_json(equivalence);
  EXPECT_EQ(written["every"], 2);
  EXPECT_EQ(equivalence_from_json(JsonReader(written, "equivalence")).every, 2);
  written.erase("every");  // files of schema 1.12 and before
  EXPECT_EQ(equivalence_from_json(JsonReader(written, "equivalence")).every, std::nullopt);
}

TEST(RecordJson, SaysWhatTheReferenceTrainedOnIfAnythingWasChecked) {
  const auto again = [](const json& written) { return equivalence_from_json(JsonReader(written, "equivalence")); };
  Equivalence equivalence;
  EXPECT_EQ(to_json(equivalence)["reference_batch"], nullptr);
  EXPECT_EQ(again(to_json(equivalence)).reference_batch, std::nullopt);
  for (const auto& [batch, name] : {std::pair(ReferenceBatch::whole, "whole"), {ReferenceBatch::pieces, "pieces"}}) {
    equivalence.reference_batch = batch;
    EXPECT_EQ(to_json(equivalence)["reference_batch"], name);
    EXPECT_EQ(again(to_json(equivalence)).reference_batch, batch);
  }
  json other = to_json(equivalence);
  other["reference_batch"] = "halves";
  EXPECT_THROW(again(other), Error);
  other.erase("reference_batch");
  EXPECT_EQ(again(other).reference_batch, std::nullopt) << "a file of schema 1.5";
}

TEST(RecordJson, WritesNullWithAReasonForNumbersThatAreNotFinite) {
  const Record record = sample_files()[3].records[0];
  const json written = to_json(record);
  EXPECT_EQ(written["measured"]["losses"][2], nullptr);
  EXPECT_EQ(written["predicted"]["terms"][0]["value"], nullptr);
  EXPECT_EQ(written["reason"], "not finite: /measured/losses/2, /predicted/terms/0/value");
  EXPECT_TRUE(std::isnan(read(written).measured->losses[2]));
}

TEST(RecordJson, RefusesWhatDoesNotFitTheSchemaNamingThePlace) {
  json bad = to_json(ok_record(gpipe, 400));
  bad["measured"]["ranks"][1]["bytes_sent"] = -1;
  try {
    read(bad);
    FAIL() << "no complaint";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/measured/ranks/1/bytes_sent"));
    EXPECT_THAT(error.what(), HasSubstr(">= 0"));
  }
}

/// Nothing that fits the schema may trip the reader with anything but a usage error.
TEST(RecordJson, ReadsOrRefusesEveryMutation) {
  const json good = to_json(sample_files()[0].records[0]);
  int count = 0;
  for (const json& mutated : mutations(good)) {
    try {
      read(mutated);
      ++count;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
    }
  }
  EXPECT_GT(count, 100);
}

TEST(Baseline, IsTheSequentialCaseOnAsManyCores) {
  std::vector<Record> records = {
      ok_record("resnet18/cifar10-synthetic/data-parallel/np:2/batch:32", 300),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32", 125),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:64/threads:2", 999),
      ok_record("resnet18/mnist-synthetic/sequential/np:1/batch:32/threads:2", 999),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2/precision:bf16", 999),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2/optimizer:adam", 999),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2/input:resident", 999),
      skipped_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32/seed:2/threads:2", "no time"),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2", 200),
      ok_record("resnet18/cifar10-synthetic/gpipe/np:4/batch:32", 300),
      skipped_record("resnet18/cifar10-synthetic/gpipe/np:2/batch:32", "no time"),
  };
  fill_baselines(records);
  ASSERT_TRUE(records[0].measured->baseline);
  EXPECT_EQ(records[0].measured->baseline->id, "resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2");
  EXPECT_DOUBLE_EQ(records[0].measured->baseline->speedup, 1.5);
  EXPECT_DOUBLE_EQ(records[0].measured->baseline->efficiency, 1.5);
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].measured) {
      EXPECT_FALSE(records[i].measured->baseline) << records[i].id;
    }
  }
  records.erase(records.begin() + 8);
  fill_baselines(records);
  EXPECT_FALSE(records[0].measured->baseline) << "a baseline that is gone stays on record";
}

/// Whether the first case has the second one, which is sequential, as its baseline.
bool is_measured_by(const std::string& keys, const std::string& keys_of_sequential) {
  std::vector<Record> records = {
      ok_record("resnet18/cifar10-synthetic/data-parallel/np:2/batch:32" + keys, 300),
      ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2" + keys_of_sequential, 200)};
  fill_baselines(records);
  return records[0].measured->baseline.has_value();
}

TEST(Baseline, AgreesInEveryKeyThatSaysWhatIsTrainedAndTimed) {
  const std::map<std::string_view, std::string> others = {
      {"precision", "bf16"}, {"layout", "channels_last"}, {"device", "emulated"}, {"graph", "on"},
      {"loader", "2"},       {"input", "resident"},       {"optimizer", "adam"},  {"lr", "0.02"},
      {"momentum", "0.8"},   {"weight_decay", "0.1"},     {"seed", "2"}};
  const std::set<std::string_view> apart = {"np", "batch", "threads", "comm", "recompute", "memory", "executor", "tp"};
  EXPECT_TRUE(is_measured_by("", ""));
  for (const CaseKey& key : case_keys()) {
    if (key.is_of_strategies() || apart.contains(key.name)) continue;
    ASSERT_TRUE(others.contains(key.name)) << key.name;
    const std::string other = "/" + std::string(key.name) + ":" + others.at(key.name);
    EXPECT_FALSE(is_measured_by(other, "")) << other;
    EXPECT_FALSE(is_measured_by("", other)) << other;
    EXPECT_TRUE(is_measured_by(other, other)) << other;
  }
}

TEST(Baseline, IsOfAnotherWayToComputeOnlyWhereThatIsTheUsualOne) {
  for (const std::string way : {"/recompute:all", "/recompute:auto/memory:8GiB", "/executor:futurized"}) {
    EXPECT_TRUE(is_measured_by(way, "")) << way;
    EXPECT_TRUE(is_measured_by(way, way)) << way;
    EXPECT_FALSE(is_measured_by("", way)) << way << " costs the baseline time that the case does not take";
  }
  EXPECT_FALSE(is_measured_by("/recompute:all", "/recompute:except-last"));
  // Keys of strategies are what is judged.
  for (const std::string key : {"/bucket:1MiB", "/sync_bn:on", "/reduce:ring"}) EXPECT_TRUE(is_measured_by(key, ""));
}

}  // namespace
}  // namespace parabench::results
