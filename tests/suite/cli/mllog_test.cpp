#include "suite/cli/mllog.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/case_id.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

const std::string net = "resnet18/imagenet-synthetic[pixels=32,classes=10]/";

results::Record record_of(const std::string& id) {
  results::Record record;
  record.id = id;
  record.parameters = parse_case(id);
  record.equivalence.status = results::EquivalenceStatus::pass;
  results::Measured& measured = record.measured.emplace();
  measured.step_time_s.samples = {{0.5, 0.25}, {0.5, 0.75}};
  results::summarise(measured.step_time_s);
  measured.warmup_steps = 3;
  return record;
}

results::ResultsFile file_of(std::vector<results::Record> records) {
  results::ResultsFile file;
  file.context.date = "2026-01-02T03:04:05Z";
  file.records = std::move(records);
  return file;
}

std::vector<json> lines_of(const results::ResultsFile& file) {
  std::istringstream text(results_mllog(file, "out.json"));
  std::vector<json> lines;
  const std::string prefix = ":::MLLOG ";
  for (std::string line; std::getline(text, line);) {
    EXPECT_TRUE(line.starts_with(prefix)) << line;
    lines.push_back(json::parse(line.substr(prefix.size())));
  }
  return lines;
}

std::map<std::string, json> values_of(const std::string& id, const std::vector<int>& replicas = {}) {
  results::Record record = record_of(id);
  record.plan = {"hash", std::vector<int>(replicas.size(), 3), replicas};
  std::map<std::string, json> values;
  for (const json& line : lines_of(file_of({record}))) {
    EXPECT_TRUE(values.emplace(line["key"], line["value"]).second) << "a key comes once: " << line;
  }
  return values;
}

TEST(Mllog, LinesHaveTheFieldsThatItsReadersWant) {
  const auto lines = lines_of(file_of({record_of(net + "gpipe/np:2/batch:32")}));
  const std::int64_t date = 1767323045000;  // date -u -d 2026-01-02T03:04:05Z +%s
  for (const json& line : lines) {
    EXPECT_EQ(line.size(), 6u) << line;
    EXPECT_EQ(line["namespace"], "");
    EXPECT_GE(line["time_ms"], date);
    EXPECT_EQ(line["metadata"]["file"], "out.json");
    EXPECT_EQ(line["metadata"]["lineno"], 0);
    const std::string key = line["key"], type = line["event_type"];
    EXPECT_EQ(type, key == "run_start" ? "INTERVAL_START" : key == "run_stop" ? "INTERVAL_END" : "POINT_IN_TIME");
  }
  EXPECT_EQ(lines.front()["time_ms"], date);
  EXPECT_EQ(lines.back()["key"], "run_stop");
  EXPECT_EQ(lines.back()["time_ms"], date + 2000);
  EXPECT_EQ(lines.back()["metadata"]["status"], "success");
}

TEST(Mllog, TellsHowTheBatchIsCut) {
  auto values = values_of(net + "gpipe/np:4/batch:64/micro:8/dp:2/lr:0.1/seed:7", {2, 2});
  EXPECT_EQ(values["global_batch_size"], 64);
  EXPECT_EQ(values["gradient_accumulation_steps"], 8);
  EXPECT_EQ(values["micro_batch_size"], 4);
  EXPECT_EQ(values["pipeline_parallelism"], 2);
  EXPECT_EQ(values["data_parallelism"], 2);
  EXPECT_EQ(values["seed"], 7);
  EXPECT_EQ(values["opt_name"], "sgd");
  EXPECT_EQ(values["opt_base_learning_rate"], 0.1);
  EXPECT_EQ(values["train_samples"], 4 * 64);
  EXPECT_EQ(values["num_warmup_steps"], 3);
  EXPECT_EQ(values["submission_benchmark"], "resnet18");
  EXPECT_EQ(values["step_time_median_s"], 0.5);

  values = values_of(net + "data-parallel/np:4/batch:64", {4});
  EXPECT_EQ(values["gradient_accumulation_steps"], 1) << "the key micro is not its own";
  EXPECT_EQ(values["data_parallelism"], 4);
  EXPECT_EQ(values["pipeline_parallelism"], 1);
  EXPECT_EQ(values["micro_batch_size"], 16);

  values = values_of(net + "pipedream[replicas=3-1]/np:4/batch:64", {3, 1});
  EXPECT_EQ(values["pipeline_parallelism"], 2);
  EXPECT_EQ(values.count("data_parallelism"), 0u);
  values = values_of(net + "sequential/np:1/batch:64", {1});
  EXPECT_EQ(values["pipeline_parallelism"], 1);
  EXPECT_EQ(values["data_parallelism"], 1);
}

TEST(Mllog, HoldsRowsThatCount) {
  results::Record wrong = record_of(net + "gpipe/np:2/batch:32"), never = wrong;
  wrong.equivalence.status = results::EquivalenceStatus::fail;
  never.status = results::Status::skipped;
  never.measured.reset();
  EXPECT_EQ(results_mllog(file_of({wrong, never}), "out.json"), "");
}

}  // namespace
}  // namespace parabench::suite
