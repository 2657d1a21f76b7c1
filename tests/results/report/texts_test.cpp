// The texts of a report: what input holds stays text, and the same input gives the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "results/report/csv.h"
#include "results/report/embedded.h"
#include "results/report/escape.h"
#include "results/report/figures_json.h"
#include "results/report/latex_table.h"
#include "results/report/numbers.h"
#include "results/report/page.h"
#include "results/report/write.h"
#include "tests/results/report/reports.h"

namespace parabench::results {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string gpipe = "resnet18/cifar10-synthetic/gpipe/np:2/batch:32";
const std::string hostile =
    "</script><img src=x onerror=\"alert('1')\"><!-- \u2028 {{data}} \\input{x} $%&#_^~\nsecond, line";

/// Hostile text in every place that reaches a report.
Report hostile_report() {
  Record named = ok_record(gpipe, 100), failed = ok_record(gpipe, 100);
  named.id = named.reproduce = hostile;
  failed.status = Status::failed;
  failed.reason = hostile;
  named.predicted->timeline = StepTimeline{0, 0, {{{hostile, 0, 1}}}};
  ReportFile file = file_of({named, failed}, hostile);
  Context& context = file.results.context;
  context.hosts[0].name = context.hosts[0].cpu = context.mpi = context.gpus[0].name = hostile;
  context.argv = {hostile};
  context.environment = {{hostile, hostile}};
  context.notes = {hostile};
  std::vector<ReportFile> files;
  files.push_back(file);
  files.push_back(file_of({ok_record(gpipe, 100)}, "b"));
  return make_report(std::move(files));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(Escape, HtmlTextHoldsNoMarkupAndNoControlCharacters) {
  EXPECT_EQ(html_text("<a href=\"x\">&'\n"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39; ");
  EXPECT_EQ(html_text(std::string("\x01\xff", 2)), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Escape, ScriptJsonIsTheSameValueWithoutMarkup) {
  const json value = {{"text", hostile}};
  const std::string text = script_json(value);
  EXPECT_EQ(json::parse(text), value);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  for (const char c : text) EXPECT_TRUE(' ' <= c && c <= '~');
}

TEST(Escape, LatexTextNamesSpecialCharacters) {
  EXPECT_EQ(latex_text("a_b%$#&{}"), "a\\_b\\%\\$\\#\\&\\{\\}");
  EXPECT_EQ(latex_text("\\input"), "\\textbackslash{}input");
  EXPECT_EQ(latex_text("^~"), "\\textasciicircum{}\\textasciitilde{}");
  EXPECT_EQ(latex_text("\u00e4\n"), "? ");
  EXPECT_EQ(latex_comment("a\nb\r\\end"), "a b?\\end");
}

TEST(Escape, MarkdownCodeEndsNeitherItselfNorItsCell) {
  EXPECT_EQ(markdown_code("a[b=1]/*c*"), "`a[b=1]/*c*`");
  EXPECT_EQ(markdown_code("a|b`c\n\u00e4"), "`a?b?c ?`");
}

TEST(Escape, CsvQuotesAndKeepsFormulasFromSpreadsheets) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
  for (const std::string begin : {"=", "+", "-", "@", "\t"}) EXPECT_EQ(csv_text(begin + "1"), "'" + begin + "1");
  for (const std::string begin : {"\r", "\n"}) EXPECT_EQ(csv_text(begin + "=1"), "\"'" + begin + "=1\"");
}

TEST(Page, HoldsNoMarkupOfItsInput) {
  const std::string page = report_page(hostile_report());
  EXPECT_EQ(count(page, "<script"), 2u) << "the data and our own script";
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<img")), Not(HasSubstr("<!--")), HasSubstr("&lt;img src=x onerror=&quot;")));
  EXPECT_EQ(count(page, "{{data}}"), count(report_page(hostile_report()), "{{data}}"));
  const json data = json::parse(between(page, "id=\"data\">", "</script>"));
  EXPECT_EQ(data["rows"][0]["id"], hostile) << "placeholders in data are text, too";
}

TEST(Page, LoadsNothingAndLetsNoOtherScriptRun) {
  const std::string page = report_page(report_of({ok_record(gpipe, 100)}));
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'; script-src 'sha256-"), Not(HasSubstr("unsafe"))));
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"(?!#)"))) << "links within the page alone";
  EXPECT_EQ(count(page, "http://") + count(page, "https://"), 1u) << "the name space of SVG";
  EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
}

TEST(Page, TellsWithoutJavaScriptWhatCountsAndWhyNot) {
  const std::string page = report_page(
      report_of({ok_record(gpipe, 100), skipped_record("a/b/c/np:64/batch:64", "more stages than segments")}));
  EXPECT_THAT(page, AllOf(HasSubstr("<noscript>"), HasSubstr("resnet18/<wbr>cifar10-synthetic/<wbr>gpipe"),
                          HasSubstr("skipped: more stages than segments"), HasSubstr("node0: A CPU, 2 cores"),
                          HasSubstr("<li>a (2025-01-02): 2 records, on node0 (A CPU, 2 cores), A GPU</li>")));
}

TEST(Page, TellsFirstWhatThereIsToKnowOfTheNumbers) {
  ReportFile file = file_of({ok_record(gpipe, 100)});
  file.results.context.notes = {"this host was busy"};
  std::vector<ReportFile> files;
  files.push_back(file);
  EXPECT_THAT(report_page(make_report(std::move(files))), HasSubstr("<p class=\"note\">a: this host was busy</p>"));
}

TEST(Page, SaysWherePredictionsComeFrom) {
  const auto page_of = [](std::optional<CalibrationOrigin> calibration, const std::string& source) {
    ReportFile file = file_of({ok_record(gpipe, 100)});
    file.results.calibration = std::move(calibration);
    for (Term& term : file.results.records[0].predicted->terms) term.cost_source = source;
    std::vector<ReportFile> files;
    files.push_back(std::move(file));
    return report_page(make_report(std::move(files)));
  };
  const CalibrationOrigin one{"machine.json", "2026-01-01T00:00:00Z", "00ff"};
  EXPECT_THAT(page_of(one, "calibrated"), HasSubstr("machine.json, of 2026-01-01T00:00:00Z, machine 00ff"));
  EXPECT_THAT(page_of({}, "data-sheet"), HasSubstr("none: predicted from a data sheet"));
  EXPECT_THAT(page_of({}, "unit"), HasSubstr("none: predicted from given costs"));
  EXPECT_THAT(page_of({}, "calibrated"), AllOf(HasSubstr("several, not the same one"), Not(HasSubstr("data sheet"))))
      << "a sweep whose cases were predicted from different files";
}

TEST(Page, KeepsThreeDigitsOfSlowCases) {
  const std::string page = report_page(report_of({ok_record(gpipe, 0.0123)}));
  EXPECT_THAT(page, AllOf(HasSubstr("<td data-v=\"0.0123\">0.0123</td>"), HasSubstr("<td data-v=\"2\">2</td>")))
      << "samples per second, and how many launches they come from";
}

TEST(FiguresJson, AnIntervalWithoutWidthIsNone) {
  Record record = ok_record(gpipe, 100);
  EXPECT_EQ(figures_json(report_of({record}))["rows"][0]["predicted_interval_s"].size(), 2u);
  record.predicted->interval_s = {0.1, 0.1};
  EXPECT_EQ(figures_json(report_of({record}))["rows"][0]["predicted_interval_s"], nullptr);
  EXPECT_THAT(report_numbers(report_of({record})), Not(HasSubstr("PredictedLowMs")));
}

TEST(FiguresJson, HoldsNumbersOfRowsThatCountAlone) {
  Record bad = ok_record(gpipe, 100);
  bad.equivalence.status = EquivalenceStatus::fail;
  const json figures = figures_json(report_of({ok_record(gpipe, 100), bad}));
  EXPECT_TRUE(figures["rows"][0]["counts"]);
  EXPECT_NEAR(figures["rows"][0]["measured_s"].get<double>(), 0.32, 1e-6);
  EXPECT_FALSE(figures["rows"][1]["counts"]);
  EXPECT_FALSE(figures["rows"][1].contains("measured_s"));
  EXPECT_EQ(figures["summary"]["counting"], 1);
}

TEST(FiguresJson, ShowsSomeOfManyRanksTheFirstAndTheLastIncluded) {
  const Record record = ok_record("resnet18/cifar10-synthetic/data-parallel/np:40/batch:80", 100);
  const json breakdown = figures_json(report_of({record}))["rows"][0]["breakdown"];
  EXPECT_EQ(breakdown["of"], 40);
  EXPECT_EQ(breakdown["ranks"].size(), most_ranks);
  EXPECT_EQ(breakdown["ranks"].front(), 0);
  EXPECT_EQ(breakdown["ranks"].back(), 39);
  EXPECT_EQ(breakdown["measured"].size(), most_ranks);
}

TEST(FiguresJson, ShowsFewerRanksInAReportOfManyRecords) {
  const std::vector<Record> records(1000, ok_record("resnet18/cifar10-synthetic/data-parallel/np:40/batch:80", 100));
  EXPECT_EQ(figures_json(report_of(records))["rows"][999]["breakdown"]["ranks"].size(), 8u);
}

TEST(FiguresJson, KeepsTimelinesAsLongAsTheyFit) {
  Record first = ok_record(gpipe, 100), second = ok_record(gpipe + "/micro:8", 100);
  StepTimeline huge{0, 0, {{}}};
  for (std::size_t i = 0; i < most_timeline_bytes / 4; ++i) huge.ranks[0].push_back({"0F0", 0, 1});
  first.measured->timeline = huge;
  second.predicted->timeline = StepTimeline{0, 0, {{{"0F0", 0.001, 0.0025}}}};
  second.measured->timeline = StepTimeline{0, 0, {{{"0F0", 2, 1}}}};
  const json rows = figures_json(report_of({first, second}))["rows"];
  EXPECT_EQ(rows[0]["timeline_left_out"], true);
  EXPECT_EQ(rows[1]["timeline"]["predicted"]["ranks_us"], json::parse(R"([["0F0", 1000, 2500]])"));
  EXPECT_EQ(rows[1]["timeline"]["measured"], nullptr) << "it would end before it begins";
}

/// Names and values of \newcommand in a text.
std::vector<std::pair<std::string, std::string>> macros(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::regex macro(R"(\\newcommand\{\\([^}]*)\}\{([^}]*)\})");
  for (std::sregex_iterator it(text.begin(), text.end(), macro), end; it != end; ++it)
    out.emplace_back((*it)[1], (*it)[2]);
  return out;
}

TEST(Numbers, NamesAreLettersOfTheId) {
  EXPECT_EQ(macro_word("resnet18[channels=16]/np:2"), "ResnetOneEightChannelsOneSixNpTwo");
  EXPECT_EQ(macro_word("\u00e4-\\x y"), "XY");
}

TEST(Numbers, NamesAreUniqueAndLettersOnly) {
  std::vector<Record> records;
  for (const std::string id : {"a-b", "a_b", "a/b", "aB", "ab", "a:b-predicted", "summary", "\u00e4", ""}) {
    records.push_back(ok_record(gpipe, 100));
    records.back().id = id;
  }
  std::vector<ReportFile> files;
  files.push_back(file_of(records, "x"));
  files.push_back(file_of(records, "y"));
  files.push_back(file_of(records, "x?"));
  std::set<std::string> seen;
  for (const auto& [name, value] : macros(report_numbers(make_report(std::move(files))))) {
    EXPECT_TRUE(std::regex_match(name, std::regex("pb[A-Za-z]+"))) << name;
    EXPECT_TRUE(std::regex_match(value, std::regex("-?[0-9]+(\\.[0-9]+)?"))) << value;
    EXPECT_TRUE(seen.insert(name).second) << name << " twice";
  }
  EXPECT_GT(seen.size(), 27u * 9);
}

TEST(Numbers, AreThoseOfTheRecordAndNoneOfOneThatDoesNotCount) {
  Record record = ok_record(gpipe, 100);
  record.measured->step_time_s.median = 0.0571234;
  record.predicted->step_time_s = 0.0510;
  const std::string text = report_numbers(report_of({record, skipped_record(gpipe + "/micro:8", "no GPU")}));
  const std::string name = "\\newcommand{\\pbResnetOneEightCifarOneZeroSyntheticGpipeNpTwoBatchThreeTwo";
  EXPECT_THAT(text, AllOf(HasSubstr(name + "MeasuredMs}{57.1}"), HasSubstr(name + "TimeErrorPercent}{-10.7}"),
                          HasSubstr("% " + gpipe + "/micro:8: does not count\n"), Not(HasSubstr("MicroEight"))));
}

TEST(Numbers, CommentsOfInputStayOnTheirLine) {
  for (const std::string& line : {report_numbers(hostile_report()), report_latex_table(hostile_report())}) {
    EXPECT_THAT(line, Not(HasSubstr("\nsecond")));
  }
}

TEST(LatexTable, HoldsRowsThatCountWithTextEscaped) {
  const std::string table = report_latex_table(hostile_report());
  EXPECT_THAT(table, AllOf(HasSubstr("% 2 of 3 records"), HasSubstr("\\begin{tabular}"), HasSubstr("\\bottomrule"),
                           Not(HasSubstr("\\input")), Not(HasSubstr("\\end{longtable}"))));
}

TEST(Texts, TellTheLossOfWhatIsNotSequentialTraining) {
  Record other = ok_record("m/d/local-sgd/np:2/batch:32", 100);
  other.equivalence.reference = "local-update";
  other.measured->losses = {2.5, 2.375};
  for (RankMeasured& rank : other.measured->ranks) rank.steps.reset();
  const Report report = report_of({other});
  EXPECT_THAT(report_page(report), HasSubstr("<br><small>loss 2.375 after 2 steps of 32 samples</small>"));
  EXPECT_THAT(report_latex_table(report), HasSubstr("local-{}update: loss 2.375 after 2 steps of 32 samples} \\\\"));
}

TEST(Texts, MarkAnErrorThatIsWithinTheNoise) {
  Record record = ok_record(gpipe, 100);  // whose error is 5 %
  record.error->noise_floor = NoiseFloor{0.06, false};
  EXPECT_THAT(report_page(report_of({record})), HasSubstr("<td data-v=\"0.06\">~6.0 %, within</td>"));
  EXPECT_THAT(
      report_latex_table(report_of({record})),
      AllOf(HasSubstr("& $\\sim 6.0^{\\ast}$ &"), HasSubstr("$^{\\ast}$ the error is within the noise} \\\\\n")));
  record.error->noise_floor = NoiseFloor{0.04, true};
  EXPECT_THAT(report_page(report_of({record})), HasSubstr("<td data-v=\"0.04\">4.0 %</td>"));
  EXPECT_THAT(report_latex_table(report_of({record})), AllOf(HasSubstr("& $4.0$ &"), Not(HasSubstr("ast"))));
}

TEST(Page, ErrorsByStrategyHaveNoiseAndPairedErrorsBesideThemWhereThereAreSome) {
  Record first = ok_record(gpipe, 100), second = ok_record(gpipe + "/micro:8", 100);  // whose errors are 5 %
  first.error->noise_floor = NoiseFloor{0.08, true};
  second.error->noise_floor = NoiseFloor{0.06, false};
  const auto by_strategy = [](const std::string& page) {
    return between(page, "<table id=\"by-strategy\"", "</table>");
  };
  const std::string page = report_page(report_of({first, second}));
  EXPECT_THAT(by_strategy(page),
              AllOf(HasSubstr("<th scope=\"col\">Step time</th><th scope=\"col\">Noise</th>"),
                    HasSubstr("<td data-v=\"0.07\">~7.0 %, within</td><td data-v=\"0.05\">5.0 %</td>")))
      << "the mean of both, of which one is the calibration's";
  EXPECT_THAT(page, HasSubstr("of step time, 2 checked records; noise ~7.0 %, within; paired 5.0 %</li>"));
  first.error->noise_floor = std::nullopt;
  first.error->paired_step_time_relative = std::nullopt;
  const std::string without = report_page(report_of({first}));
  EXPECT_THAT(by_strategy(without), AllOf(Not(HasSubstr("Noise")), Not(HasSubstr("Paired"))));
  EXPECT_THAT(without, HasSubstr("of step time, 1 checked record</li>"));
}

TEST(LatexTable, OfManyRowsMayBreakOverPages) {
  const std::string table = report_latex_table(report_of(std::vector<Record>(60, ok_record(gpipe, 100))));
  EXPECT_THAT(table, AllOf(HasSubstr("\\begin{longtable}"), HasSubstr("\\endhead"), HasSubstr("\\end{longtable}")));
}

/// Lines of cells, of CSV without line breaks in cells.
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(Csv, HasOneLinePerRecordAlsoOfThoseThatDoNotCount) {
  const std::vector<std::string> rows =
      lines(report_csv(report_of({ok_record(gpipe, 100), skipped_record(gpipe, "no GPU")})));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0], testing::StartsWith("file,id,model,dataset,strategy,np,batch,micro,"));
  EXPECT_THAT(rows[1], AllOf(HasSubstr(",ok,,pass,sequential,,true,,"), HasSubstr(",0.32,")));
  EXPECT_THAT(rows[2], HasSubstr(",skipped,no GPU,not_checked,sequential,,false,skipped: no GPU,"));
  const std::regex quoted("\"[^\"]*\"");
  for (const std::string& row : rows) EXPECT_EQ(count(std::regex_replace(row, quoted, ""), ","), count(rows[0], ","));
}

TEST(Report, IsTheSameBytesForTheSameInput) {
  const auto once = report_texts(hostile_report()), again = report_texts(hostile_report());
  EXPECT_EQ(once, again);
}

TEST(Report, OfAThousandRecordsFitsIntoThreeMegabytes) {
  // Many ranks, long ids, all kinds of references, and more timelines than fit.
  const std::string work = "resnet18/imagenet-synthetic[pixels=32,classes=10]/";
  std::vector<Record> records = {ok_record(work + "sequential/np:1/batch:64", 100.0 / 3),
                                 ok_record(work + "sequential/np:1/batch:2", 100.0 / 7),
                                 ok_record(work + "sequential/np:1/batch:64/threads:32", 1000.0 / 3)};
  while (records.size() < 1000) {
    const std::string number = std::to_string(records.size());
    records.push_back(ok_record(work + "interleaved/np:32/batch:64/micro:8/chunks:4/bucket:" + number + "MiB",
                                100.0 / 3 + static_cast<double>(records.size())));
    records.back().predicted->timeline = records.back().measured->timeline =
        StepTimeline{0, 0, std::vector(32, std::vector(64, TimedAction{"127F127", 0.123456, 0.234567}))};
  }
  const Report report = report_of(records);
  EXPECT_EQ(report.rows.back().scalings.size(), 3u);
  EXPECT_LT(report_page(report).size(), 3'000'000u);
}

class WriteReport : public testing::Test {
 protected:
  ~WriteReport() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("write_report-" + std::to_string(getpid()));
};

TEST_F(WriteReport, ReplacesItsFilesAndLeavesOthersAlone) {
  std::filesystem::create_directories(folder_ / "deep");
  std::ofstream(folder_ / "deep" / "mine.txt") << "mine";
  std::ofstream(folder_ / "deep" / "table.tex") << "old";
  write_report(folder_ / "deep", report_of({ok_record(gpipe, 100)}));
  EXPECT_EQ(read_text(folder_ / "deep" / "mine.txt"), "mine");
  EXPECT_THAT(read_text(folder_ / "deep" / "table.tex"), HasSubstr("\\toprule"));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "deep")) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"mine.txt", "report.html", "results.csv", "table.tex", "numbers.tex",
                                          "figures.json"}));
}

TEST_F(WriteReport, RefusesAFolderThatCannotBeMade) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "";
  for (const auto& path : {folder_ / "file", folder_ / "file" / "below"}) {
    try {
      write_report(path, report_of({ok_record(gpipe, 100)}));
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
    }
  }
}

}  // namespace
}  // namespace parabench::results
