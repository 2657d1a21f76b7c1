#include "analytic/calibration/process_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analytic/calibration/combine.h"
#include "analytic/costs/costs.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// A launch that measured the first `layers` of a chain of two, which differ: the second is none that images go into.
Calibration launch(const std::string& date, int ranks, std::int64_t process_bytes, int layers = 2) {
  const Sizes sizes{chain(2)};
  Calibration one;
  one.date = date;
  one.ranks = ranks;
  one.process_bytes = process_bytes;
  for (int l = 0; l < layers; ++l)
    one.layers[layer_key(sizes.signature(l), l == 0, {}, 1)] = {{.samples = 1, .forward_s = 1, .backward_s = 2}};
  return one;
}

std::int64_t of(std::vector<Calibration> launches, const Case& spec) {
  return process_bytes(combined(std::move(launches)), chain(2), spec);
}

TEST(ProcessBytes, AreTheMedianOfTheLaunchesThatMeasuredTheWholeModel) {
  const Case spec = case_of("sequential", 1, 1);
  EXPECT_EQ(of({launch("a", 1, 100)}, spec), 100);
  EXPECT_EQ(of({launch("a", 1, 100), launch("b", 1, 130), launch("c", 1, 110)}, spec), 110);
  EXPECT_EQ(of({launch("a", 1, 100), launch("b", 1, 900, 1)}, spec), 100) << "of another model";
  EXPECT_EQ(of({launch("a", 1, 900, 1)}, spec), 0);
  EXPECT_EQ(of({launch("a", 1, 100), launch("b", 1, 0)}, spec), 100) << "one of an older version tells nothing";
}

TEST(ProcessBytes, AreOfLaunchesOfWhateverRanks) {
  const std::vector<Calibration> launches = {launch("a", 1, 100), launch("b", 2, 150), launch("c", 4, 900)};
  for (const int np : {2, 4, 8})
    EXPECT_EQ(of(launches, case_of("gpipe", np, np)), 150) << "no single launch whose allocator kept more decides";
}

TEST(ProcessBytes, AreOfLaunchesUnderTheKeysOfTheCase) {
  Case spec = case_of("sequential", 1, 1);
  spec.threads = 2;
  EXPECT_EQ(of({launch("a", 1, 100)}, spec), 0);
}

TEST(ProcessBytes, AreUnknownWhereARankHasNoProcessOfItsOwnOnTheProcessor) {
  const auto with = [](int np, auto change) {
    Case spec = case_of(np > 1 ? "gpipe" : "sequential", np, np);
    change(spec);
    return of({launch("a", np, 100)}, spec);
  };
  EXPECT_EQ(with(2, [](Case& spec) { spec.comm = CommKind::mpi; }), 100);
  EXPECT_EQ(with(2, [](Case& spec) { spec.comm = CommKind::threads; }), 0);
  EXPECT_EQ(with(1, [](Case& spec) { spec.comm = CommKind::threads; }), 100) << "nobody else is in its process";
  EXPECT_EQ(with(1, [](Case& spec) { spec.device = DeviceKind::emulated; }), 0);
  EXPECT_EQ(with(1, [](Case& spec) { spec.device = DeviceKind::cuda; }), 0);
}

TEST(ProcessBytes, AreWhatCalibratedCostsSayOfTheProcess) {
  const Calibration calibration = launch("a", 1, 100);
  const plan::Plan plan = test_plan(case_of("sequential", 1, 1), 2);
  EXPECT_EQ(calibrated_costs(calibration, chain(2)).memory->process_bytes(plan), 100);
  EXPECT_EQ(data_sheet_costs({.cores = 2}, chain(2)).memory->process_bytes(plan), 0) << "no sheet tells";
}

}  // namespace
}  // namespace parabench::analytic
