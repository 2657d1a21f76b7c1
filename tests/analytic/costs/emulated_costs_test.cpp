// Times of emulated devices whose link is given.
#include <gtest/gtest.h>

#include "analytic/calibration/profile.h"
#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/simulate/predict.h"
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

// Each of p workers sends each of k servers a k-th: the links of servers carry p of them, those of workers k.
TEST(EmulatedLink, OfWorkerOrServerLimitsWhatServersShare) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  for (const auto& [workers, servers] : {std::pair(3, 2), {2, 4}, {4, 4}}) {
    Case served = case_of("parameter-server", workers + servers, 2 * workers);
    served.strategy.parameters = {{"servers", std::to_string(servers)}, {"cut", "tensors"}};
    served.device = DeviceKind::emulated;
    served.comm = CommKind::threads;
    const plan::Plan plan = test_plan(served, 4);
    const plan::Op push = plan::send_gradients(SegmentId(0), 4, StepId(0), plan.servers[0], GroupId(0));
    EXPECT_DOUBLE_EQ(time->seconds(plan, Rank(0), push, workers),
                     1e-3 + std::max(workers, servers) * (4 * layer_bytes / servers) / 1e5);
  }
}

TEST(EmulatedLink, OfAServerIsNoFasterThanItsRateWhoeverWaits) {
  const models::ModelSpec model = chain(4);
  constexpr double rate = 1e5, range_s = 4 * layer_bytes / rate;
  // Passes and latency that hardly count.
  const auto time = over_link(unit_costs(1e-6).time, {.latency_s = 1e-6, .bytes_per_s = rate}, Sizes(model));
  const auto step_s = [&](int workers, const NamedChoice& strategy) {
    Case spec = case_of("parameter-server", workers + 1, 2 * workers);
    spec.strategy = strategy;
    spec.device = DeviceKind::emulated;
    spec.comm = CommKind::threads;
    const plan::Plan plan = test_plan(spec, 4, 6 * workers);
    return predict(plan, model, *time, *data_sheet_costs(MachineInfo{.cores = 2}, model).memory, 2 * workers,
                   4 * workers)
        .step_time_s;
  };
  for (const int workers : {2, 3, 7}) {
    const double async_s = step_s(workers, {"parameter-server", {{"mode", "async"}}});
    EXPECT_GE(async_s, range_s) << workers;
    EXPECT_LE(async_s, 1.01 * range_s) << workers;
    EXPECT_GE(step_s(workers, {"parameter-server", {{"mode", "stale"}, {"k", "4"}}}), workers * range_s) << workers;
    EXPECT_GE(step_s(workers, {"parameter-server", {}}), 2 * workers * range_s) << workers;
  }
}

TEST(EmulatedLink, TermsSayThatItWasGiven) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  const auto memory = data_sheet_costs(MachineInfo{.cores = 2}, model).memory;
  for (const Term& term : predict(gpipe(2, 4), model, *time, *memory, 1, 2).terms)
    EXPECT_EQ(term.cost_source, term.name.starts_with("message[") ? "given" : "unit") << term.name;
  int sums = 0;
  for (const Term& term : predict(data_parallel(2, 4), model, *time, *memory, 1, 2).terms)
    sums += term.cost_source == "given" && term.name.starts_with("all_reduce[");
  EXPECT_EQ(sums, 4);
}

TEST(EmulatedLink, DecidesInWhichOrderSumsAreMade) {
  const models::ModelSpec model = chain(8);
  Case spec = case_of("data-parallel", 2, 4);
  spec.order = {"priority", {}};
  const MachineInfo machine{.cores = 2, .frequency_hz = 1e9};
  const auto profile = [&](double bytes_per_s) {
    return make_profile(nullptr, machine, model, spec, Link{.latency_s = 1e-3, .bytes_per_s = bytes_per_s});
  };
  EXPECT_DOUBLE_EQ(profile(1e6).sum.latency_s, 2e-3) << "both steps of a ring of two";
  EXPECT_DOUBLE_EQ(profile(1e6).sum.bytes_per_s, 1e6) << "two halves there and back";
  EXPECT_DOUBLE_EQ(profile(1e6).link_bytes_per_s, 1e6);
  EXPECT_NEAR(profile(1e9).sum.bytes_per_s, 1e9, 1);
}

TEST(EmulatedLink, IsTheOneOfClosedForms) { EXPECT_EQ(linked(chain(2))->link(data_parallel(2, 2)), link); }

}  // namespace
}  // namespace parabench::analytic
