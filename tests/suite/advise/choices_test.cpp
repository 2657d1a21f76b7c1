#include "suite/advise/choices.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/case_id.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string net = "mlp/cifar10-synthetic/";

results::JudgedCase judged(const std::string& id, double predicted_s, double measured_s, double noise = 0.01) {
  const Case spec = parse_case(net + id);
  return {.id = to_id(spec), .parameters = spec, .measured_s = measured_s, .predicted_s = predicted_s, .noise = noise};
}

TEST(Choices, ArePickedByPredictionAndJudgedByMeasurement) {
  std::vector<results::JudgedCase> cases = {judged("gpipe/np:2/batch:32", 1.0, 1.3),
                                            judged("data-parallel/np:2/batch:32", 1.1, 1.0),
                                            judged("1f1b/np:2/batch:32", 1.2, 1.1)};
  const auto choices = judge_choices(cases);
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].question, net + "np:2/batch:32");
  EXPECT_EQ(choices[0].candidates, 3);
  EXPECT_EQ(choices[0].predicted_best, cases[0].id);
  EXPECT_EQ(choices[0].measured_best, cases[1].id);
  EXPECT_NEAR(choices[0].regret.relative, 0.3, 1e-12);
  EXPECT_FALSE(choices[0].is_right());
  EXPECT_EQ(cases[0].choice, "picked");
  EXPECT_EQ(cases[1].choice, "best");
  EXPECT_EQ(cases[2].choice, "");
}

TEST(Choices, OfWhatIsTheSameButForChosenKeysAreOneQuestion) {
  std::vector<results::JudgedCase> cases = {judged("gpipe/np:4/batch:32/micro:8/dp:2/recompute:all", 1, 1),
                                            judged("interleaved/np:4/batch:32/chunks:4", 2, 2),
                                            judged("gpipe/np:4/batch:64", 1, 1),
                                            judged("gpipe/np:2/batch:32", 1, 1),
                                            judged("gpipe/np:4/batch:32/optimizer:adam", 1, 1),
                                            judged("zero1/np:4/batch:32/optimizer:adam", 2, 2)};
  std::vector<std::string> questions;
  for (const Choice& one : judge_choices(cases)) questions.push_back(one.question);
  EXPECT_THAT(questions, ElementsAre(net + "np:4/batch:32", net + "np:4/batch:32/optimizer:adam"));
  EXPECT_EQ(cases[0].choice, "picked best");
}

TEST(Choices, LeaveOutWhatTrainsOtherwise) {
  std::vector<results::JudgedCase> cases = {judged("pipedream/np:2/batch:32", 1, 1),
                                            judged("parameter-server[mode=async]/np:2/batch:32", 1, 1),
                                            judged("gpipe/np:2/batch:32", 2, 2)};
  EXPECT_TRUE(judge_choices(cases).empty());
}

TEST(Choices, CountTiesWithinTheNoiseAsRightAndTheirRegretAll) {
  std::vector<results::JudgedCase> cases = {
      judged("gpipe/np:2/batch:32", 1, 1.02, 0.03), judged("zero1/np:2/batch:32", 2, 1.0),
      judged("gpipe/np:4/batch:32", 1, 1.10, 0.03), judged("zero1/np:4/batch:32", 2, 1.0),
      judged("gpipe/np:4/batch:64", 1, 1.00, 0.03), judged("zero1/np:4/batch:64", 2, 1.5)};
  const auto choices = judge_choices(cases);
  const ChoiceFigures figures = figures_of(choices);
  EXPECT_EQ(figures.questions, 3);
  EXPECT_EQ(figures.right, 2);
  EXPECT_NEAR(figures.mean_regret, 0.04, 1e-12);
  EXPECT_NEAR(figures.largest_regret, 0.10, 1e-12);
  EXPECT_THAT(choices_text(choices),
              AllOf(HasSubstr("picks the measured best in 2 of 3 groups (1 exactly, 1 by a tie within the noise)"),
                    HasSubstr("regret 4.0 % in the mean, 10.0 % at most"),
                    HasSubstr("+10.0 %  " + cases[2].id + ", not " + cases[3].id)));
  EXPECT_EQ(choices_json(choices)["right"], 2);
  EXPECT_EQ(choices_json(choices)["exact"], 1);
  EXPECT_EQ(choices_json(choices)["choices"].size(), 3u);
  EXPECT_EQ(choices_text({}), "");
}

TEST(Choices, HaveAnIntervalOfTheirMeanRegretWhereThereAreEnough) {
  std::vector<results::JudgedCase> cases;
  for (int group = 1; group <= 6; ++group) {
    const std::string rest = "/np:2/batch:" + std::to_string(32 * group);
    cases.push_back(judged("gpipe" + rest, 1, 1 + 0.1 * group));
    cases.push_back(judged("zero1" + rest, 2, 1));
  }
  const auto choices = judge_choices(cases);
  const auto few = std::span(choices).first(4);
  EXPECT_FALSE(figures_of(few).mean_regret_ci95);
  EXPECT_EQ(choices_json(few)["mean_regret_ci95"], nullptr);
  const auto ends = figures_of(choices).mean_regret_ci95;
  ASSERT_TRUE(ends);
  EXPECT_GT(ends->first, 0.1);
  EXPECT_LT(ends->first, 0.35);
  EXPECT_GT(ends->second, 0.35);
  EXPECT_LT(ends->second, 0.6);
  EXPECT_THAT(choices_text(choices), HasSubstr("regret 35.0 % in the mean (95 %: "));
  EXPECT_EQ(choices_json(choices)["mean_regret_ci95"][1], ends->second);
}

}  // namespace
}  // namespace parabench::suite
