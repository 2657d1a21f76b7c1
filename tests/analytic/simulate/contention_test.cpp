// Passes that slow each other down by more than the cores that they share.
#include "analytic/simulate/contention.h"

#include <gtest/gtest.h>

#include <vector>

#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr Crowd both{.busy = 2, .all = 2};

TEST(Contention, BesideItsLikeAPassTakesWhatWasMeasured) {
  for (const double crowded_s : {1.0, 1.5, 3.0}) {
    const Contended pass = contended(1, crowded_s, both);
    EXPECT_NEAR(seconds_beside(pass, pass.excess), crowded_s, 1e-12);
  }
}

TEST(Contention, BesideOthersBothLoseWhatAMemoryInFullUseMakesThemWait) {
  // By themselves they ask for 0.8, 0.6 and half of its rate.
  const Contended heavy = contended(1, 1.6, both), light = contended(1, 1.2, both), half = contended(1, 1, both);
  EXPECT_NEAR(seconds_beside(heavy, light.excess), 0.8 + 0.6, 1e-12);
  EXPECT_NEAR(seconds_beside(light, heavy.excess), 0.8 + 0.6, 1e-12);
  EXPECT_NEAR(seconds_beside(half, light.excess), 0.5 + 0.6, 1e-12);
}

TEST(Contention, ItsShareOfTheCoresAPassLosesBesideAnyOther) {
  // Four ranks on two cores: twice as long with all of them, on a line from one.
  const Contended pass = contended(1, 2 * 1.25, {.busy = 4, .all = 4, .wanted = 2});
  EXPECT_DOUBLE_EQ(pass.by_cores_s, 2);
  EXPECT_DOUBLE_EQ(pass.excess, 0.25);
  EXPECT_DOUBLE_EQ(contended(3, 9, {.busy = 2, .all = 4, .wanted = 2}).by_cores_s, 4);
}

TEST(Contention, WhoTakesNoLongerThanByCoresHasNoneToExplain) {
  const Contended pass = contended(1, 1.5, {.busy = 4, .all = 4, .wanted = 2});
  EXPECT_EQ(pass.by_cores_s, 1.5);
  EXPECT_EQ(pass.excess, 0);
  EXPECT_EQ(contended(1, 5, {.busy = 1, .all = 4, .wanted = 2}).by_cores_s, 5) << "nobody is beside it";
  EXPECT_EQ(contended(0, 1, both).excess, 0) << "of nothing nobody knows a share";
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

TEST(Contention, InASimulationPassesSufferFromWhatRunsBesideThem) {
  EXPECT_NEAR(ends_of_forwards(0.6, 0.6)[0], 1.6, 1e-12);
  for (const double end : ends_of_forwards(0.6, 0.2)) EXPECT_NEAR(end, 1.4, 1e-12);
  for (const double end : ends_of_forwards(0.2, 0.6)) EXPECT_NEAR(end, 1.4, 1e-12);
}

}  // namespace
}  // namespace parabench::analytic
