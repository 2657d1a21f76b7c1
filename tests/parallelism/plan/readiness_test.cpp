#include "parallelism/plan/readiness.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

/// The plan with the compute lanes in an order in which readiness lets them run, drawn at random.
class AnyOrder {
 public:
  AnyOrder(const Plan& plan, std::mt19937& random) : plan_(plan), matching_(match(plan)), random_(random) {
    for (Rank r; r.value < std::ssize(plan.ranks); ++r.value) {
      readiness_.emplace_back(plan, r, dependencies(plan, r));
      for (const OpRef& ref : readiness_.back().initial()) ready_.insert(ref);
    }
  }

  /// What never came to its turn is left out.
  Plan draw() {
    Plan result = plan_;
    for (RankProgram& rank : result.ranks) rank.compute().clear();
    for (;;) {
      std::vector<OpRef> may_end;
      std::ranges::copy_if(ready_, std::back_inserter(may_end), [&](const OpRef& ref) { return meets_all(ref); });
      if (may_end.empty()) return result;
      const OpRef chosen = may_end[uniform(random_, 0, static_cast<int>(may_end.size()) - 1)];
      if (chosen.lane == compute_lane) result.ranks[chosen.rank.value].compute().push_back(at(plan_, chosen));
      for (const OpRef& partner : partners(chosen)) end(partner);
      end(chosen);
    }
  }

 private:
  std::vector<OpRef> partners(const OpRef& ref) const {
    std::vector<OpRef> result;
    for (const LaneRef& other : matching_[ref.rank.value][ref.lane])
      result.push_back({other.rank, other.lane, ref.index});
    return result;
  }
  bool meets_all(const OpRef& ref) const {
    return std::ranges::all_of(partners(ref), [&](const OpRef& other) { return ready_.contains(other); });
  }
  void end(const OpRef& ref) {
    ready_.erase(ref);
    std::vector<OpRef> now;
    readiness_[ref.rank.value].end(ref, now);
    ready_.insert(now.begin(), now.end());
  }

  const Plan& plan_;
  Matching matching_;
  std::mt19937& random_;
  std::vector<Readiness> readiness_;
  std::set<OpRef> ready_;
};

TEST(Readiness, AnyOrderThatItAllowsIsAGoodPlanThatTrainsTheSame) {
  std::mt19937 random(3);
  int reordered = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<LayerSkip> skips;
    const Plan plan = random_plan(random, &skips);
    if (plan.asynchronous) continue;
    const Plan drawn = AnyOrder(plan, random).draw();
    for (std::size_t r = 0; r < plan.ranks.size(); ++r)
      ASSERT_EQ(drawn.ranks[r].compute().size(), plan.ranks[r].compute().size()) << plan.spec.strategy.name;
    const Violations violations = validate(drawn);
    ASSERT_TRUE(violations.empty()) << plan.spec.strategy.name << ": " << violations.front().rule << ": "
                                    << violations.front().text;
    EXPECT_EQ(meaning_of(drawn, skips), meaning_of(plan, skips)) << plan.spec.strategy.name;
    reordered += drawn != plan;
  }
  EXPECT_GT(reordered, 100);
}

TEST(Readiness, KeepsNoMoreInFlightThanThePlanDoes) {
  std::mt19937 random(4);
  for (const std::string& name : schedule_names()) {
    for (int round = 0; round < 8; ++round) {
      const Case spec = pipeline_case(name, 2, 2 * uniform(random, 1, 4));
      if (!is_possible(spec, find_strategy(name).stages(spec))) continue;
      const Plan plan = unroll(test_plan(spec), 2);
      const Plan drawn = AnyOrder(plan, random).draw();
      for (int r = 0; r < std::ssize(plan.ranks); ++r)
        EXPECT_LE(peak_in_flight(drawn, r), peak_in_flight(plan, r)) << name;
    }
  }
}

TEST(Readiness, KeepsTheOrderInWhichGradientsOfASegmentAreSummed) {
  std::mt19937 random(5);
  for (const std::string& name : schedule_names()) {
    const Case spec = pipeline_case(name, 2, 4, 2, 2);
    if (!is_possible(spec, find_strategy(name).stages(spec))) continue;
    const Plan plan = unroll(test_plan(spec), 2);
    const Plan drawn = AnyOrder(plan, random).draw();
    const auto makers = [](const RankProgram& rank, SegmentId s) {
      std::vector<Op> ops;
      std::ranges::copy_if(rank.compute(), std::back_inserter(ops),
                           [&](const Op& op) { return op.segment == s && makes_weight_gradient(op.kind); });
      return ops;
    };
    for (int r = 0; r < std::ssize(plan.ranks); ++r) {
      for (const SegmentId s : segments_held(plan, Rank(r)))
        EXPECT_EQ(makers(drawn.ranks[r], s), makers(plan.ranks[r], s)) << name;
    }
  }
}

/// Indices of what `order` names for the first operation with this text.
std::vector<std::string> kept_before(const Plan& plan, int rank, const std::string& text, StepId step) {
  const auto& ops = plan.ranks[rank].compute();
  const auto order = kept_order(plan, Rank(rank));
  std::vector<std::string> before;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (to_text(ops[i]) != text || ops[i].step != step) continue;
    for (const int other : order[i])
      before.push_back(to_text(ops[other]) + "@" + std::to_string(ops[other].step.value));
    return before;
  }
  return {"no such operation"};
}

TEST(Readiness, ForwardsWaitForTheDepartureThatMakesRoom) {
  const Plan plan = unroll(test_plan(pipeline_case("1f1b", 2, 4)), 2);
  EXPECT_THAT(kept_before(plan, 0, "0F1", StepId(0)), testing::ElementsAre("0F0@0"));
  EXPECT_THAT(kept_before(plan, 0, "0F2", StepId(0)), testing::UnorderedElementsAre("0F1@0", "0B0@0"));
  EXPECT_THAT(kept_before(plan, 1, "1F2", StepId(0)), testing::UnorderedElementsAre("1F1@0", "1B1@0"));
  EXPECT_THAT(kept_before(plan, 0, "0F0", StepId(1)), testing::UnorderedElementsAre("0F3@0", "0B2@0"));
}

TEST(Readiness, BackwardsOfTheNextStepFollowTheUpdate) {
  const Plan plan = unroll(gpipe_of(2, 2, 4), 2);
  EXPECT_THAT(kept_before(plan, 0, "0B0", StepId(1)), testing::UnorderedElementsAre("0B1@0", "0UPDATE@0"));
  EXPECT_THAT(kept_before(plan, 0, "0UPDATE", StepId(0)), testing::ElementsAre("0B1@0"));
}

TEST(Readiness, OneSegmentRunsAgainAtATimeWhereThePlanHasThemOneByOne) {
  Case spec = pipeline_case("looped-bfs", 1, 2);
  spec.recompute = Recompute::all;
  const Plan plan = test_plan(spec);
  EXPECT_THAT(kept_before(plan, 0, "1RECOMPUTE1", StepId(0)), testing::UnorderedElementsAre("1RECOMPUTE0@0", "1B0@0"));
  EXPECT_THAT(kept_before(plan, 0, "0RECOMPUTE0", StepId(0)), testing::ElementsAre("1B1@0"));
}

}  // namespace
}  // namespace parabench::plan
