// Command report; the figures that it draws are tested in tests/plots.
#include <fstream>

#include "base/file.h"
#include "results/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReportTest : public FrontTest {
 protected:
  /// Results of a run with the stand-in for ranks.
  std::string results_file() {
    EXPECT_EQ(run({"run", gpipe, sequential, "--json", "results.json"}).code, 0);
    return path("results.json").string();
  }
  /// From now on importing it raises `error`.
  void break_matplotlib(const std::string& error) {
    std::filesystem::create_directories(path("fake/matplotlib"));
    std::ofstream(path("fake/matplotlib/__init__.py")) << "raise " << error << "\n";
    set("PYTHONPATH", path("fake").string());
  }
};

TEST_F(ReportTest, WritesPageTablesAndNumbersOfWhatWasRun) {
  const std::string file = results_file();
  const Outcome outcome = run({"report", file, "--out", "a/b", "--figures", "off"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("a/b/report.html: 2 records, 2 of them count"), HasSubstr("results.csv")));
  EXPECT_THAT(read_text(path("a/b/report.html")), HasSubstr("gpipe/<wbr>np:2/<wbr>batch:8"));
  EXPECT_THAT(read_text(path("a/b/results.csv")), HasSubstr(gpipe));
  EXPECT_FALSE(std::filesystem::exists(path("a/b/parity.svg")));
}

TEST_F(ReportTest, SaysWhyARowIsComparedWithNothingOnThePageAndOnStandardError) {
  const std::string adam = gpipe + "/optimizer:adam";
  ASSERT_EQ(run({"run", adam, sequential, "--json", "results.json"}).code, 0);
  const Outcome outcome = run({"report", "results.json", "--out", "folder", "--figures", "off"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string why =
      "results: no speed-up of 1 row (" + adam + "): the nearest sequential case in the same file differs in optimizer";
  EXPECT_THAT(outcome.err, HasSubstr("note: " + why + "\n"));
  EXPECT_THAT(read_text(path("folder/report.html")), HasSubstr("<p class=\"note\">" + why + "</p>"));
  EXPECT_THAT(run({"report", results_file(), "--out", "folder", "--figures", "off"}).err,
              Not(HasSubstr("no speed-up")));
}

TEST_F(ReportTest, ReadsTheSameCaseOfSeveralFiles) {
  const std::string file = results_file();
  std::filesystem::copy(file, path("again.json"));
  EXPECT_EQ(run({"report", file, "again.json", "--out", "folder", "--figures", "off"}).code, 0);
  EXPECT_THAT(read_text(path("folder/numbers.tex")),
              AllOf(HasSubstr("\\pbResultsResnetOneEight"), HasSubstr("\\pbAgainResnetOneEight")));
}

TEST_F(ReportTest, RefusesWhatItCannotUse) {
  const std::string file = results_file();
  const auto refused = [this](const std::vector<std::string>& words, const std::string& message) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  refused({"report", file}, "--out");
  refused({"report", "nowhere.json", "--out", "folder"}, "nowhere.json");
  refused({"report", file, file, "--out", "folder"}, "each results file once");
  refused({"report", file, "--out", "folder", "--figures", "maybe"}, "off, on");
  refused({"report", file, "--out", file}, "a folder");
  results::ResultsFile empty = results::read_results(file);
  empty.records.clear();
  results::write_results(path("empty.json"), empty);
  refused({"report", "empty.json", "--out", "folder"}, "at least one record");
  EXPECT_FALSE(std::filesystem::exists(path("folder")));
}

TEST_F(ReportTest, WithoutMatplotlibWritesAllElseAndSaysWhatToType) {
  const std::string file = results_file();
  break_matplotlib("ImportError('No module named matplotlib')");
  const Outcome outcome = run({"report", file, "--out", "folder"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("apt-get install python3-matplotlib"));
  EXPECT_TRUE(std::filesystem::exists(path("folder/report.html")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("SVG")));
}

TEST_F(ReportTest, TellsWhatFiguresFailedBy) {
  const std::string file = results_file();
  break_matplotlib("RuntimeError('out of ink')");
  const Outcome outcome = run({"report", file, "--out", "folder"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("out of ink"), HasSubstr("--figures off")));
}

}  // namespace
}  // namespace parabench::suite
