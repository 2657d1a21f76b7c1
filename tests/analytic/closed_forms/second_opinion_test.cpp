// Every strategy's step time by a formula, beside its simulation.
#include "analytic/closed_forms/second_opinion.h"

#include <gmock/gmock.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
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
  KindSeconds updating = seconds;
  updating.update = .25;
  const auto layers = static_cast<int>(plan.segments.size());
  auto opinions = second_opinions(plan, chain(layers), HandCosts(updating));
  opinions.erase("ddlbench_eq_6_1_6_2");
  ASSERT_THAT(opinions, UnorderedElementsAre(AnyOf(Key("unequal_stages"), Key("schedule_formula")))) << what;
  EXPECT_NEAR(opinions.begin()->second, plan::makespan(simulate(plan, HandCosts(updating))), 1e-9) << what;
}

/// One more second for a pass that adds to gradients that are there.
double adding_seconds(Rank rank, const plan::Op& op, int busy) {
  return seconds(rank, op, busy) + (op.accumulates ? 1 : 0);
}

// Of eight micro-batches seven add; those of the stages behind that the first one waits for do, too.
TEST(SecondOpinion, BackwardsThatAddToGradientsTakeLonger) {
  const plan::Plan plan = gpipe(4, 8);
  const auto opinions = second_opinions(plan, chain(4), HandCosts(adding_seconds));
  EXPECT_DOUBLE_EQ(opinions.at("unequal_stages"), 33 + 7);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, HandCosts(adding_seconds))), 33 + 7 + 3);
  EXPECT_DOUBLE_EQ(opinions.at("ddlbench_eq_6_1_6_2"), 33) << "of one rank's passes, which start them";
}

// The last stage's update is over before the others' backwards are.
TEST(SecondOpinion, UpdatesCountWhereNoBackwardHidesThem) {
  const auto step_s = [](SegmentId slow, double update) {
    const HandCosts costs([=](Rank rank, const plan::Op& op, int busy) {
      return op.kind == plan::OpKind::update ? (op.segment == slow ? update : 0) : seconds(rank, op, busy);
    });
    const plan::Plan plan = gpipe(4, 8);
    const double form = second_opinions(plan, chain(4), costs).at("unequal_stages");
    EXPECT_DOUBLE_EQ(form, plan::makespan(simulate(plan, costs)));
    return form;
  };
  EXPECT_DOUBLE_EQ(step_s(SegmentId(0), 5), 33 + 5);
  EXPECT_DOUBLE_EQ(step_s(SegmentId(3), 5), 33);
  EXPECT_DOUBLE_EQ(step_s(SegmentId(3), 7), 33 + 7 - 6);
}

TEST(SecondOpinion, FormulasOfPipelinesSayWhereRanksShareCores) {
  const auto named = [](const char* strategy, int cores) {
    const HandCosts costs(seconds, cores);
    const plan::Plan plan = pipeline(strategy, 4, 8);
    return broken_assumptions(plan, costs, second_opinions(plan, chain(static_cast<int>(plan.segments.size())), costs));
  };
  EXPECT_THAT(named("gpipe", 2), testing::Contains(Key("unequal_stages")));
  EXPECT_THAT(named("zb-h1", 2), testing::Contains(Key("schedule_formula")));
  EXPECT_THAT(named("gpipe", 4), IsEmpty());
}

TEST(SecondOpinion, DdlbenchsSequentialTimeHasTheUpdate) {
  KindSeconds updating = seconds;
  updating.update = 5;
  EXPECT_DOUBLE_EQ(second_opinions(gpipe(4, 8), chain(4), HandCosts(updating)).at("ddlbench_eq_6_1_6_2"),
                   (8 * 4 * 3 + 4 * 5) * 11. / 32);
  updating.all_reduce = 0;
  EXPECT_DOUBLE_EQ(second_opinions(data_parallel(2, 3), chain(3), HandCosts(updating)).at("ddlbench_eq_5_1"),
                   (3 * 3 + 3 * 5) / 2.);
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

constexpr const char* not_counted = "the forwards that run again are not counted";
constexpr const char* not_hidden = "the backward does not hide all collectives but the last";

/// What the equation assumes and the plan does not keep.
std::vector<std::string> broken(const char* equation, const plan::Plan& plan, const TimeModel& time, double expected) {
  const auto opinions = second_opinions(plan, chain(static_cast<int>(plan.segments.size())), time);
  EXPECT_DOUBLE_EQ(opinions.at(equation), expected);
  return broken_assumptions(plan, time, opinions)[equation];
}

TEST(SecondOpinion, DdlbenchsEquationsOfPipelinesLeaveOutForwardsThatRunAgainAndSaySo) {
  const auto of_pipeline = [](const char* strategy, Recompute recompute) {
    // 4 stages, 8 micro-batches: of 8 x 4 x 3 s in sequence (4 + 8 - 1) / (4 x 8).
    return broken("ddlbench_eq_6_1_6_2", pipeline(strategy, 4, 8, 2, recompute), HandCosts(seconds), 33);
  };
  for (const char* strategy : {"gpipe", "1f1b", "dapple"}) {
    EXPECT_THAT(of_pipeline(strategy, Recompute::none), IsEmpty()) << strategy;
    EXPECT_THAT(of_pipeline(strategy, Recompute::all), ElementsAre(not_counted)) << strategy;
    EXPECT_THAT(of_pipeline(strategy, Recompute::except_last), ElementsAre(not_counted)) << strategy;
  }
  Case copies = case_of("gpipe", 8, 16, 8);
  copies.dp = 2;
  EXPECT_EQ(second_opinions(test_plan(copies, 4), chain(4), HandCosts(seconds)).count("ddlbench_eq_6_1_6_2"), 0u)
      << "the thesis has none for copies";
}

TEST(SecondOpinion, DdlbenchsEquationOfCopiesSaysWhetherItsAssumptionsHold) {
  const auto of_copies = [](const char* strategy, double sum, Recompute recompute = Recompute::none) {
    Case spec = case_of(strategy, 2, 4);
    spec.bucket = Bytes(1);
    spec.recompute = recompute;
    // Three layers of 1 + 2 s, divided by two ranks; the link moves any bytes at once.
    return broken("ddlbench_eq_5_1", test_plan(spec, 3), HandCosts(KindSeconds{.all_reduce = sum}), 4.5);
  };
  EXPECT_THAT(of_copies("data-parallel", .5), IsEmpty());
  EXPECT_THAT(of_copies("data-parallel", 50), ElementsAre(not_hidden));
  EXPECT_THAT(of_copies("data-parallel", .5, Recompute::all), ElementsAre(not_counted));
  EXPECT_THAT(of_copies("data-parallel", 50, Recompute::all), ElementsAre(not_counted, not_hidden));
  for (const char* strategy : {"dear", "zero1", "zero2", "zero3"})
    EXPECT_THAT(of_copies(strategy, .5), ElementsAre(not_hidden)) << strategy << " gathers weights";
}

TEST(SecondOpinion, DdlbenchsEquationsSayThatRanksShareCores) {
  const plan::Plan plan = pipeline("gpipe", 4, 8);
  const auto clauses = [&](int cores) {
    const HandCosts costs(seconds, cores);
    return broken_assumptions(plan, costs, second_opinions(plan, chain(4), costs))["ddlbench_eq_6_1_6_2"];
  };
  EXPECT_THAT(clauses(2), ElementsAre("ranks that share cores are taken to have theirs to themselves"));
  EXPECT_THAT(clauses(4), IsEmpty());
}

TEST(SecondOpinion, WhatNoFormulaDescribesIsNoShorterThanItsBusiestRank) {
  const plan::Plan crossed = pipeline("chimera", 4, 8);
  const HandCosts costs(seconds);
  const auto opinions = second_opinions(crossed, chain(static_cast<int>(crossed.segments.size())), costs);
  ASSERT_THAT(opinions, UnorderedElementsAre(Key("busiest_rank")));
  EXPECT_DOUBLE_EQ(opinions.at("busiest_rank"), 8 * 3);
  EXPECT_GE(plan::makespan(simulate(crossed, costs)), opinions.at("busiest_rank"));
}

TEST(SecondOpinion, TheBusiestRankIsABoundOfRanksThatSlowEachOther) {
  const plan::Plan crossed = pipeline("chimera", 4, 8);
  const HandCosts costs(
      [](Rank rank, const plan::Op& op, int busy) { return busy * busy * KindSeconds{}(rank, op, 1); }, 4);
  const double busiest =
      second_opinions(crossed, chain(static_cast<int>(crossed.segments.size())), costs).at("busiest_rank");
  EXPECT_DOUBLE_EQ(busiest, 8 * 3);
  const double simulated = plan::makespan(simulate(crossed, costs));
  EXPECT_GE(simulated, busiest);
  EXPECT_LT(simulated, 4 * 4 * busiest) << "which it takes while all four compute all the time";
}

}  // namespace
}  // namespace parabench::analytic
