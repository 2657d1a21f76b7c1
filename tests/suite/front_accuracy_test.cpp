// Passes over a set of cases, and the judgement over them.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using AccuracyTest = FrontTest;

TEST_F(AccuracyTest, RunsEveryPassOnceAndVerifiesInTheFirst) {
  const Outcome outcome = run({"accuracy", gpipe, "--passes", "2", "--out", "acc", "--steps", "5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_launches("verify"), 1);
  EXPECT_EQ(count_launches("measure"), 2);
  EXPECT_EQ(count_launches("paired"), 2);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("1 case in up to 2 passes"), HasSubstr("forecast"), HasSubstr("paired"),
                                 HasSubstr("noise"), HasSubstr("gpipe")));
  EXPECT_EQ(run({"validate", "acc/pass-2.json"}).code, 0);
  const std::size_t before = launches().size();
  EXPECT_EQ(run({"accuracy", gpipe, "--passes", "2", "--out", "acc", "--steps", "5"}).out, outcome.out);
  EXPECT_EQ(launches().size(), before) << "what is there is not run again";
}

TEST_F(AccuracyTest, JudgesWhatIsThereForProgramsToo) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "acc", "--steps", "5"}).code, 0);
  const json judged = json::parse(run({"accuracy", "--out", "acc", "--judge", "--format", "json"}).out);
  ASSERT_EQ(judged["cases"].size(), 1u);
  EXPECT_EQ(judged["cases"][0]["id"], gpipe);
  EXPECT_TRUE(judged["cases"][0]["paired"].is_number());
  EXPECT_EQ(judged["figures"]["forecast"]["cases"], 1);
  EXPECT_THAT(run({"accuracy", "--out", "acc", "--judge", "--format", "csv"}).out, StartsWith("id,passes,measured_s,"));
}

TEST_F(AccuracyTest, AFolderWithoutPassesCannotBeJudged) {
  const Outcome outcome = run({"accuracy", "--out", "nowhere", "--judge"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("a folder with pass-1.json"));
}

}  // namespace
}  // namespace parabench::suite
