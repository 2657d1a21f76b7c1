// Simulated schedules against the formulas of the literature (reference: schedules, sections 3 to 5).
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// The formula in the strategy's row.
std::optional<double> formula(const std::string& strategy, int devices, int micro_batches, int chunks,
                              const plan::PassTimes& times) {
  const plan::Strategy& row = plan::find_strategy(strategy);
  return row.makespan.of({.devices = devices, .micro_batches = micro_batches, .chunks = chunks}, times);
}

/// One step under unit costs against the formula, in whose range it has to be.
void expect_formula(const std::string& strategy, int devices, int micro_batches, int chunks = 2) {
  const auto expected = formula(strategy, devices, micro_batches, chunks, {});
  ASSERT_TRUE(expected.has_value()) << strategy << ' ' << devices << ' ' << micro_batches;
  EXPECT_NEAR(plan::makespan(simulate(pipeline(strategy, devices, micro_batches, chunks), *unit_costs().time)),
              *expected, 1e-9)
      << strategy << " P=" << devices << " M=" << micro_batches << " v=" << chunks;
}

const std::vector<int> micro_batch_counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64};

class ScheduleFormula : public ::testing::TestWithParam<int> {
 protected:
  int devices() const { return GetParam(); }
  /// Those from `least` on, of the counts above and of every multiple of P up to 64.
  std::vector<int> counts(int least) const {
    std::vector<int> result;
    for (int m = least; m <= 64; ++m) {
      if (m % devices() == 0 || std::ranges::find(micro_batch_counts, m) != micro_batch_counts.end())
        result.push_back(m);
    }
    return result;
  }
};

TEST_P(ScheduleFormula, OneStagePerDevice) {
  for (const int m : counts(1)) {
    for (const char* strategy : {"gpipe", "1f1b", "dapple"}) expect_formula(strategy, devices(), m);
  }
}

TEST_P(ScheduleFormula, SeveralStagesPerDevice) {
  for (const int m : counts(1)) {
    for (const int chunks : {2, 4}) {
      const int rounds = std::max(1, m / devices());
      if (m % rounds == 0) expect_formula("interleaved", devices(), m, chunks);
      if (m >= devices()) expect_formula("looped-bfs", devices(), m, chunks);
    }
  }
}

TEST_P(ScheduleFormula, SplitBackward) {
  for (const int m : counts(devices())) expect_formula("zb-h1", devices(), m);
  for (const int m : counts(2 * devices() - 1)) {
    for (const char* strategy : {"zb-h2", "zb-v"}) expect_formula(strategy, devices(), m);
  }
}

TEST_P(ScheduleFormula, DualPipeVWithForwardsBetweenInputGradientsAndBackwards) {
  for (const int m : counts(2 * devices())) {
    for (const plan::PassTimes t :
         {plan::PassTimes{}, {4, 7, 4, 3}, {4, 7, 3, 4}, {4, 5, 1, 4}, {5, 5, 3, 2}, {2, 9, 1, 8}}) {
      const HandCosts costs(KindSeconds{
          .forward = t.forward / 2, .backward = t.backward / 2, .input = t.input / 2, .weight = t.weight / 2});
      const auto expected = formula("dualpipev", devices(), m, 2, t);
      ASSERT_TRUE(expected.has_value()) << m;
      EXPECT_NEAR(plan::makespan(simulate(pipeline("dualpipev", devices(), m), costs)), *expected, 1e-9)
          << m << ' ' << t.weight;
    }
  }
  EXPECT_FALSE(formula("dualpipev", devices(), 2 * devices(), 2, {2, 5, 3, 2}).has_value());
}

TEST_P(ScheduleFormula, ChimeraOfOneUnit) {
  if (devices() % 2 == 0) expect_formula("chimera", devices(), devices());
}

// Of whatever is in the table: its formula, wherever it says that it holds.
TEST_P(ScheduleFormula, OfEveryRowHolds) {
  for (int m = 1; m <= 2 * devices() + 1; ++m) {
    for (const std::string& name : schedules_serving(devices(), m)) {
      const plan::Strategy& row = plan::find_strategy(name);
      const int chunks = row.chunks(Case{});
      if (row.makespan.of && formula(name, devices(), m, chunks, {})) expect_formula(name, devices(), m, chunks);
    }
  }
}

/// Seconds that messages of `c` seconds add to one step under unit costs.
double added_by_latency(const std::string& strategy, int devices, int micro_batches, double c, int chunks = 2) {
  const plan::Plan plan = pipeline(strategy, devices, micro_batches, chunks);
  const double share = 1.0 / static_cast<double>(plan.ranks[0].holds.size());
  KindSeconds costs{.forward = share, .backward = 2 * share, .input = share, .weight = share};
  const double free = plan::makespan(simulate(plan, HandCosts(costs)));
  costs.message = c;
  return plan::makespan(simulate(plan, HandCosts(costs))) - free;
}

TEST_P(ScheduleFormula, LatencyCountsTwicePerBoundaryWhereForwardsRunAhead) {
  for (const int m : counts(1)) {
    for (const double c : {.1, .25, 1.0}) {
      EXPECT_NEAR(added_by_latency("gpipe", devices(), m, c), 2 * (devices() - 1) * c, 1e-9) << m << ' ' << c;
      EXPECT_NEAR(added_by_latency("dapple", devices(), m, c), 2 * (devices() - 1) * c, 1e-9) << m << ' ' << c;
    }
  }
}

TEST_P(ScheduleFormula, LatencyOfOneForwardOneBackwardGrowsWithTheMicroBatches) {
  const int p = devices();
  for (const int m : counts(2)) {
    for (const double c : {.1, .25, 1.0}) {
      EXPECT_NEAR(added_by_latency("1f1b", p, m, c), 2 * c * ((p - 1) + (m - 2) - (m - 2) / p), 1e-9) << m << ' ' << c;
    }
  }
}

TEST_P(ScheduleFormula, LatencyOfInterleavedCountsPerStageBoundary) {
  const int p = devices();
  for (int m = p; m <= 64; m += p) {
    for (const int chunks : {2, 4}) {
      for (const double c : {.1, .25, 1.0 / chunks}) {
        EXPECT_NEAR(added_by_latency("interleaved", p, m, c, chunks), 2 * (chunks * p - 1) * c, 1e-9) << m << ' ' << c;
      }
    }
  }
}

TEST_P(ScheduleFormula, LatencyOfSplitBackward) {
  const int p = devices();
  for (const int m : counts(p + 1)) {
    for (const double c : {.1, .25, .5}) {
      EXPECT_NEAR(added_by_latency("zb-h1", p, m, c), 4 * (p - 1) * c, 1e-9) << m << ' ' << c;
    }
  }
  for (const int m : counts(2 * p - 1)) {
    for (const double c : {.1, .25}) {
      EXPECT_NEAR(added_by_latency("zb-v", p, m, c), (5 * p - 7) * c, 1e-9) << m << ' ' << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ScheduleFormula, ::testing::Range(2, 17));

double unit_seconds(const std::string& strategy, int micro_batches, int chunks = 2) {
  return plan::makespan(simulate(pipeline(strategy, 4, micro_batches, chunks), *unit_costs().time));
}

// P = 4, M = 8; ideal 24.
TEST(Schedules, TakeTheKnownTimes) {
  EXPECT_DOUBLE_EQ(unit_seconds("gpipe", 8), 33);
  EXPECT_DOUBLE_EQ(unit_seconds("1f1b", 8), 33);
  EXPECT_DOUBLE_EQ(unit_seconds("interleaved", 8, 2), 28.5);
  EXPECT_DOUBLE_EQ(unit_seconds("interleaved", 8, 4), 26.25);
  EXPECT_DOUBLE_EQ(unit_seconds("zb-h1", 8), 27);
  EXPECT_DOUBLE_EQ(unit_seconds("zb-h2", 8), 27);
  EXPECT_DOUBLE_EQ(unit_seconds("zb-v", 8), 25.5);
  EXPECT_DOUBLE_EQ(unit_seconds("dualpipev", 8), 25.5);
  EXPECT_DOUBLE_EQ(unit_seconds("chimera", 4), 16);
}

// The same with messages of 0.25: each pair of ranks and direction has a lane, so that nothing queues behind another.
TEST(Schedules, WithLatencyTakeTheTimesOfALanePerPeerAndDirection) {
  EXPECT_NEAR(33 + added_by_latency("gpipe", 4, 8, .25), 34.5, 1e-9);
  EXPECT_NEAR(33 + added_by_latency("1f1b", 4, 8, .25), 37, 1e-9);
  EXPECT_NEAR(28.5 + added_by_latency("interleaved", 4, 8, .25), 32, 1e-9);
  EXPECT_NEAR(25.5 + added_by_latency("zb-v", 4, 8, .25), 28.75, 1e-9);
}

// The forward runs again while the device waits for the gradient, so that the bubble stays (P - 1)(tF + tB).
TEST(Schedules, RecomputeFillsTheBubbleOfTheDrain) {
  for (const char* strategy : {"gpipe", "1f1b"}) {
    for (const int m : {1, 3, 8}) {
      const plan::Plan plan = pipeline(strategy, 4, m, 2, Recompute::all);
      EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, *unit_costs().time)), 4 * m + 3 * 3) << strategy << ' ' << m;
    }
  }
}

}  // namespace
}  // namespace parabench::analytic
