// What plans are cut by, from measurements and from the data sheet.
#include "analytic/calibration/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analytic/costs/costs.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const MachineInfo machine{.cores = 2, .frequency_hz = 1e9};
const models::ModelSpec model = chain(3);  // layers of 16 parameters, 64 bytes each

/// Passes of two samples take 1 s + 2 s, an update of a parameter half a second, alone and on several ranks.
Calibration measured() {
  Calibration known;
  known.machine = machine;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    for (const int busy : {1, 2, 4}) {
      const LayerTiming timing{.samples = 2, .forward_s = 1, .backward_s = 2};
      known.layers[layer_key(model.layers[l], model.input, l == 0, {}, busy)] = std::vector<LayerTiming>(1, timing);
    }
  }
  known.update_s_per_parameter[update_key({})] = {{1, .5}, {4, .5}};
  return known;
}

TEST(Profile, HasTheUpdatesBesideThePasses) {
  Calibration known = measured();
  Case spec = case_of("gpipe", 2, 8, 4);
  const auto profile = [&] { return make_profile(&known, machine, model, spec); };
  EXPECT_THAT(profile().seconds, ElementsAre(3, 3, 3));
  EXPECT_THAT(profile().update_seconds, ElementsAre(8, 8, 8));
  // SGD with momentum moves 5 words of each parameter, adding 3.
  EXPECT_THAT(profile().adding_seconds, Each(DoubleEq(4.8)));
  EXPECT_THAT(profile().seconds_per_piece(4), Each(DoubleEq(5 + 3.6)));
  known.update_s_per_parameter.clear();
  EXPECT_THAT(profile().seconds, ElementsAre(3, 3, 3));
  EXPECT_EQ(profile().update_seconds, make_profile(nullptr, machine, model, spec).update_seconds)
      << "never measured: those of the data sheet";
  EXPECT_THAT(profile().update_seconds, AllOf(SizeIs(3), Each(Gt(0))));
}

TEST(Profile, CountsForwardsThatRunAgain) {
  const Calibration known = measured();
  Case spec = case_of("gpipe", 2, 8, 4);
  const auto per_piece = [&](Recompute recompute) {
    spec.recompute = recompute;
    return make_profile(&known, machine, model, spec).seconds_per_piece(4);
  };
  const double added = 3.6;
  EXPECT_THAT(per_piece(Recompute::none), Each(DoubleEq(5 + added)));
  EXPECT_THAT(per_piece(Recompute::all), Each(DoubleEq(6 + added)));
  EXPECT_THAT(per_piece(Recompute::except_last), Each(DoubleEq(5.75 + added)));
  EXPECT_THAT(per_piece(Recompute::automatic), Each(DoubleEq(5 + added)));
}

TEST(Profile, HasTheShareThatACopyUpdates) {
  const Calibration known = measured();
  Case spec = case_of("gpipe", 4, 16, 4);
  spec.dp = 2;
  EXPECT_THAT(make_profile(&known, machine, model, spec).update_seconds, ElementsAre(8, 8, 8));
  spec.zero = 1;
  EXPECT_THAT(make_profile(&known, machine, model, spec).update_seconds, ElementsAre(4, 4, 4));
}

TEST(Profile, HasTheRateOfSumsAmongEachNumberOfReplicas) {
  Calibration known = measured();
  Case spec = case_of("pipedream", 4, 2);
  spec.strategy.parameters = {{"replicas", "auto"}};
  known.point_to_point[message_key(spec, false)] = {{0, 1}, {1000, 2}};
  const auto profile = [&] { return make_profile(&known, machine, model, spec); };
  EXPECT_DOUBLE_EQ(profile().link_bytes_per_s, 1000);
  EXPECT_THAT(profile().ring_bytes_per_s, IsEmpty()) << "nobody measured any";
  // Three ranks sum 192 bytes in 2 s: a ring moves 4/3 of them.
  known.all_reduce[reduction_key(spec, {.ranks = 3})] = {{0, 1}, {192, 3}};
  EXPECT_THAT(profile().ring_bytes_per_s, ElementsAre(DoubleEq(128), DoubleEq(128), DoubleEq(128)));
  known.all_reduce[reduction_key(spec, {.ranks = 2})] = {{0, 1}, {192, 2}};
  EXPECT_THAT(profile().ring_bytes_per_s, ElementsAre(DoubleEq(192), DoubleEq(128), DoubleEq(128)));
  EXPECT_DOUBLE_EQ(profile().link_bytes_per_s, 1000) << "messages are no faster for it";
  EXPECT_THAT(make_profile(nullptr, machine, model, spec).ring_bytes_per_s, AllOf(SizeIs(3), Each(Gt(0))));
  spec.strategy.parameters.clear();
  EXPECT_THAT(profile().ring_bytes_per_s, IsEmpty()) << "nobody plans replicas";
}

TEST(Profile, OfManyRanksHasTheRatesOfPowersOfTwo) {
  Case spec = case_of("pipedream", 100, 2);
  spec.strategy.parameters = {{"replicas", "auto"}};
  const std::vector<double> rates = make_profile(nullptr, machine, model, spec).ring_bytes_per_s;
  ASSERT_THAT(rates, SizeIs(99));
  for (const int m : {33, 40, 63}) EXPECT_EQ(rates[m - 2], rates[32 - 2]) << m;
}

}  // namespace
}  // namespace parabench::analytic
