// Passes that slow each other down by more than the cores that they share.
#include "analytic/costs/contention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analytic/simulate/jitter.h"
#include "analytic/simulate/simulate.h"
#include "base/placement.h"
#include "base/statistics.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr Crowd both{.ranks = 2};

double beside(const Contended& pass, const Contended& other) { return seconds_beside(pass, other.excess, 2); }

TEST(Contention, BesideItsLikeAPassTakesWhatWasMeasured) {
  for (const double crowded_s : {1.0, 1.5, 3.0}) {
    const Contended pass = contended(1, crowded_s, both, 2);
    for (const double at_once : {1.0, 2.0, 3.0})
      EXPECT_NEAR(seconds_beside(pass, pass.excess, at_once), crowded_s, 1e-12);
  }
}

TEST(Contention, BesideOthersBothLoseWhatAMemoryInFullUseMakesThemWait) {
  // By themselves they ask for 0.8, 0.6 and half of its rate.
  const Contended heavy = contended(1, 1.6, both, 2), light = contended(1, 1.2, both, 2),
                  half = contended(1, 1, both, 2);
  EXPECT_NEAR(beside(heavy, light), 0.8 + 0.6, 1e-12);
  EXPECT_NEAR(beside(light, heavy), 0.8 + 0.6, 1e-12);
  EXPECT_NEAR(beside(half, light), 0.5 + 0.6, 1e-12);
}

TEST(Contention, OfThreeWithACoreEachEachLosesWhatAllTogetherAskForTooMuch) {
  constexpr Crowd three{.ranks = 3};
  const Contended heavy = contended(1, 3 * 0.8, three, 3), light = contended(1, 3 * 0.5, three, 3);
  EXPECT_NEAR(seconds_beside(heavy, (heavy.excess + light.excess) / 2, 3), 0.8 + 0.8 + 0.5, 1e-12);
  EXPECT_NEAR(seconds_beside(light, heavy.excess, 3), 0.8 + 0.8 + 0.5, 1e-12);
}

TEST(Contention, RanksWhoseThreadsWantMoreThanTheCoresEachTakeTurnsFromTheFirstOn) {
  const auto by_cores = [](int ranks, int threads, int cores) {
    plan::Plan plan = data_parallel(ranks, 1);
    plan.spec.threads = threads;
    return crowd_of(plan, cores).by_cores;
  };
  EXPECT_EQ(by_cores(4, 1, 2), 2);
  EXPECT_EQ(by_cores(2, 4, 2), 2) << "alone each had half of the cores that it wants";
  EXPECT_EQ(by_cores(2, 1, 8), 1);
}

TEST(Contention, ItsShareOfTheCoresAPassLosesBesideAnyOther) {
  // Four ranks on two cores: twice as long with all of them, on a line from one.
  const Contended pass = contended(1, 2 * 1.25, {.ranks = 4, .by_cores = 2}, 4);
  EXPECT_DOUBLE_EQ(pass.by_cores_s, 2);
  EXPECT_DOUBLE_EQ(pass.excess, 0.25);
  EXPECT_DOUBLE_EQ(contended(3, 9, {.ranks = 4, .by_cores = 2}, 2).by_cores_s, 4);
}

TEST(Contention, WhoTakesNoLongerThanByCoresHasNoneToExplain) {
  const Contended pass = contended(1, 1.5, {.ranks = 4, .by_cores = 2}, 4);
  EXPECT_EQ(pass.by_cores_s, 1.5);
  EXPECT_EQ(pass.excess, 0);
  EXPECT_EQ(contended(1, 5, {.ranks = 4, .by_cores = 2}, 1).by_cores_s, 5) << "nobody is beside it";
  EXPECT_EQ(contended(0, 1, both, 2).excess, 0) << "of nothing nobody knows a share";
}

/// When the forwards of two ranks end that begin together, of a second each where it runs alone; beside its like each
/// takes so much longer.
std::vector<double> ends_of_forwards(double of_first, double of_second) {
  const HandCosts costs(
      [=](Rank rank, const plan::Op& op, int busy) {
        if (op.kind != plan::OpKind::forward) return 0.0;
        return 1 + (rank == Rank(0) ? of_first : of_second) * (busy - 1);
      },
      8);
  const plan::Timeline t = simulate(data_parallel(2, 1), costs);
  return {t.ranks[0][0][0].end, t.ranks[1][0][0].end};
}

/// Passes of one second alone and 1.6 beside their like; ranks are apart by a tenth then, and by nothing alone.
class UnevenBesideEachOther final : public TimeModel {
 public:
  TimeParts parts(const plan::Plan&, Rank, const plan::Op& op, int busy) const override {
    return {.compute = plan::is_pass(op.kind) ? 1 + 0.6 * (busy - 1) : 0.0};
  }
  double deviation_s(const plan::Plan&, Rank, const plan::Op&, int busy) const override { return busy == 1 ? 0 : 0.1; }
  int cores() const override { return 8; }
  std::string source() const override { return "calibrated"; }
};

TEST(Contention, DoesNotEvenOutThatARankIsSlowInAStep) {
  const plan::Plan plan = data_parallel(2, 1);
  const UnevenBesideEachOther base;
  const Jittered jittered(base, plan);
  const plan::Timeline t = simulate(plan, jittered);
  const double of_first = t.ranks[0][0][0].end, of_second = t.ranks[1][0][0].end;
  // Once the faster one has gone on to its backward nothing changes for the slower one: that is a pass, too.
  EXPECT_NEAR(std::max(of_first, of_second), 1.6 + normal_scores(2).back() * 0.1 * deviation_per_mad, 1e-12);
  EXPECT_NEAR(std::min(of_first, of_second), 1.6 - normal_scores(2).back() * 0.1 * deviation_per_mad, 1e-12);
}

TEST(Contention, OnUnequalHostsTheFullestOneTellsWhatTurnsTake) {
  // Three ranks of one host and two of another, of two cores each. Measured with one busy rank and with three, which
  // take turns, so that on a line two take 1.25 times as long by cores: of what the last rank takes, 1.4 is left.
  const HandCosts costs(
      [](Rank rank, const plan::Op& op, int busy) {
        if (!plan::is_pass(op.kind)) return 0.0;
        return rank == Rank(4) ? 1 + 0.75 * (busy - 1) : 1.0;
      },
      2);
  plan::Plan plan = data_parallel(5, 1);
  plan.placement = in_blocks(5, 2);
  const plan::Timeline t = simulate(plan, costs);
  EXPECT_NEAR(t.ranks[3][0][0].end, 1.2, 1e-12);
  EXPECT_NEAR(t.ranks[4][0][0].end, 1.25 * 1.2, 1e-12);
}

TEST(Contention, InASimulationPassesSufferFromWhatRunsBesideThem) {
  EXPECT_NEAR(ends_of_forwards(0.6, 0.6)[0], 1.6, 1e-12);
  for (const double end : ends_of_forwards(0.6, 0.2)) EXPECT_NEAR(end, 1.4, 1e-12);
  for (const double end : ends_of_forwards(0.2, 0.6)) EXPECT_NEAR(end, 1.4, 1e-12);
}

TEST(Contention, BesideAnUpdateAPassTakesWhatItTakesBesideItsLike) {
  // The last stage of two updates while the first one's backward runs, which takes a second by itself.
  const HandCosts costs(
      [](Rank rank, const plan::Op& op, int busy) {
        if (op.kind == plan::OpKind::backward) return 1 + 0.6 * (busy - 1);
        return op.kind == plan::OpKind::update && rank == Rank(1) ? 3.0 : 0.0;
      },
      8);
  const plan::Plan plan = gpipe(2, 1);
  const std::vector<plan::Op>& of_first = plan.ranks[0].compute();
  const auto backward = std::ranges::find(of_first, plan::OpKind::backward, &plan::Op::kind);
  ASSERT_NE(backward, of_first.end());
  const plan::Span span = simulate(plan, costs).ranks[0][0][backward - of_first.begin()];
  EXPECT_NEAR(span.end - span.start, 1.6, 1e-12);
}

}  // namespace
}  // namespace parabench::analytic
