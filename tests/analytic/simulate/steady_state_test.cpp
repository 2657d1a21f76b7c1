#include "analytic/simulate/steady_state.h"

#include <gtest/gtest.h>

#include <string>

#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

SteadyState unit_state(const std::string& strategy, int devices, int micro_batches) {
  return steady_state(pipeline(strategy, devices, micro_batches), *unit_costs().time);
}

// P = 4, M = 8, tF = tI = tW = 1; alone 27 and 25.5.
TEST(SteadyState, ZeroBubbleSchedulesHaveNoneBetweenSteps) {
  for (const char* strategy : {"zb-h2", "zb-v"}) {
    EXPECT_DOUBLE_EQ(unit_state(strategy, 4, 8).step_s, 24) << strategy;
    for (const int devices : {2, 4, 8}) {
      const SteadyState state = unit_state(strategy, devices, 2 * devices);
      EXPECT_NEAR(state.step_s, 6 * devices, 1e-9) << strategy << ' ' << devices;
      EXPECT_NEAR(state.bubble_fraction, 0, 1e-12) << strategy << ' ' << devices;
    }
  }
}

// Bubble of zb-h2: (P - 1) max(0, tF + tI - 2 tW, tI - tF).
TEST(SteadyState, ZbH2KeepsTheBubbleThatItsPassesForce) {
  const plan::Plan plan = pipeline("zb-h2", 4, 8);
  const auto step = [&](double forward, double input, double weight) {
    return steady_state(plan, HandCosts(KindSeconds{.forward = forward, .input = input, .weight = weight})).step_s;
  };
  EXPECT_NEAR(step(1, 1.25, 1), 8 * 3.25 + 3 * .25, 1e-9);
  EXPECT_NEAR(step(1, 1, .75), 8 * 2.75 + 3 * .5, 1e-9);
  EXPECT_NEAR(step(1, .75, 1), 8 * 2.75, 1e-9);
}

TEST(SteadyState, IsThatOfAStepAloneWhereTheLastDeviceEndsAsTheFirstBegins) {
  for (const std::string& strategy :
       {std::string("gpipe"), std::string("1f1b"), std::string("dapple"), std::string("interleaved"),
        std::string("looped-bfs"), split_schedules().front()}) {
    const plan::Plan plan = pipeline(strategy, 4, 8);
    const plan::Timeline alone = simulate(plan, *unit_costs().time);
    const SteadyState state = steady_state(plan, *unit_costs().time);
    EXPECT_NEAR(state.step_s, plan::makespan(alone), 1e-9) << strategy;
    EXPECT_NEAR(state.bubble_fraction, plan::bubble_fraction(plan, alone), 1e-12) << strategy;
  }
  EXPECT_NEAR(unit_state("chimera", 4, 4).step_s, 16, 1e-9);
}

TEST(SteadyState, CountsRecomputedPassesAsBusy) {
  const plan::Plan plan = test_plan(case_of("sequential", 1, 4), 3);
  Case spec = plan.spec;
  spec.recompute = Recompute::all;
  const SteadyState state = steady_state(test_plan(spec, 3), *unit_costs().time);
  EXPECT_NEAR(state.step_s, 4, 1e-12);
  EXPECT_NEAR(state.bubble_fraction, 0, 1e-12);
}

}  // namespace
}  // namespace parabench::analytic
