// What stands for long windows, long plans and many copies predicts what they do.
#include <gtest/gtest.h>

#include <cmath>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/costs/spread_times.h"
#include "analytic/simulate/pipeline_sweep.h"
#include "analytic/simulate/predict.h"
#include "analytic/simulate/predict_copies.h"
#include "analytic/simulate/predict_outline.h"
#include "analytic/simulate/simulate.h"
#include "analytic/simulate/simulate_window.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/strategies/two_copies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Unlike on every rank and for every kind, so that stages are unequal, with messages that take time.
HandCosts uneven_costs() {
  HandCosts costs([](Rank rank, const plan::Op& op, int) {
    const double slower = 1 + 0.37 * ((rank.value * 7) % 5);
    KindSeconds kinds{.forward = 1.1, .backward = 2.3, .input = 1.2, .weight = 0.9, .recompute = 1.05};
    kinds.message = 0.3;
    kinds.all_reduce = 1.7;
    kinds.update = 0.45;
    return kinds(rank, op, 1) * (plan::is_message(op.kind) ? 1 : slower);
  });
  costs.saved = 1000;
  costs.forward_peak = 70;
  costs.backward_peak = 130;
  return costs;
}

void expect_near(double a, double b, double scale, const std::string& what) {
  EXPECT_NEAR(a, b, 1e-9 * std::abs(scale)) << what;
}

/// The same but for rounding, memory to the byte.
void expect_same(const Predicted& a, const Predicted& b, const std::string& what) {
  expect_near(a.step_time_s, b.step_time_s, b.step_time_s, what);
  ASSERT_EQ(a.isolated_step_time_s.has_value(), b.isolated_step_time_s.has_value()) << what;
  if (b.isolated_step_time_s) expect_near(*a.isolated_step_time_s, *b.isolated_step_time_s, b.step_time_s, what);
  expect_near(a.throughput_samples_per_s, b.throughput_samples_per_s, b.throughput_samples_per_s, what);
  ASSERT_EQ(a.ranks.size(), b.ranks.size()) << what;
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    const std::string rank = what + " rank " + std::to_string(r);
    EXPECT_EQ(a.ranks[r].rank, b.ranks[r].rank) << rank;
    for (const MemoryCategory category : enum_values<MemoryCategory>)
      EXPECT_EQ(a.ranks[r].peak_memory[category], b.ranks[r].peak_memory[category]) << rank << to_text(category);
    for (const auto& [name, part] : breakdown_fields)
      expect_near(a.ranks[r].breakdown_s.*part, b.ranks[r].breakdown_s.*part, b.step_time_s, rank + std::string(name));
  }
  ASSERT_EQ(a.step_parts->rank, b.step_parts->rank) << what;
  for (const auto& [name, part] : time_part_fields)
    expect_near(a.step_parts->seconds.*part, b.step_parts->seconds.*part, b.step_time_s, what + std::string(name));
  ASSERT_EQ(a.second_opinion_step_time_s.size(), b.second_opinion_step_time_s.size()) << what;
  for (const auto& [name, seconds] : b.second_opinion_step_time_s)
    expect_near(a.second_opinion_step_time_s.at(name), seconds, seconds, what + name);
  EXPECT_EQ(a.broken_assumptions, b.broken_assumptions) << what;
  ASSERT_EQ(a.terms.size(), b.terms.size()) << what;
  for (std::size_t t = 0; t < a.terms.size(); ++t) {
    EXPECT_EQ(a.terms[t].name, b.terms[t].name) << what;
    EXPECT_EQ(a.terms[t].formula, b.terms[t].formula) << what;
    EXPECT_EQ(a.terms[t].source, b.terms[t].source) << what;
    expect_near(a.terms[t].value, b.terms[t].value, std::max(b.terms[t].value, b.step_time_s), what + a.terms[t].name);
  }
}

std::string text_of(const Case& spec) {
  return spec.strategy.name + " np " + std::to_string(spec.np) + " dp " + std::to_string(spec.dp) + " micro " +
         std::to_string(spec.micro) + " batch " + std::to_string(spec.batch) + ": ";
}

/// Cases of every synchronous strategy on few ranks, with equal and with unequal micro-batches.
std::vector<Case> synchronous_cases() {
  std::vector<Case> cases;
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.from_file || strategy.delay || strategy.family == plan::Family::peer) continue;
    for (const int np : {1, 2, 3, 4, 6}) {
      for (const int batch : {24, 29}) {
        Case spec = case_of(std::string(strategy.name), np, batch);
        if (strategy.uses("micro")) spec.micro = 8;
        if (strategy.uses("bucket")) spec.bucket = Bytes(64);
        if (strategy.ranks == plan::RankUse::workers && np == 1) continue;
        if (strategy.ranks == plan::RankUse::one && np > 1) continue;
        if (strategy.refuse && strategy.refuse(strategy.pipe(spec))) continue;
        cases.push_back(spec);
        if (!strategy.uses("dp") || np % 2 != 0) continue;
        spec.dp = 2;
        if (!strategy.refuse || !strategy.refuse(strategy.pipe(spec))) cases.push_back(spec);
      }
    }
  }
  return cases;
}

TEST(PredictAtScale, AWindowThatEndsEarlyTellsWhatTheWholeOneTells) {
  const HandCosts costs = uneven_costs();
  int shorter = 0;
  for (const Case& spec : synchronous_cases()) {
    const plan::Plan plan = test_plan(spec, 14);
    const plan::Window asked = plan::window(plan, 5, 20);
    const SimulatedWindow window = simulate_window(plan, costs, asked);
    shorter += window.plan.steps < asked.steps();
    const plan::Plan all = plan::unroll(plan, asked.steps());
    const plan::Timeline timeline = simulate(all, costs);
    const double step = plan::step_samples(all, timeline, StepId(asked.discarded)).back();
    EXPECT_NEAR(plan::step_samples(window.plan, window.timeline, StepId(window.discarded)).back(), step, 1e-9 * step)
        << text_of(spec);
    const auto part = plan::breakdowns(window.plan, window.timeline, StepId(window.discarded));
    const auto whole = plan::breakdowns(all, timeline, StepId(asked.discarded));
    for (std::size_t r = 0; r < whole.size(); ++r) {
      for (const auto& [name, field] : breakdown_fields)
        EXPECT_NEAR(part[r].*field, whole[r].*field, 1e-9 * step) << text_of(spec) << r << name;
    }
  }
  EXPECT_GT(shorter, 100);
}

TEST(PredictAtScale, AWindowIsWholeWhereStepsDependOnMoreThanTheStepBefore) {
  const auto steps_of = [](const Case& spec, const TimeModel& time) {
    const plan::Plan plan = test_plan(spec, 14, 25);
    return simulate_window(plan, time, plan::window(plan, 5, 20)).plan.steps;
  };
  const HandCosts own = uneven_costs();
  const HandCosts shared(KindSeconds{.message = 0.3}, 2);
  EXPECT_LT(steps_of(case_of("1f1b", 4, 8, 8), own), 25);
  EXPECT_EQ(steps_of(case_of("1f1b", 4, 8, 8), shared), 25);
  EXPECT_EQ(steps_of(case_of("pipedream", 4, 8), own), 25);
  Case futurized = case_of("1f1b", 4, 8, 8);
  futurized.executor = ExecutorKind::futurized;
  EXPECT_EQ(steps_of(futurized, own), 25);
  // Every step is longer than the one before.
  const HandCosts slower([](Rank, const plan::Op& op, int) { return 1.0 + op.step.value; });
  EXPECT_EQ(steps_of(case_of("1f1b", 4, 8, 8), slower), 25);
}

TEST(PredictAtScale, AnOutlinePredictsWhatItsPlanDoes) {
  const HandCosts hand = uneven_costs();
  const Costs sheet = data_sheet_costs({.cores = 4}, Sizes(chain(14)));
  const auto exclusive = exclusive_times(data_sheet_costs({.cores = 4}, Sizes(chain(14))).time);
  int compared = 0;
  for (Case spec : synchronous_cases()) {
    for (const Recompute recompute : {Recompute::none, Recompute::all, Recompute::except_last}) {
      spec.recompute = recompute;
      if (!plan::has_outline(spec)) continue;
      const plan::Profile profile(std::vector<double>(14, 1.0));
      const plan::Plan plan = plan::make_plan(spec, chain(14), profile, 1);
      const auto outline = plan::outline_of(spec, chain(14), profile);
      ASSERT_TRUE(outline) << text_of(spec);
      expect_same(predict_outline(*outline, chain(14), hand, hand, 5, 20), predict(plan, chain(14), hand, hand, 5, 20),
                  text_of(spec));
      expect_same(predict_outline(*outline, chain(14), *exclusive, *sheet.memory, 5, 20),
                  predict(plan, chain(14), *exclusive, *sheet.memory, 5, 20), "data sheet: " + text_of(spec));
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(PredictAtScale, AnOutlineOfManyRanksPredictsWhatItsPlanDoes) {
  constexpr int ranks = 300;
  const HandCosts hand([](Rank rank, const plan::Op& op, int) {
    return plan::is_pass(op.kind) ? 1 + 0.01 * rank.value : plan::is_message(op.kind) ? 0.3 : 0.1;
  });
  const Case spec = case_of("1f1b", ranks, 16, 8);
  const plan::Profile profile(std::vector<double>(ranks, 1.0));
  const plan::Plan plan = plan::make_plan(spec, chain(ranks), profile, 1);
  const auto outline = plan::outline_of(spec, chain(ranks), profile);
  ASSERT_TRUE(outline);
  expect_same(predict_outline(*outline, chain(ranks), hand, hand, 5, 20),
              predict(plan, chain(ranks), hand, hand, 5, 20), "of 300 ranks");
}

TEST(PredictAtScale, AFirstStepThatTellsTheOthersIsSweptAlone) {
  const HandCosts costs = uneven_costs();
  int alone = 0, others = 0;
  for (const Case& spec : synchronous_cases()) {
    if (!plan::has_outline(spec)) continue;
    const plan::Profile profile(std::vector<double>(14, 1.0));
    const plan::Plan plan = plan::make_plan(spec, chain(14), profile, 1);
    const auto outline = plan::outline_of(spec, chain(14), profile);
    const plan::Window asked = plan::window(outline->plan, 5, 20);
    const SweptPipeline swept = sweep(*outline, costs, asked);
    const plan::Plan all = plan::unroll(plan, asked.steps());
    const plan::Timeline timeline = simulate(all, costs);
    const std::vector<double> ends = plan::step_completions(all, timeline);
    // Every rank's last operation of a step is as much later than that of the step before.
    const auto all_are_later = [&](double by) {
      for (std::size_t r = 0; r < all.ranks.size(); ++r) {
        const auto& spans = timeline.ranks[r][plan::compute_lane];
        const std::size_t size = spans.size() / asked.steps();
        for (std::size_t i = size; i < spans.size(); ++i)
          if (std::abs(spans[i].end - spans[i - size].end - by) > 1e-9 * ends.back()) return false;
      }
      return true;
    };
    EXPECT_EQ(swept.period.has_value(), all_are_later(ends[1] - ends[0])) << text_of(spec);
    ++(swept.period ? alone : others);
    if (!swept.period) continue;
    EXPECT_TRUE(all_are_later(*swept.period)) << text_of(spec);
    EXPECT_EQ(swept.steps.size(), 1u) << text_of(spec);
  }
  EXPECT_GT(alone, 10);
  EXPECT_GT(others, 10);
}

TEST(PredictAtScale, TwoCopiesPredictWhatAllDo) {
  const Costs sheet = data_sheet_costs({.cores = 4}, Sizes(chain(6)));
  const auto exclusive = exclusive_times(data_sheet_costs({.cores = 4}, Sizes(chain(6))).time);
  const plan::Profile profile(std::vector<double>(6, 1.0));
  int compared = 0;
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.from_file || strategy.delay || strategy.family == plan::Family::peer) continue;
    for (const int copies : {3, 4, 7}) {
      const bool pipeline = strategy.uses("dp");
      Case spec = case_of(std::string(strategy.name), pipeline ? 2 * copies : copies, 8 * copies);
      if (strategy.uses("bucket")) spec.bucket = Bytes(64);
      if (pipeline) spec.dp = copies;
      if (strategy.ranks == plan::RankUse::one || (strategy.ranks == plan::RankUse::stages && !pipeline)) continue;
      if (strategy.refuse && strategy.refuse(strategy.pipe(spec))) continue;
      auto two = plan::plan_of_two_copies(spec, chain(6), profile);
      if (!two) continue;
      plan::Plan all = plan::make_plan(spec, chain(6), profile, 1);
      if (copies == 4) two->placement = all.placement = in_blocks(spec.np, 2);
      expect_same(predict_copies(*two, chain(6), *exclusive, *sheet.memory, 5, 20),
                  predict(all, chain(6), *exclusive, *sheet.memory, 5, 20), text_of(spec));
      ++compared;
    }
  }
  EXPECT_GT(compared, 20);
}

// Activations, their gradients and sums meet on the links of ranks, which shared make steps longer.
TEST(PredictAtScale, TwoCopiesShareTheirLinksAsAllDo) {
  const Link link{.latency_s = 1e-6, .bytes_per_s = 1e6};
  const Costs sheet = data_sheet_costs({.cores = 4}, Sizes(chain(6)));
  const auto time =
      over_link(exclusive_times(data_sheet_costs({.cores = 4}, Sizes(chain(6))).time), link, Sizes(chain(6)));
  const plan::Profile profile(std::vector<double>(6, 1.0));
  Case spec = case_of("1f1b", 9, 36, 4);
  spec.dp = 3;
  const auto two = plan::plan_of_two_copies(spec, chain(6), profile);
  ASSERT_TRUE(two);
  const plan::Plan all = plan::make_plan(spec, chain(6), profile, 1);
  const double step_s = predict(all, chain(6), *time, *sheet.memory, 5, 20).step_time_s;
  EXPECT_NEAR(predict_copies(*two, chain(6), *time, *sheet.memory, 5, 20).step_time_s, step_s, 1e-9 * step_s);
}

TEST(PredictAtScale, MoreRanksThanAHostHoldsAreOnAsManyAsHaveACoreForEachThread) {
  const MachineInfo machine{.cores = 8};
  const auto hosts = [&](int np, int threads, DeviceKind device = DeviceKind::cpu) {
    Case spec = case_of("data-parallel", np, np);
    spec.threads = threads;
    spec.device = device;
    return hosts_of(machine, spec);
  };
  EXPECT_EQ(hosts(8, 1), 1);
  EXPECT_EQ(hosts(64, 1), 1);
  EXPECT_EQ(hosts(65, 1), 9);
  EXPECT_EQ(hosts(128, 4), 64);
  EXPECT_EQ(hosts(128, 16), 128);
  EXPECT_EQ(hosts(1024, 1, DeviceKind::cuda), 1);
  EXPECT_EQ(hosts(1024, 1, DeviceKind::emulated), 1);
}

TEST(PredictAtScale, RanksOnHostsOfTheirOwnTakeWhatTheyTakeWithTheirHostBusy) {
  const MachineInfo machine{.cores = 2, .frequency_hz = 2e9, .vector_bits = 256};
  Case spec = case_of("data-parallel", 64, 64);
  const plan::Plan plan = test_plan(spec, 3);
  const Costs spread = data_sheet_costs_of(spec, machine, Sizes(chain(3)));
  const Costs host = data_sheet_costs(machine, Sizes(chain(3)));
  EXPECT_EQ(spread.time->cores(), 0);
  EXPECT_EQ(spread.time->assumption(plan), "hosts of 2 cores, 2 ranks on each");
  const plan::Op sum = plan::all_reduce(SegmentId(0), 3, StepId(0), GroupId(0));
  EXPECT_EQ(spread.time->link_assumption(plan, Rank(0), sum), "32 hosts of 2 cores, 2 ranks on each");
  const plan::Op op = plan.ranks[0].compute().front();
  EXPECT_EQ(spread.time->seconds(plan, Rank(0), op, 1), host.time->seconds(plan, Rank(0), op, 2));
  EXPECT_LT(spread.time->seconds(plan, Rank(0), op, 64), host.time->seconds(plan, Rank(0), op, 64));
  spec.np = 16;
  EXPECT_EQ(data_sheet_costs_of(spec, machine, Sizes(chain(3))).time->cores(), 2);
}

TEST(PredictAtScale, HostsThatGetOtherCoresKeepTheirRanks) {
  const MachineInfo known{.cores = 2, .frequency_hz = 2e9, .vector_bits = 256};
  const auto with = [&](int cores, int np) {
    MachineInfo changed = known;
    changed.cores = cores;
    return data_sheet_costs_of(case_of("data-parallel", np, np), changed, Sizes(chain(3)), {}, known).time;
  };
  const plan::Plan plan = test_plan(case_of("data-parallel", 24, 24), 3);
  const plan::Op op = plan.ranks[0].compute().front();
  const auto seconds = [&](int cores) { return with(cores, 24)->seconds(plan, Rank(0), op, 24); };
  EXPECT_EQ(with(4, 24)->assumption(plan), "hosts of 4 cores, 2 ranks on each") << "not one that holds all 24";
  EXPECT_LE(seconds(4), seconds(2));
  EXPECT_LT(seconds(2), seconds(1)) << "two ranks share the core of each host";
  EXPECT_EQ(with(1, 16)->cores(), 1) << "which one host of two cores held";
}

}  // namespace
}  // namespace parabench::analytic
