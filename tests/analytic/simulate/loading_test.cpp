#include "analytic/simulate/loading.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "analytic/costs/costs.h"
#include "analytic/simulate/predict.h"
#include "analytic/simulate/step_parts.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using ::testing::ElementsAre;

/// Forwards of 1 s and backwards of 2; loaders of ranks beside each other get in each other's way.
class LoadedTimes final : public TimeModel {
 public:
  explicit LoadedTimes(double load_s) : load_s_(load_s) {}
  TimeParts parts(const plan::Plan&, Rank rank, const plan::Op& op, int busy) const override {
    return {.compute = KindSeconds{}(rank, op, busy)};
  }
  double load_s_per_sample(const plan::Plan&, int loading_ranks) const override { return load_s_ * loading_ranks; }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }

 private:
  double load_s_;
};

Predicted predicted(const plan::Plan& plan, int layers, double load_s) {
  return predict(plan, chain(layers), LoadedTimes(load_s), *unit_costs().memory, 1, 3);
}

TEST(Loading, EachReplicaReadsItsPartOfTheBatch) {
  EXPECT_THAT(loading_s(test_plan(case_of("data-parallel", 2, 6), 2), LoadedTimes(1)), ElementsAre(3 * 2, 3 * 2));
  plan::Plan apart = test_plan(case_of("data-parallel", 2, 6), 2);
  apart.placement = in_blocks(2, 2);
  EXPECT_THAT(loading_s(apart, LoadedTimes(1)), ElementsAre(3, 3)) << "each alone on its host";
}

TEST(Loading, OfAPipelineItsFirstRankReadsAll) {
  EXPECT_THAT(loading_s(gpipe(3, 4), LoadedTimes(1)), ElementsAre(4, 0, 0));
}

TEST(Loading, RanksThatShareAStageReadByTurns) {
  Case spec = case_of("pipedream", 3, 4);
  spec.strategy.parameters = {{"replicas", "2-1"}};
  EXPECT_THAT(loading_s(test_plan(spec, 2, 8), LoadedTimes(1)), ElementsAre(4, 4, 0)) << "2 samples a step, 2 ranks";
}

TEST(Loading, ServersReadNothing) {
  Case spec = case_of("parameter-server", 3, 4);
  const std::vector<double> seconds = loading_s(test_plan(spec, 2), LoadedTimes(1));
  EXPECT_EQ(std::ranges::count(seconds, 0.0), 1);
}

TEST(Loading, TermsOfTheBusiestRankAddUpToTheStep) {
  plan::Plan again = test_plan(
      [] {
        Case spec = case_of("gpipe", 2, 4);
        spec.recompute = Recompute::all;
        return spec;
      }(),
      2);
  for (const double load_s : {0.0, 10.0}) {
    for (const plan::Plan& plan : {gpipe(2, 4), again}) {
      const Predicted p = predicted(plan, 2, load_s);
      double sum = 0;
      std::set<std::string> parts;
      for (const Term& term : p.terms) {
        if (!term.name.ends_with(fmt::format("[busiest rank {}]", busiest_rank(p.ranks).value))) continue;
        sum += term.value;
        parts.insert(term.name.substr(0, term.name.find('[')));
      }
      EXPECT_NEAR(sum, p.step_time_s, 1e-9);
      EXPECT_EQ(parts.contains("step_recompute"), plan.spec.recompute == Recompute::all);
      EXPECT_EQ(parts.contains("step_data_wait"), load_s > 0);
    }
  }
}

TEST(Loading, AStepTakesAsLongAsTheSlowestLoader) {
  const Predicted at_once = predicted(gpipe(2, 4), 2, 0), late = predicted(gpipe(2, 4), 2, 10);
  // Four samples of 10 s, and half of the 12 s in which the rank computes on the same core.
  EXPECT_DOUBLE_EQ(late.step_time_s, 46);
  EXPECT_DOUBLE_EQ(late.throughput_samples_per_s, 4. / 46);
  EXPECT_EQ(late.interval_s, std::pair(46., 46.));
  EXPECT_EQ(late.isolated_step_time_s, at_once.isolated_step_time_s);
  const double wait = 46 - at_once.step_time_s;
  EXPECT_DOUBLE_EQ(late.ranks[0].breakdown_s.data_wait, wait);
  EXPECT_DOUBLE_EQ(late.ranks[1].breakdown_s.data_wait, 0);
  EXPECT_DOUBLE_EQ(late.ranks[1].breakdown_s.bubble, at_once.ranks[1].breakdown_s.bubble + wait);
  EXPECT_TRUE(at_once.timeline);
  EXPECT_FALSE(late.timeline);
}

TEST(Loading, ALoaderLosesToComputingWhatItCannotHaveOfTheRanksCores) {
  const auto step_s = [](DeviceKind device, int threads, int loaders) {
    plan::Plan plan = gpipe(2, 4);
    plan.spec.device = device;
    plan.spec.threads = threads;
    plan.spec.loader = loaders;
    return predicted(plan, 2, 10).step_time_s;
  };
  EXPECT_DOUBLE_EQ(step_s(DeviceKind::cuda, 1, 1), 40);
  EXPECT_DOUBLE_EQ(step_s(DeviceKind::cpu, 3, 1), 40 + 12. / 4);
  EXPECT_DOUBLE_EQ(step_s(DeviceKind::cpu, 1, 3), 40 + 12. / 4) << "a fourth of a core each, alone a third";
}

TEST(Loading, SamplesThatAreThereInTimeChangeNothing) {
  const Predicted at_once = predicted(gpipe(2, 4), 2, 0), loaded = predicted(gpipe(2, 4), 2, .1);
  EXPECT_EQ(loaded.step_time_s, at_once.step_time_s);
  EXPECT_EQ(loaded.ranks[0].breakdown_s, at_once.ranks[0].breakdown_s);
  const auto term = std::ranges::find(loaded.terms, "loading[rank 0]", &Term::name);
  ASSERT_NE(term, loaded.terms.end());
  EXPECT_DOUBLE_EQ(term->value, .4);
}

}  // namespace
}  // namespace parabench::analytic
