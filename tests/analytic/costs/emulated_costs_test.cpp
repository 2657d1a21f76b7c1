// Times of emulated devices whose link is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analytic/calibration/profile.h"
#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/simulate/predict.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/shared_links.h"
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
    plan::Plan plan = data_parallel(p, 4);
    plan.spec.reduce = ReduceKind::ring;
    const auto seconds = [&](const plan::Op& op) { return time->seconds(plan, Rank(0), op, p); };
    const double ring = 2 * (p - 1) * (1e-3 + 4 * layer_bytes / p / 1e5);
    EXPECT_DOUBLE_EQ(seconds(plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0))), ring);
    EXPECT_DOUBLE_EQ(seconds(plan::reduce_scatter(SegmentId(0), 4, StepId(0), GroupId(0))), ring / 2);
    EXPECT_DOUBLE_EQ(seconds(plan::all_gather(SegmentId(0), 4, StepId(0), VersionId(1), GroupId(0))), ring / 2);
    EXPECT_EQ(seconds(plan::forward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0))) * 4, 1)
        << "a unit of the device, over its segments";
  }
}

TEST(EmulatedLink, TheCasesAlgorithmReduces) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  const auto seconds = [&](ReduceKind reduce, int p) {
    plan::Plan plan = data_parallel(p, 4);
    plan.spec.reduce = reduce;
    return time->seconds(plan, Rank(0), plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0)), p);
  };
  const double bytes_s = 4 * layer_bytes / 1e5;
  EXPECT_DOUBLE_EQ(seconds(ReduceKind::ring, 16), 30 * 1e-3 + 2 * 15. / 16 * bytes_s);
  EXPECT_DOUBLE_EQ(seconds(ReduceKind::halving_doubling, 16), 8 * 1e-3 + 2 * 15. / 16 * bytes_s);
  EXPECT_DOUBLE_EQ(seconds(ReduceKind::halving_doubling, 6), (4 + 2) * 1e-3 + (2 * 3. / 4 + 2) * bytes_s);
  EXPECT_DOUBLE_EQ(seconds(ReduceKind::double_tree, 16), 8 * 1e-3 + 2 * bytes_s);
}

TEST(EmulatedLink, HalvesOfADoubleTreeGoAroundTheRing) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  for (const int p : {2, 3, 16}) {
    plan::Plan plan = data_parallel(p, 4);
    const auto parts = [&](ReduceKind reduce, const plan::Op& op) {
      plan.spec.reduce = reduce;
      return time->parts(plan, Rank(0), op, p);
    };
    for (const plan::Op& half : {plan::reduce_scatter(SegmentId(0), 4, StepId(0), GroupId(0)),
                                 plan::all_gather(SegmentId(0), 4, StepId(0), VersionId(1), GroupId(0))}) {
      EXPECT_EQ(parts(ReduceKind::double_tree, half).latency, parts(ReduceKind::ring, half).latency) << p;
      EXPECT_EQ(parts(ReduceKind::double_tree, half).transfer, parts(ReduceKind::ring, half).transfer) << p;
    }
  }
}

TEST(EmulatedLink, AutoIsWhatRanksOnHostsOfTheirOwnWouldTake) {
  const models::ModelSpec model = chain(4);
  const auto time = linked(model);
  const auto parts = [&](ReduceKind reduce, int p) {
    plan::Plan plan = data_parallel(p, 4);
    plan.spec.reduce = reduce;
    return time->parts(plan, Rank(0), plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0)), p);
  };
  const auto expect_as = [&](ReduceKind reduce, int p) {
    const TimeParts automatic = parts(ReduceKind::automatic, p), named = parts(reduce, p);
    EXPECT_EQ(automatic.latency, named.latency) << p;
    EXPECT_EQ(automatic.transfer, named.transfer) << p;
  };
  expect_as(ReduceKind::halving_doubling, 16);
  expect_as(ReduceKind::ring, 3);
  expect_as(ReduceKind::halving_doubling, 6);  // of so few bytes
  EXPECT_LT(parts(ReduceKind::automatic, 16).latency, parts(ReduceKind::ring, 16).latency);
}

TEST(EmulatedLink, AMessageAloneHasItsWholeRate) {
  const plan::Op activation = plan::send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(1));
  EXPECT_DOUBLE_EQ(linked(chain(4))->seconds(gpipe(2, 4), Rank(0), activation, 2), 1e-3 + layer_bytes / 1e5);
}

Case on_links(const std::string& strategy, int np, int batch) {
  Case spec = case_of(strategy, np, batch);
  spec.device = DeviceKind::emulated;
  spec.comm = CommKind::threads;
  return spec;
}

/// Of the plan's gradients, the moment at which the last of them has come to the servers.
double pushed_s(const Case& spec) {
  const models::ModelSpec model = chain(4);
  const auto time = over_link(unit_costs(1e-9).time, {.latency_s = 0, .bytes_per_s = 1e5}, Sizes(model));
  const plan::Plan plan = test_plan(spec, 4);
  const plan::Timeline timeline = simulate(plan, *time);
  double last = 0;
  for (int r = 0; r < spec.np; ++r)
    for (std::size_t lane = 0; lane < plan.ranks[r].lanes.size(); ++lane)
      if (const plan::LaneKey& key = plan.ranks[r].lanes[lane].key;
          key.kind == plan::LaneKind::receive && key.purpose == plan::Payload::gradients)
        last = std::max(last, timeline.ranks[r][lane].back().end);
  return last;
}

// Each of p workers sends each of k servers a k-th: the links of servers carry p of them, those of workers k.
TEST(EmulatedLink, WorkersShareTheLinksOfTheirServersAndThoseTheWorkers) {
  EXPECT_NEAR(pushed_s(on_links("parameter-server", 4, 6)), 3 * 4 * layer_bytes / 1e5, 1e-7);
  for (const auto& [workers, servers] : {std::pair(3, 2), {2, 4}, {4, 4}}) {
    Case served = on_links("parameter-server", workers + servers, 2 * workers);
    served.strategy.parameters = {{"servers", std::to_string(servers)}, {"cut", "tensors"}};
    EXPECT_NEAR(pushed_s(served), std::max(workers, servers) * (4 * layer_bytes / servers) / 1e5, 1e-7)
        << workers << ' ' << servers;
  }
}

/// Seconds that each direction of each rank's link is needed for in all.
std::map<int, double> needed(const plan::Plan& plan, const TimeModel& time) {
  std::map<int, double> seconds;
  for (int r = 0; r < plan.spec.np; ++r) {
    for (const plan::Lane& lane : plan.ranks[r].lanes) {
      for (const plan::Op& op : lane.ops) {
        for (const int port : plan::ports_of(plan, Rank(r), op))
          if (port / 2 == r) seconds[port] += time.parts(plan, Rank(r), op, 1).transfer;
      }
    }
  }
  return seconds;
}

// zero1 sums gradients in one lane and gathers weights in another; of an all-reduce each of the two is a half.
TEST(EmulatedLink, NoStrategyMovesItsBytesFasterThanTheLinksOfItsRanks) {
  const models::ModelSpec model = chain(8);
  for (const double rate : {1e3, 1e5}) {
    const auto time = over_link(unit_costs(1e-3).time, {.latency_s = 1e-4, .bytes_per_s = rate}, Sizes(model));
    for (const plan::Strategy& strategy : plan::strategies()) {
      if (strategy.name == "sequential" || strategy.name == "c10d" || strategy.name == "csv" || strategy.name == "peer")
        continue;
      Case spec = on_links(std::string(strategy.name), 4, 24);
      if (strategy.uses("micro")) spec.micro = strategy.schedule.stages == plan::StageOrder::crossed ? 4 : 8;
      if (strategy.uses("bucket")) spec.bucket = Bytes(100);
      const plan::Plan plan = plan::unroll(test_plan(spec, 8, 12), 12);
      const double makespan = plan::makespan(simulate(plan, *time));
      for (const auto& [port, seconds] : needed(plan, *time))
        EXPECT_GE(makespan, seconds * (1 - 1e-9)) << strategy.name << ", port " << port;
    }
  }
}

// A bucket's weights are gathered while the next one's gradients are summed.
TEST(EmulatedLink, HalvesOfAnAllReduceInTwoLanesTakeNoLessThanTheWhole) {
  const models::ModelSpec model = chain(4);
  constexpr double rate = 1e3;
  const auto time = over_link(unit_costs(1e-6).time, {.latency_s = 1e-3, .bytes_per_s = rate}, Sizes(model));
  for (const char* strategy : {"zero1", "zero2"}) {
    Case spec = on_links(strategy, 2, 4);
    spec.bucket = Bytes(1);
    const plan::Plan plan = plan::unroll(test_plan(spec, 4), 6);
    const std::vector<double> steps = plan::step_durations(plan, simulate(plan, *time));
    for (std::size_t i = 1; i < steps.size(); ++i) {
      EXPECT_GE(steps[i], 4 * layer_bytes / rate * (1 - 1e-9)) << strategy;
      EXPECT_LE(steps[i], 4 * layer_bytes / rate + 8 * 1e-3 + 1e-4) << strategy << ", and the latency of each";
    }
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
