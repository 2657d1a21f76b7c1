#include "parallelism/plan/strategies/local_sgd.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Case local_case(const std::string& every, const std::string& outer = "none", int np = 2) {
  Case spec = case_of("local-sgd", np, 2 * np);
  spec.strategy.parameters = {{"every", every}, {"outer", outer}};
  return spec;
}

std::vector<std::string> texts_with_steps(const std::vector<Op>& ops) {
  std::vector<std::string> result;
  for (const Op& op : ops) result.push_back(std::to_string(op.step.value) + ":" + to_text(op));
  return result;
}

TEST(LocalSgd, UpdatesInEveryStepAndAveragesInTheLastOfARound) {
  const Plan plan = test_plan(local_case("2"), 2);
  EXPECT_EQ(plan.steps, 2);
  const std::vector<Op>& ops = plan.ranks[1].compute();
  EXPECT_THAT(texts_with_steps(ops), testing::ElementsAre("0:0F0", "0:1F0", "0:1B0", "0:0B0", "0:0-1UPDATE", "1:0F0",
                                                          "1:1F0", "1:1B0", "1:0B0", "1:0-1UPDATE", "1:0-1AVERAGE"));
  const int sums = plan.ranks[1].find_lane(collectives_of(GroupId(0), Payload::parameters));
  ASSERT_EQ(sums, 1);
  EXPECT_THAT(texts_with_steps(plan.ranks[1].lanes[sums].ops), testing::ElementsAre("1:0-1ALL_REDUCE_PARAMETERS"));
  EXPECT_EQ(plan.ranks[1].lanes.size(), 2u) << "no gradients leave a rank";
}

TEST(LocalSgd, BucketsOfWeightsAreSummedWhileOthersAreUpdated) {
  Case spec = local_case("1");
  spec.bucket = Bytes(1);
  const Plan plan = test_plan(spec, 3);
  const int lane = plan.ranks[0].find_lane(collectives_of(GroupId(0), Payload::parameters));
  ASSERT_EQ(plan.ranks[0].lanes[lane].ops.size(), 3u);
  const LocalDependencies needs = dependencies(plan, Rank(0));
  for (int i = 0; i < 3; ++i) {
    const auto before = needs.of(lane, i);
    ASSERT_EQ(before.size(), 1u);
    const Op& update = at(plan, before.front());
    EXPECT_EQ(update.kind, OpKind::update);
    EXPECT_EQ(update.segment, plan.ranks[0].lanes[lane].ops[i].segment);
  }
}

TEST(LocalSgd, WindowsAreWholeRounds) {
  const Plan plan = test_plan(local_case("4"), 2);
  const Window asked = window(plan, 5, 20);
  EXPECT_EQ(asked.discarded, 8);
  EXPECT_EQ(asked.measured, 20);
  EXPECT_EQ(asked.samples, 5) << "rounds";
  EXPECT_EQ(window(plan, 0, 1).steps(), 4);
  EXPECT_EQ(unroll(plan, 5).steps, 8);
  EXPECT_EQ(unroll(plan, 8).ranks[0].compute().size(), 2 * plan.ranks[0].compute().size());
  EXPECT_EQ(equivalence_steps(plan), 4) << "two averages, in rounds of two";
  EXPECT_EQ(equivalence_steps(test_plan(local_case("1"), 2)), 3);
  const Window plain = window(test_plan(case_of("data-parallel", 2, 4), 2), 5, 20);
  EXPECT_EQ(plain.discarded, 5);
  EXPECT_EQ(plain.measured, 20);
  EXPECT_EQ(plain.samples, 20);
}

TEST(LocalSgd, AShortenedRoundIsTheStrategysOwnPlanOfThatRound) {
  for (const char* steps : {"2", "3", "7"}) {
    const Plan two = shorten_rounds(test_plan(local_case(steps, "nesterov"), 2), 2);
    EXPECT_EQ(two, test_plan(local_case("2", "nesterov"), 2)) << steps;
  }
  Case usual = local_case("4");
  std::erase_if(usual.strategy.parameters, [](const auto& parameter) { return parameter.first == "every"; });
  EXPECT_EQ(shorten_rounds(test_plan(usual, 2), 2).spec, local_case("2"));
  const Plan one = test_plan(local_case("1"), 2);
  EXPECT_EQ(shorten_rounds(one, 2), one);
  const Plan other = test_plan(case_of("data-parallel", 2, 4), 2);
  EXPECT_EQ(shorten_rounds(other, 2), other);
}

TEST(LocalSgd, KeepsAllRulesAndSurvivesItsFile) {
  for (const char* outer : {"none", "nesterov"}) {
    for (const int np : {2, 3, 5}) {
      const Plan plan = test_plan(local_case("3", outer, np), 3);
      EXPECT_THAT(validate(plan), IsEmpty());
      EXPECT_THAT(validate(unroll(plan, 9)), IsEmpty());
      EXPECT_EQ(plan_from_json(to_json(plan)), plan);
      EXPECT_EQ(plan.averaging.is_mean(), std::string(outer) == "none");
    }
  }
}

// Neither buckets nor the order of a rank's own updates leave a trace; when weights meet does.
TEST(LocalSgd, MeansTheSameWhateverItsBuckets) {
  Case spec = local_case("2", "none", 3);
  const auto usual = meaning_of(unroll(test_plan(spec, 4), 6));
  ASSERT_TRUE(usual);
  spec.bucket = Bytes(1);
  EXPECT_EQ(meaning_of(unroll(test_plan(spec, 4), 6)), usual);
  EXPECT_NE(meaning_of(unroll(test_plan(local_case("3", "none", 3), 4), 6)), usual);
  EXPECT_NE(meaning_of(unroll(test_plan(case_of("data-parallel", 3, 6), 4), 6)), usual);
}

TEST(LocalSgd, OfOneRankIsSequential) {
  Plan plan = test_plan(local_case("4", "none", 1), 2);
  const Plan sequential = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec = sequential.spec;
  EXPECT_EQ(plan, sequential);
}

TEST(LocalSgd, SamplesOfAnUpdateAreTheReplicasOwn) {
  Case spec = local_case("2", "none", 3);
  spec.batch = 7;
  const Plan plan = test_plan(spec, 2);
  EXPECT_EQ(update_samples(plan, ReplicaId(0)), 3);
  EXPECT_EQ(update_samples(plan, ReplicaId(2)), 2);
  EXPECT_EQ(update_samples(test_plan(case_of("data-parallel", 3, 7), 2), ReplicaId(2)), 7);
}

TEST(LocalSgd, RefusesWhatItsParametersDoNotAccept) {
  const auto refusal = [](const Case& spec) -> std::string {
    try {
      test_plan(spec, 2);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const char* every : {"0", "-1", "1001", "2.5", "many", ""})
    EXPECT_THAT(refusal(local_case(every)), HasSubstr(std::string(every_expected))) << every;
  EXPECT_THAT(refusal(local_case("2", "adam")), HasSubstr(std::string(outer_expected)));
  EXPECT_THAT(refusal(local_case("2", "nesterov", 1)), HasSubstr("none with np:1"));
}

TEST(LocalSgd, ASumWithoutItsAverageOrOfAnotherStepIsTold) {
  const Plan good = test_plan(local_case("2"), 2);
  Plan lacks = good;
  lacks.ranks[0].compute().pop_back();
  ASSERT_THAT(validate(lacks), testing::Not(IsEmpty()));
  EXPECT_THAT(validate(lacks).front().text, HasSubstr("AVERAGE of step 1 is missing"));
  Plan every_step = good;
  every_step.averaging.every = 1;
  EXPECT_THAT(validate(every_step), testing::Not(IsEmpty()));
  Plan never = good;
  never.averaging.every = 0;
  EXPECT_THAT(validate(never), testing::Not(IsEmpty()));
  for (const auto& [lr, momentum] : {std::pair(0.0, 0.0), {-1.0, 0.0}, {std::nan(""), 0.0}, {0.7, 1.0}, {0.7, -0.1}}) {
    Plan outer = good;
    outer.averaging.lr = lr;
    outer.averaging.momentum = momentum;
    EXPECT_THAT(validate(outer), testing::Not(IsEmpty())) << lr << ' ' << momentum;
  }
  Plan ragged = good;
  ragged.averaging.every = 3;
  EXPECT_THAT(validate(ragged).front().text, HasSubstr("every 3 of 2 steps"));
}

}  // namespace
}  // namespace parabench::plan
