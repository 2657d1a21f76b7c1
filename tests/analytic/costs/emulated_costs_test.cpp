// Times of emulated devices whose link is given.
#include <gtest/gtest.h>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr Link link{.latency_s = 1e-3, .bytes_per_s = 1e5};
constexpr double layer_bytes = 64;

std::unique_ptr<const TimeModel> linked(const models::ModelSpec& model) {
  return over_link(unit_costs(1).time, link, Sizes(model));
}

TEST(EmulatedLink, ARingOfAllRanksReducesAndTheOthersTakeTheirShare) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  for (const int p : {2, 3, 8}) {
    const plan::Plan plan = data_parallel(p, 4);
    const auto seconds = [&](const plan::Op& op) { return time->seconds(plan, Rank(0), op, p); };
    const double ring = 2 * (p - 1) * (1e-3 + 4 * layer_bytes / p / 1e5);
    EXPECT_DOUBLE_EQ(seconds(plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0))), ring);
    EXPECT_DOUBLE_EQ(seconds(plan::reduce_scatter(SegmentId(0), 4, StepId(0), GroupId(0))), ring / 2);
    EXPECT_DOUBLE_EQ(seconds(plan::all_gather(SegmentId(0), 4, StepId(0), VersionId(1), GroupId(0))), ring / 2);
    EXPECT_EQ(seconds(plan::forward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0))) * 4, 1)
        << "a unit of the device, over its segments";
  }
}

TEST(EmulatedLink, WorkersShareTheLinkOfTheirServerAndNeighboursShareNone) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  Case served = case_of("parameter-server", 4, 6);
  served.device = DeviceKind::emulated;
  served.comm = CommKind::threads;
  const plan::Plan plan = test_plan(served, 4);
  const plan::Op push = plan::send_gradients(SegmentId(0), 4, StepId(0), Rank(3));
  EXPECT_DOUBLE_EQ(time->seconds(plan, Rank(0), push, 4), 1e-3 + 3 * 4 * layer_bytes / 1e5);
  const plan::Op activation = plan::send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(1));
  EXPECT_DOUBLE_EQ(time->seconds(gpipe(2, 4), Rank(0), activation, 2), 1e-3 + layer_bytes / 1e5);
}

TEST(EmulatedLink, IsTheOneOfClosedForms) { EXPECT_EQ(linked(chain(2))->link(data_parallel(2, 2)), link); }

}  // namespace
}  // namespace parabench::analytic
