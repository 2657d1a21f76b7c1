// compare: two results files in, a verdict on every case out.
#include <functional>

#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CompareTest : public FrontTest {
 protected:
  /// Six launches of gpipe and of pipedream, as the program writes them.
  void measure() {
    ASSERT_EQ(run({"run", gpipe, pipedream, "--repetitions", "6", "--json", "before.json"}).code, 0);
    measured_ = launches().size();
    // The stand-in's launches are all alike; here they differ by up to 1 %.
    change("before.json", "before.json", [](json& file) { scale(file, {1, 1.004, 0.998, 1.002, 0.995, 1.005}); });
  }
  void change(const std::string& from, const std::string& to, const std::function<void(json&)>& by) {
    json file = results(from);
    by(file);
    write_atomically(path(to), file.dump());
  }
  /// Launch i of every record (or of one strategy) takes factors[i] of its time.
  static void scale(json& file, const std::vector<double>& factors, const std::string& strategy = "") {
    for (json& record : file["records"]) {
      if (record["id"].get<std::string>().find(strategy) == std::string::npos) continue;
      json& samples = record["measured"]["step_time_s"]["samples"];
      for (std::size_t i = 0; i < samples.size(); ++i)
        for (json& step : samples[i]) step = step.get<double>() * factors.at(i);
    }
  }
  /// after.json: gpipe takes `factor` of its time.
  void slow_down(double factor) {
    change("before.json", "after.json",
           [factor](json& file) { scale(file, std::vector<double>(6, factor), "/gpipe/"); });
  }
  /// No command below starts a rank.
  void TearDown() override { EXPECT_EQ(launches().size(), measured_); }

 private:
  std::size_t measured_ = 0;
};

TEST_F(CompareTest, TellsByItsExitCodeWhetherACaseBecameSlower) {
  measure();
  slow_down(1.3);
  const Outcome slower = run({"compare", "before.json", "after.json"});
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_THAT(slower.out, AllOf(HasSubstr("SLOWER"), HasSubstr("1 SAME, 0 FASTER, 1 SLOWER, 0 UNCLEAR\n"),
                                HasSubstr("threshold 5 %"), HasSubstr("launch-to-launch noise, cpu")));
  EXPECT_EQ(slower.err, "");
  const Outcome faster = run({"compare", "after.json", "before.json"});
  EXPECT_EQ(faster.code, 0);
  EXPECT_THAT(faster.out, HasSubstr("1 SAME, 1 FASTER, 0 SLOWER, 0 UNCLEAR\n"));
  EXPECT_THAT(run({"compare", "before.json", "after.json", "--threshold", "50%"}).out, HasSubstr("2 SAME"));
  const Outcome itself = run({"compare", "before.json", "before.json"});
  EXPECT_EQ(itself.code, 0);
  EXPECT_THAT(itself.out, HasSubstr("2 SAME, 0 FASTER, 0 SLOWER, 0 UNCLEAR\n"));
}

TEST_F(CompareTest, JsonIsForPrograms) {
  measure();
  slow_down(0.7);
  const Outcome outcome = run({"compare", "before.json", "after.json", "--json", "--threshold", "0.02"});
  EXPECT_EQ(outcome.code, 0);
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["threshold"], 0.02);
  ASSERT_EQ(document["cases"].size(), 2u);
  EXPECT_EQ(document["cases"][0]["id_a"], gpipe);
  EXPECT_EQ(document["cases"][0]["verdict"], "FASTER");
  EXPECT_NEAR(document["cases"][0]["ratio"].get<double>(), 0.7, 1e-9);
  EXPECT_EQ(document["cases"][0]["launches_b"], 6);
}

TEST_F(CompareTest, FewLaunchesAreUnclear) {
  measure();
  change("before.json", "two.json", [](json& file) {
    for (json& record : file["records"]) {
      json& samples = record["measured"]["step_time_s"]["samples"];
      while (samples.size() > 2) samples.erase(samples.size() - 1);
    }
  });
  const Outcome outcome = run({"compare", "before.json", "two.json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("launches: 6 in A and 2 in B"), HasSubstr("2 UNCLEAR")));
}

TEST_F(CompareTest, ACaseThatNoLongerWorksIsNoSuccess) {
  measure();
  change("before.json", "after.json", [](json& file) {
    file["records"][0]["status"] = "failed";
    file["records"][0]["reason"] = "rank 1 was killed";
  });
  const Outcome broken = run({"compare", "before.json", "after.json"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.out,
              AllOf(HasSubstr("in B failed: rank 1 was killed"), HasSubstr("; 1 good in A and not in B\n")));
  EXPECT_EQ(json::parse(run({"compare", "before.json", "after.json", "--json"}).out)["left_out"][0]["broken"], true);
  const Outcome mended = run({"compare", "after.json", "before.json"});
  EXPECT_EQ(mended.code, 0);
  EXPECT_THAT(mended.out, Not(HasSubstr("good in A")));
}

TEST_F(CompareTest, DifferentWorkIsRefusedAndTheWayToAllowItTold) {
  measure();
  change("before.json", "after.json", [](json& file) {
    file["program"]["build_type"] = "Debug";
    file["context"]["hosts"][0]["cores"] = 4096;
    file["program"]["git"] = "another commit";
  });
  const Outcome outcome = run({"compare", "before.json", "after.json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("4096 cores"), HasSubstr("Debug"),
                                 HasSubstr("try --allow-different machine,build"), Not(HasSubstr("another commit"))));
  EXPECT_EQ(run({"compare", "before.json", "after.json", "--allow-different", "machine"}).code, 2);
  const Outcome allowed = run({"compare", "--allow-different", "machine,build", "before.json", "after.json"});
  EXPECT_EQ(allowed.code, 0);
  EXPECT_THAT(allowed.out,
              AllOf(HasSubstr("different work: machine"), HasSubstr("commit: "), HasSubstr("another comm")));
}

TEST_F(CompareTest, TwoCasesOfOneFile) {
  measure();
  change("before.json", "before.json", [](json& file) {
    for (json& record : file["records"]) {
      if (record["id"] == pipedream) record["equivalence"]["reference"] = "delayed-update";
    }
  });
  const std::vector<std::string> words = {"compare", "before.json", "before.json", "--cases", gpipe, pipedream};
  const Outcome refused = run(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--allow-different reference")) << "pipedream's updates are delayed";
  std::vector<std::string> allowed = words;
  allowed.insert(allowed.end(), {"--allow-different", "reference"});
  const Outcome outcome = run(allowed);
  EXPECT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("    B is " + pipedream + "\n"));
  const Outcome absent = run({"compare", "before.json", "before.json", "--cases", gpipe, small + "gpipe/np:4/batch:8"});
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("case of B"));
}

TEST_F(CompareTest, NoCommonCaseHasItsOwnCode) {
  measure();
  change("before.json", "after.json", [](json& file) { file["records"] = json::array(); });
  const Outcome outcome = run({"compare", "before.json", "after.json"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("no case of A can be compared with one of B\n"), HasSubstr("not compared\n"),
                                 HasSubstr("only in A")));
  const Outcome as_json = run({"compare", "before.json", "after.json", "--json"});
  EXPECT_EQ(as_json.code, 3);
  EXPECT_EQ(json::parse(as_json.out)["left_out"].size(), 2u);
}

TEST_F(CompareTest, BadInputIsNamed) {
  write_atomically(path("half.json"), R"({"schema_version": "1.0", )");
  write_atomically(path("other.json"), R"({"some": "document"})");
  const auto expect_refused = [&](std::vector<std::string> words, const std::string& part) {
    words.insert(words.begin(), "compare");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << part;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  expect_refused({"absent.json", "absent.json"}, "absent.json");
  expect_refused({"half.json", "half.json"}, "half.json");
  expect_refused({"other.json", "other.json"}, "other.json");
  expect_refused({"other.json"}, "expected B after it");
  expect_refused({"a", "b", "c"}, "'c'");
  expect_refused({"a", "b", "--threshold", "five"}, "'five'");
  expect_refused({"a", "b", "--threshold", "5%%"}, "'5%%'");
  expect_refused({"a", "b", "--threshold", "nan"}, "'nan'");
  expect_refused({"a", "b", "--threshold=-1%"}, "'-1%'");
  expect_refused({"a", "b", "--threshold", "5"}, "'5'");
  expect_refused({"a", "b", "--alpha", "0"}, "'0'");
  expect_refused({"a", "b", "--alpha", "60%"}, "'60%'");
  expect_refused({"a", "b", "--allow-different", "machne"}, "did you mean 'machine'?");
  expect_refused({"a", "b", "--cases", gpipe}, "--cases");
}

}  // namespace
}  // namespace parabench::suite
