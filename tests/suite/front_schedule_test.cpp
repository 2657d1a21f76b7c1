// Schedules of the user's own: --schedule, and plans as drawings.
#include <fstream>

#include "parallelism/plan/formats/given_schedule.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string two_ranks = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
const std::string csv = small + "csv/np:2/batch:8/micro:2";

class ScheduleTest : public FrontTest {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name).string();
  }
  std::string id() const { return small + "csv[sha=" + plan::read_csv(two_ranks).sha + "]/np:2/batch:8/micro:2"; }
};

TEST_F(ScheduleTest, IsPlannedPredictedAndListedUnderItsHash) {
  const std::string file = write("own.csv", two_ranks);
  const Outcome text = run({"plan", csv, "--schedule", file, "--format", "text"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "p0 F0 F1 B0 B1\np1 F0 B0 F1 B1\n");
  const auto predicted = nlohmann::json::parse(run({"predict", csv, "--schedule", file, "--json"}).out);
  EXPECT_EQ(predicted[0]["id"], id());
  EXPECT_EQ(predicted[0]["parameters"]["strategy"]["parameters"]["sha"], plan::read_csv(two_ranks).sha);
  EXPECT_THAT(run({"list", id(), "--schedule", file}).out, HasSubstr(id()));
}

TEST_F(ScheduleTest, RunsAndIsRecordedWithItsHash) {
  const std::string file = write("own.csv", two_ranks);
  const Outcome outcome = run({"run", csv, "--schedule", file, "--steps", "3", "--json", path("results.json")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto record = results()["records"][0];
  EXPECT_EQ(record["id"], id());
  EXPECT_EQ(record["status"], "ok");
  EXPECT_THAT(record["reproduce"].get<std::string>(), AllOf(HasSubstr("--schedule"), HasSubstr("own.csv")));
}

TEST_F(ScheduleTest, DryRunRepeatsTheOption) {
  const Outcome outcome = run({"run", csv, "--schedule", write("own.csv", two_ranks), "--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("--schedule " + path("own.csv").string()));
}

TEST_F(ScheduleTest, WrittenByPlanIsReadBack) {
  const Outcome written = run({"plan", small + "zb-v/np:2/batch:8", "--format", "csv"});
  const Outcome again =
      run({"plan", small + "csv/np:2/batch:8", "--schedule", write("v.csv", written.out), "--format", "csv"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, written.out);
}

TEST_F(ScheduleTest, RefusesWhatDoesNotFitBeforeAnythingStarts) {
  const std::string file = write("own.csv", two_ranks);
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  };
  for (const std::string command : {"run", "plan", "predict", "list"}) {
    EXPECT_THAT(refusal({command, id()}), AllOf(HasSubstr("'csv[sha="), HasSubstr("add --schedule FILE")));
  }
  EXPECT_THAT(refusal({"run", id(), "--schedule", write("other.csv", "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n")}),
              AllOf(HasSubstr("sha"), HasSubstr(plan::read_csv(two_ranks).sha)));
  EXPECT_THAT(refusal({"run", small + "csv/np:2/batch:8", "--schedule", file}), HasSubstr("try micro:2"));
  EXPECT_THAT(refusal({"run", small + "csv/np:4/batch:8/micro:2", "--schedule", file}), HasSubstr("try np:2"));
  EXPECT_THAT(refusal({"run", gpipe, "--schedule", file}), AllOf(HasSubstr("--schedule"), HasSubstr("strategy csv")));
  EXPECT_THAT(refusal({"run", csv, "--schedule", path("none.csv")}), HasSubstr("none.csv"));
  const std::string lonely = write("lonely.csv", "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n");
  EXPECT_THAT(refusal({"plan", csv, "--schedule", lonely}),
              AllOf(HasSubstr("rank 1, 1RECV_F0"), HasSubstr("'missing'")));
  EXPECT_EQ(count_launches("verify") + count_launches("measure") + count_launches("calibrate"), 0);
}

TEST_F(ScheduleTest, PlanDrawsSvg) {
  const Outcome outcome = run({"plan", gpipe, "--format", "svg"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("<svg"), HasSubstr(gpipe), HasSubstr(">F: forward<")));
  EXPECT_THAT(run({"plan", "--help"}).out, AllOf(HasSubstr("svg"), HasSubstr("--schedule")));
}

}  // namespace
}  // namespace parabench::suite
