// Every strategy's step time by a formula, beside its simulation.
#include "analytic/closed_forms/second_opinion.h"

#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using testing::AnyOf;
using testing::Key;
using testing::UnorderedElementsAre;

/// The plan of a row on so many equal layers; none of what it refuses, and of rows that stand for others' plans.
std::optional<plan::Plan> plan_of(const plan::Strategy& row, int layers, int dp, Recompute recompute) {
  if (row.from_file || row.family == plan::Family::peer) return std::nullopt;
  Case spec = case_of(std::string(row.name), row.ranks == plan::RankUse::one ? 1 : 4, 16);
  if (row.uses("micro")) spec.micro = 8;
  if (row.uses("partition")) spec.partition = PartitionRule::uniform;
  spec.dp = dp;
  spec.recompute = recompute;
  try {
    return test_plan(spec, layers, 12);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(SecondOpinion, EveryRowOfTheTableHasOne) {
  int rows = 0, plans = 0;
  for (const plan::Strategy& row : plan::strategies()) {
    const int before = plans;
    for (const int dp : {1, 2}) {
      for (const Recompute recompute : {Recompute::none, Recompute::all, Recompute::except_last}) {
        const auto plan = plan_of(row, 16, dp, recompute);
        if (!plan) continue;
        ++plans;
        const auto opinions = second_opinions(*plan, chain(16), *unit_costs().time);
        EXPECT_FALSE(opinions.empty()) << row.name << " dp " << dp << ' ' << static_cast<int>(recompute);
        for (const auto& [name, seconds] : opinions)
          EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << row.name << ' ' << name;
      }
    }
    if (plans > before) ++rows;
  }
  EXPECT_EQ(rows, std::ssize(plan::strategies()) - 2) << "all but those that stand for others";
}

const KindSeconds seconds{.forward = 1, .backward = 2, .input = 1, .weight = 1, .recompute = 1, .all_reduce = .5};

/// A step of a pipeline of one layer per stage, simulated, and the only formula of these names.
void expect_exact(const plan::Plan& plan, std::string_view what) {
  const auto layers = static_cast<int>(plan.segments.size());
  auto opinions = second_opinions(plan, chain(layers), HandCosts(seconds));
  opinions.erase("ddlbench_eq_6_1_6_2");
  ASSERT_THAT(opinions, UnorderedElementsAre(AnyOf(Key("unequal_stages"), Key("schedule_formula")))) << what;
  EXPECT_NEAR(opinions.begin()->second, plan::makespan(simulate(plan, HandCosts(seconds))), 1e-9) << what;
}

TEST(SecondOpinion, RecomputationAddsItsTimeAndNoBubble) {
  for (const char* strategy : {"gpipe", "1f1b", "dapple", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "zb-v"})
    for (const Recompute recompute : {Recompute::all, Recompute::except_last})
      expect_exact(pipeline(strategy, 4, 8, 2, recompute), strategy);
}

TEST(SecondOpinion, CopiesAddTheSumsOfTheRankWithMostOfThem) {
  for (const char* strategy : {"gpipe", "1f1b", "dapple", "zb-h1"}) {
    Case spec = case_of(strategy, 8, 16, 8);
    spec.dp = 2;
    expect_exact(test_plan(spec, 4), strategy);
  }
}

TEST(SecondOpinion, DdlbenchsEquationForMessagesHoldsFromWMinusTwoMicroBatchesOn) {
  const auto has = [](int micro_batches) {
    return second_opinions(gpipe(6, micro_batches), chain(6), *unit_costs().time).count("ddlbench_eq_6_1_6_2") == 1;
  };
  EXPECT_TRUE(has(4));
  EXPECT_FALSE(has(3));
}

TEST(SecondOpinion, WhatNoFormulaDescribesIsNoShorterThanItsBusiestRank) {
  const plan::Plan crossed = pipeline("chimera", 4, 8);
  const HandCosts costs(seconds);
  const auto opinions = second_opinions(crossed, chain(static_cast<int>(crossed.segments.size())), costs);
  ASSERT_THAT(opinions, UnorderedElementsAre(Key("busiest_rank")));
  EXPECT_DOUBLE_EQ(opinions.at("busiest_rank"), 8 * 3);
  EXPECT_GE(plan::makespan(simulate(crossed, costs)), opinions.at("busiest_rank"));
}

}  // namespace
}  // namespace parabench::analytic
