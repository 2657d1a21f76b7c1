#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/case_key.h"
#include "results/export_openmetrics.h"
#include "results/main_numbers.h"
#include "results/report/csv.h"
#include "results/report/report.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string net = "resnet18/imagenet-synthetic[pixels=32,classes=10]/";

/// One row that counts, one that is not equivalent, one that never ran.
ResultsFile results() {
  ResultsFile file = sample_files().front();
  Record wrong = ok_record(net + "1f1b/np:2/batch:32", 300);
  wrong.equivalence.status = EquivalenceStatus::fail;
  file.records = {ok_record(net + "gpipe/np:2/batch:32", 400), wrong,
                  skipped_record(net + "gpipe/np:64/batch:64", "it said \"no\",\nand stopped")};
  return file;
}

/// RFC 4180.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cell += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || c == '\n')) {
      rows.back().push_back(std::exchange(cell, ""));
      if (c == '\n') rows.emplace_back();
    } else {
      cell += c;
    }
  }
  rows.pop_back();
  return rows;
}

std::string results_csv(const ResultsFile& file) { return report_csv(make_report({{"results", file}})); }

TEST(Csv, HasOneTidyRowPerRecord) {
  const ResultsFile file = results();
  const auto rows = read_csv(results_csv(file));
  ASSERT_EQ(rows.size(), 4u);
  const std::set<std::string> unique(rows[0].begin(), rows[0].end());
  EXPECT_EQ(unique.size(), rows[0].size()) << "no heading comes twice";
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto cell = [&rows](std::size_t row, const std::string& heading) {
    const auto found = std::ranges::find(rows[0], heading);
    return found == rows[0].end() ? "no such heading" : rows[row][static_cast<std::size_t>(found - rows[0].begin())];
  };
  EXPECT_EQ(cell(1, "id"), file.records[0].id);
  EXPECT_EQ(cell(1, "strategy"), "gpipe");
  EXPECT_EQ(cell(1, "np"), "2");
  EXPECT_EQ(cell(1, "bucket"), "26214400") << "in bytes";
  EXPECT_EQ(cell(1, "counts"), "true");
  EXPECT_EQ(std::stod(cell(1, "step_time_median_s")), file.records[0].measured->step_time_s.median);
  EXPECT_EQ(std::stod(cell(1, "throughput_samples_per_s")), 400);
  EXPECT_EQ(cell(1, "launches"), "2");
  EXPECT_EQ(cell(1, "sent_bytes"), "2097152");
  EXPECT_EQ(cell(1, "speedup_relative"), "") << "there is no sequential row";
  EXPECT_NEAR(std::stod(cell(1, "step_time_error_relative")), 0.05, 0.03);
  EXPECT_EQ(cell(2, "counts"), "false");
  EXPECT_EQ(cell(3, "reason"), "it said \"no\",\nand stopped");
  EXPECT_EQ(cell(3, "step_time_median_s"), "");
  EXPECT_EQ(cell(3, "git"), file.program.git);
}

TEST(Csv, IsEmptyWhereANumberIsNotFinite) {
  ResultsFile file = results();
  file.records[0].measured->step_time_s.median = std::numeric_limits<double>::quiet_NaN();
  file.records[0].predicted->step_time_s = std::numeric_limits<double>::infinity();
  EXPECT_THAT(results_csv(file), Not(testing::ContainsRegex("[,](nan|inf)[,]")));
}

TEST(MainNumbers, EveryOneIsFoundInAFullRecord) {
  Record record = results().records[0];
  record.measured->baseline = Baseline{"a", 1.5, 0.75};
  record.predicted->ranks[1].peak_memory.resident = 330 << 20;
  for (const MainNumber& number : main_numbers()) EXPECT_TRUE(number.of(record)) << number.name;
  for (const MainNumber& number : main_numbers())
    EXPECT_FALSE(number.of(skipped_record(record.id, "no GPU"))) << number.name;
  record.measured->ranks[0].breakdown_s.reset();
  for (const MainNumber& number : main_numbers()) EXPECT_TRUE(number.of(record)) << number.name;
}

/// A number of a record by its name.
std::optional<double> number_of(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(main_numbers(), name, &MainNumber::name);
  EXPECT_NE(found, main_numbers().end()) << name;
  return found->of(record);
}

TEST(MainNumbers, ResidentMemoryIsPredictedBesideTheMeasuredWhereItIsKnown) {
  Record record = results().records[0];
  EXPECT_EQ(number_of(record, "peak_resident"), 300 << 20);
  EXPECT_FALSE(number_of(record, "predicted_peak_resident")) << "no calibration knew it";
  EXPECT_FALSE(number_of(record, "peak_resident_error"));
  record.predicted->ranks[0].peak_memory.resident = 225 << 20;
  record.predicted->ranks[1].peak_memory.resident = 375 << 20;
  EXPECT_EQ(number_of(record, "predicted_peak_resident"), 375 << 20) << "of the rank that needs most";
  EXPECT_EQ(number_of(record, "peak_resident_error"), 0.25);
  for (RankMeasured& rank : record.measured->ranks) rank.peak_memory.resident = 0;
  EXPECT_FALSE(number_of(record, "peak_resident_error")) << "it was not measured";
}

TEST(OpenMetrics, KeepsToItsGrammar) {
  std::istringstream lines(results_openmetrics(results()));
  const std::regex metadata("# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) .+");
  const std::regex sample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)\{([a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*)\} -?[0-9][0-9.e+-]*)re");
  std::set<std::string> families, series;
  std::string family, last;
  for (std::string line; std::getline(lines, line); last = line) {
    EXPECT_NE(last, "# EOF") << "nothing stands below it";
    std::smatch match;
    if (line == "# EOF") continue;
    if (std::regex_match(line, match, metadata)) {
      if (match[1] == "TYPE") {
        family = match[2];
        EXPECT_TRUE(families.insert(family).second) << "the lines of a family stand together: " << line;
      }
      EXPECT_EQ(match[2], family) << line;
      if (match[1] == "UNIT") {
        EXPECT_TRUE(family.ends_with("_" + line.substr(line.rfind(' ') + 1))) << line;
      }
      continue;
    }
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    EXPECT_EQ(match[1], family == "parabench_run" ? "parabench_run_info" : family) << line;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << "a series comes once: " << line;
  }
  EXPECT_EQ(last, "# EOF");
  EXPECT_GT(families.size(), 30u);
}

TEST(OpenMetrics, TellsNumbersOfRowsThatCount) {
  ResultsFile file = results();
  file.records.push_back(file.records[0]);
  file.program.git = "a \"quoted\\ name\"\nwith lines";
  const std::string text = results_openmetrics(file);
  const std::string labels = "id=\"" + net + "gpipe/np:2/batch:32\",model=\"resnet18\"";
  EXPECT_THAT(text, HasSubstr("parabench_throughput_samples_per_second{" + labels));
  EXPECT_THAT(text, HasSubstr("strategy=\"gpipe\",np=\"2\",batch=\"32\"} 400\n"));
  EXPECT_THAT(text, Not(HasSubstr("} 300\n"))) << "not equivalent";
  EXPECT_THAT(text, HasSubstr("status=\"ok\",equivalence=\"fail\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(R"(git="a \"quoted\\ name\"\nwith lines")"));
}

}  // namespace
}  // namespace parabench::results
