#include "results/compare_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

const std::string net = "resnet18/imagenet-synthetic[pixels=32,classes=10]/";

Record record_of(const std::string& id, const std::vector<double>& medians) {
  Record record = ok_record(net + id, 100);
  record.measured->step_time_s.samples.clear();
  for (const double s : medians) record.measured->step_time_s.samples.push_back({s, s});
  return record;
}

struct Compared {
  CompareRules rules = {.allowed = {WorkAspect::version}};
  FilesComparison comparison;
  ComparedFile a{"before.json", "2026-01-02T03:04:05Z", "0123456789abcdef"};
  ComparedFile b{"after.json", "2026-02-03T04:05:06Z", "fedcba9876543210"};
};

/// Every verdict, every kind of line.
Compared compared() {
  ResultsFile before = sample_files().front(), after = before;
  after.program.git = "fedcba9876543210";
  after.program.version = "0.2.0";
  before.records = {record_of("sequential/np:1/batch:32", {0.1, 0.101, 0.102, 0.1005}),
                    record_of("gpipe/np:2/batch:32", {0.08, 0.0805, 0.081, 0.0808}),
                    record_of("1f1b/np:2/batch:32", {0.07, 0.0701, 0.071, 0.0708}),
                    record_of("dapple/np:2/batch:32", {0.07, 0.0702, 0.071, 0.0709}),
                    record_of("data-parallel/np:2/batch:32", {0.06, 0.061})};
  after.records = {record_of("sequential/np:1/batch:32", {0.1002, 0.1012, 0.1021, 0.1003}),
                   record_of("gpipe/np:2/batch:32", {0.1, 0.1005, 0.101, 0.1008}),
                   record_of("1f1b/np:2/batch:32", {0.05, 0.0501, 0.051, 0.0508}),
                   record_of("dapple/np:2/batch:32", {0.0738, 0.0742, 0.074, 0.0745}),
                   record_of("data-parallel/np:2/batch:32", {0.06, 0.061}),
                   skipped_record(net + "zero1/np:2/batch:32", "no memory")};
  Compared out;
  out.comparison = compare_files(before, after, out.rules);
  return out;
}

TEST(CompareText, TableLooksAsTheGoldenFile) {
  const Compared c = compared();
  const std::string path = std::string(GOLDEN_DIR) + "/compare.txt";
  const std::string table = comparison_table(c.comparison, c.rules, c.a, c.b);
  if (std::getenv("PARABENCH_UPDATE_GOLDEN")) write_atomically(path, table);
  EXPECT_EQ(table, read_text(path)) << "PARABENCH_UPDATE_GOLDEN=1 rewrites it";
}

TEST(CompareText, JsonHoldsTheSame) {
  const Compared c = compared();
  const nlohmann::json document = comparison_json(c.comparison, c.rules, c.a, c.b);
  EXPECT_EQ(document["a"]["file"], "before.json");
  EXPECT_EQ(document["verdicts"], (nlohmann::json{{"SAME", 1}, {"FASTER", 1}, {"SLOWER", 1}, {"UNCLEAR", 2}}));
  EXPECT_EQ(document["different_work"][0]["name"], "version");
  EXPECT_EQ(document["different_context"][0]["name"], "commit");
  EXPECT_EQ(document["left_out"][0]["reason"], "only in B");
  EXPECT_EQ(document["noise"][0]["a"]["cases"], 4);
  const nlohmann::json& slower = document["cases"][1];
  EXPECT_EQ(slower["verdict"], "SLOWER");
  EXPECT_EQ(slower["reason"], nullptr);
  EXPECT_LT(slower["ratio_interval"][0], slower["ratio"]);
  EXPECT_GT(slower["ratio_interval"][1], slower["ratio"]);
  const nlohmann::json& few = document["cases"][4];
  EXPECT_EQ(few["verdict"], "UNCLEAR");
  EXPECT_EQ(few["ratio_interval"], nullptr);
  EXPECT_EQ(few["p"], nullptr);
  EXPECT_EQ(few["launches_to_settle"], nullptr);
}

}  // namespace
}  // namespace parabench::results
