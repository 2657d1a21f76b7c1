#include "parallelism/plan/strategies/delay_rules.h"

#include <gmock/gmock.h>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;

/// [stage] -> the version that each of the first steps reads.
std::vector<std::vector<int>> versions_read(const std::vector<VersionRule>& rules, int steps) {
  std::vector<std::vector<int>> read(rules.size());
  for (std::size_t s = 0; s < rules.size(); ++s)
    for (int step = 0; step < steps; ++step) read[s].push_back(version_read(rules[s], StepId(step)).value);
  return read;
}

std::vector<VersionRule> rules_of(const std::string& strategy, const std::vector<int>& widths) {
  return delay_rules(case_of(strategy, 1, 1), widths);
}

// SOSP'19: w(t + 1) = w(t) - lr grad f(w_1(t - n + 1), ..., w_n(t)).
TEST(DelayRules, OfPipedreamReadWhatWasTheLatestWhenTheMiniBatchStarted) {
  EXPECT_THAT(versions_read(rules_of("pipedream", {1, 1, 1, 1}), 6),
              ElementsAre(ElementsAre(0, 0, 0, 0, 1, 2), ElementsAre(0, 0, 0, 1, 2, 3), ElementsAre(0, 0, 1, 2, 3, 4),
                          ElementsAre(0, 1, 2, 3, 4, 5)));
  EXPECT_THAT(versions_read(rules_of("pipedream", {1}), 3), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(DelayRules, OfReplicatedPipedreamUpdateOnceForAsManyMiniBatchesAsReplicas) {
  EXPECT_THAT(versions_read(rules_of("pipedream", {3, 1}), 8),
              ElementsAre(ElementsAre(0, 0, 0, 0, 0, 0, 1, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  EXPECT_THAT(versions_read(rules_of("pipedream", {1, 3}), 8),
              ElementsAre(ElementsAre(0, 0, 0, 0, 1, 2, 3, 4), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2)));
  EXPECT_THAT(versions_read(rules_of("pipedream", {2, 2, 1}), 8),
              ElementsAre(ElementsAre(0, 0, 0, 0, 0, 0, 1, 1), ElementsAre(0, 0, 0, 0, 1, 1, 2, 2),
                          ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  EXPECT_TRUE(is_update_due(rules_of("pipedream", {3, 1})[0], StepId(2)));
  EXPECT_FALSE(is_update_due(rules_of("pipedream", {3, 1})[0], StepId(3)));
}

// ICML'21: w(t + 1) = w(t) - lr grad f(w(t - 1)).
TEST(DelayRules, OfPipedream2bwAreOneUpdateOfDelayOnEveryStage) {
  EXPECT_THAT(versions_read(rules_of("pipedream-2bw", {1, 1}), 5),
              ElementsAre(ElementsAre(0, 0, 1, 2, 3), ElementsAre(0, 0, 1, 2, 3)));
}

TEST(DelayRules, OfServersAreThoseOfTheirMode) {
  Case spec = case_of("parameter-server", 4, 12);
  EXPECT_FALSE(delays_updates(spec));
  const auto read = [&](const char* mode, const std::string& k) {
    spec.strategy.parameters = {{"mode", mode}};
    if (!k.empty()) spec.strategy.parameters.push_back({"k", k});
    EXPECT_TRUE(delays_updates(spec)) << mode;
    return versions_read(delay_rules(spec, std::vector{3, 3}), 5);
  };
  EXPECT_THAT(read("async", ""), ElementsAre(ElementsAre(0, 0, 0, 1, 2), ElementsAre(0, 0, 0, 1, 2)));
  EXPECT_THAT(read("stale", ""), ElementsAre(ElementsAre(0, 0, 1, 2, 3), ElementsAre(0, 0, 1, 2, 3)));
  EXPECT_THAT(read("stale", "3"), ElementsAre(ElementsAre(0, 0, 0, 0, 1), ElementsAre(0, 0, 0, 0, 1)));
}

TEST(DelayRules, WindowsHoldWholeTurnsOfReplicasUnlessThoseAreMuchLongerThanWhatWasAskedFor) {
  const auto window_of = [](std::vector<int> widths, int steps) {
    Plan plan;
    plan.asynchronous = true;
    plan.versions = rules_of("pipedream", widths);
    return window(plan, 5, steps);
  };
  EXPECT_EQ(window_of({3, 1}, 20).discarded, 6);
  EXPECT_EQ(window_of({3, 1}, 20).measured, 21);
  EXPECT_EQ(window_of({5, 3}, 20).measured, 30);
  EXPECT_EQ(window_of({5, 8}, 20).steps(), 40 + 40);
  EXPECT_EQ(window_of({9, 5}, 20).steps(), 5 + 20);
  EXPECT_EQ(window_of({1, 1}, 7).steps(), 5 + 7);
  EXPECT_EQ(window_of({1999, 1997, 1993, 1987}, 20).steps(), 5 + 20) << "more turns than an int holds";
}

TEST(DelayRules, OfAllOthersReadWhatTheStepBeforeWrote) {
  for (const Strategy& strategy : strategies()) {
    const bool delayed = strategy.name.starts_with("pipedream");
    EXPECT_EQ(delays_updates(case_of(std::string(strategy.name), 1, 1)), delayed) << strategy.name;
    if (delayed) continue;
    for (const VersionRule& rule : rules_of(std::string(strategy.name), {2, 1})) EXPECT_EQ(rule, (VersionRule{0, 1}));
  }
}

TEST(DelayRules, AreWhatEveryPlanIsWrittenBy) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const Plan plan = random_plan(random);
    ASSERT_EQ(plan.versions, delay_rules(plan)) << plan.spec.strategy.name;
  }
}

TEST(DelayRules, OfAPlanAreThoseOfItsCaseWhateverItSaysOfItself) {
  const Plan plan = pipedream_of(4, 8);
  Plan changed = plan;
  for (VersionRule& rule : changed.versions) rule = {.lag = 5, .steps_per_update = 2};
  EXPECT_EQ(delay_rules(changed), plan.versions);
  EXPECT_EQ(equivalence_steps(changed), equivalence_steps(plan));
}

}  // namespace
}  // namespace parabench::plan
