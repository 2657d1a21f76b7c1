// Rounds that calibrate between steps of the plan.
#include "suite/rank/paired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <set>
#include <utility>

#include "analytic/calibration/exchange_sizes.h"
#include "analytic/calibration/measurements.h"
#include "analytic/costs/costs.h"
#include "analytic/simulate/predict.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/plan/routes.h"
#include "tests/suite/rank/small_launch.h"

namespace parabench::rank {
namespace {

/// Not of one rank, of c10d's reducer, of weights that are sent before they are computed with, of copies that average.
bool is_rehearsed(const std::string& strategy) {
  return !std::set<std::string>{"sequential", "c10d", "zero3", "parameter-server", "local-sgd"}.contains(strategy);
}

class Paired : public testing::TestWithParam<std::string> {};

TEST_P(Paired, EveryRoundMeasuresWhatThePlansPredictionNeeds) {
  constexpr int warmup = 2, steps = 4;
  static exec::MemoryAccount accounts[4];
  Launch launch = small_launch(GetParam(), warmup + steps);
  launch.machine.cores = launch.plan.spec.np;
  launch.command = {.phase = protocol::Phase::paired, .steps = steps, .warmup = warmup};
  protocol::PairedRounds answer;
  std::mutex mutex;
  comm::run_thread_ranks({launch.plan.spec.np, plan::collective_groups(launch.plan).declared},
                         [&](comm::Communicator& comm) {
                           const auto device = exec::cpu_device(accounts[comm.rank().value]);
                           protocol::PairedRounds mine = pair(launch, comm, *device);
                           const std::lock_guard lock(mutex);
                           if (comm.rank() == Rank(0)) {
                             answer = std::move(mine);
                           } else {
                             EXPECT_TRUE(mine.rounds.empty());
                             EXPECT_FALSE(mine.canary);
                           }
                         });
  ASSERT_GE(answer.rounds.size(), static_cast<std::size_t>(protocol::fewest_paired_rounds));
  ASSERT_TRUE(answer.canary);
  EXPECT_GT(answer.canary->matrix_product_s, 0);
  EXPECT_GT(answer.canary->triad_s, 0);
  const std::size_t samples = plan::window(launch.plan, warmup, steps).samples;
  const analytic::Sizes sizes(launch.model);
  for (const protocol::PairedRound& round : answer.rounds) {
    EXPECT_EQ(round.step_s.size(), 2 * samples) << "before and after";
    EXPECT_GT(round.breakdown_s.value().backward, 0);
    for (const auto& [key, curve] : round.calibration.all_reduce)
      for (const analytic::CurvePoint& point : curve) {
        EXPECT_GT(point.bytes, 0) << key.comm;
        EXPECT_GT(point.loaded_s, 0) << "timed beside computing, too";
      }
    const auto expect_all = [](const analytic::Curve& curve, const std::vector<std::int64_t>& own) {
      for (const std::int64_t bytes : own)
        EXPECT_EQ(std::ranges::count(curve, bytes, &analytic::CurvePoint::bytes), 1) << bytes << ", as in the plan";
    };
    for (const auto& [key, curve] : round.calibration.point_to_point)
      expect_all(curve, analytic::message_sizes(launch.plan, sizes, /*between_hosts=*/false));
    const auto expect_reductions = [&](plan::OpKind kind, const std::map<analytic::RankCountKey, analytic::Curve>& of) {
      for (const auto& [key, curve] : of)
        expect_all(curve, analytic::collective_sizes(launch.plan, sizes, kind, {key.ranks, key.hosts, key.most}));
    };
    expect_reductions(plan::OpKind::all_reduce, round.calibration.all_reduce);
    expect_reductions(plan::OpKind::reduce_scatter, round.calibration.reduce_scatter);
    expect_reductions(plan::OpKind::all_gather, round.calibration.all_gather);
    const analytic::MeasuredLayers measured(round.calibration, sizes);
    for (const plan::Segment& segment : launch.plan.segments) {
      if (segment.layers == 1) continue;
      EXPECT_TRUE(measured.of_segment(launch.plan.spec, {segment.first_layer, segment.layers}, launch.plan.pieces[0][0],
                                      1, {[](const analytic::LayerTiming& t) { return t.forward_s; }}))
          << "stages are timed whole";
    }
    const plan::Plan window = plan::unroll(launch.plan, plan::window(launch.plan, warmup, steps).steps());
    EXPECT_EQ(round.rehearsed_s.size(), is_rehearsed(launch.plan.spec.strategy.name) ? window.ranks.size() : 0);
    for (std::size_t rank = 0; rank < round.rehearsed_s.size(); ++rank) {
      const std::vector<plan::Op>& ops = window.ranks[rank].compute();
      ASSERT_EQ(round.rehearsed_s[rank].size(), ops.size());
      for (std::size_t i = 0; i < ops.size(); ++i)
        EXPECT_TRUE(!plan::is_pass(ops[i].kind) || round.rehearsed_s[rank][i] > 0);
    }
    const analytic::Costs costs = analytic::calibrated_costs(round.calibration, sizes);
    EXPECT_GT(analytic::predict(launch.plan, sizes, *costs.time, *costs.memory, warmup, steps).step_time_s, 0);
  }
}

TEST(PairedOnFewCores, RanksThatTakeTurnsOnCoresRehearseToo) {
  static exec::MemoryAccount accounts[2];
  Launch launch = small_launch("gpipe/np:2/batch:8/micro:2", 3);
  launch.command = {.phase = protocol::Phase::paired, .steps = 2, .warmup = 1};
  launch.machine.cores = 1;
  comm::run_thread_ranks(2, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    for (const protocol::PairedRound& round : pair(launch, comm, *device).rounds)
      EXPECT_EQ(round.rehearsed_s.size(), 2U);
  });
}

// Ranks that are threads, told that they are on several hosts: what is measured under which keys.
TEST(PairedOnSeveralHosts, EveryShapeOfGroupHasItsCurveAndNoHostMoreBusyRanksThanItsOwn) {
  static exec::MemoryAccount accounts[4];
  Launch launch = small_launch("gpipe/np:4/dp:2/batch:8/micro:2", 3);  // copies 0 and 1, 2 and 3
  launch.command = {.phase = protocol::Phase::paired, .steps = 2, .warmup = 1};
  launch.plan.placement = {{0, 1, 1, 1}};
  launch.machine.cores = 4;
  protocol::PairedRounds answer;
  comm::run_thread_ranks({4, plan::collective_groups(launch.plan).declared}, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    protocol::PairedRounds mine = pair(launch, comm, *device);
    if (comm.rank() == Rank(0)) answer = std::move(mine);
  });
  ASSERT_FALSE(answer.rounds.empty());
  const analytic::Sizes sizes(launch.model);
  for (const protocol::PairedRound& round : answer.rounds) {
    std::vector<GroupShape> shapes;
    for (const auto& [key, curve] : round.calibration.all_reduce) {
      shapes.push_back({key.ranks, key.hosts, key.most});
      for (const analytic::CurvePoint& point : curve) EXPECT_GT(point.seconds, 0);
    }
    EXPECT_EQ(shapes,
              (std::vector<GroupShape>{{.ranks = 2, .hosts = 1, .most = 2}, {.ranks = 2, .hosts = 2, .most = 1}}));
    std::vector<int> ends;
    for (const auto& [key, curve] : round.calibration.point_to_point) ends.push_back(key.hosts);
    EXPECT_EQ(ends, (std::vector<int>{1, 2}));
    for (const auto& [key, timings] : round.calibration.layers) EXPECT_TRUE(key.busy_ranks == 1 || key.busy_ranks == 3);
    const analytic::Costs costs = analytic::calibrated_costs(round.calibration, sizes);
    EXPECT_GT(analytic::predict(launch.plan, sizes, *costs.time, *costs.memory, 1, 2).step_time_s, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Paired,
                         testing::Values("sequential/np:1/batch:8", "data-parallel/np:2/batch:8",
                                         "data-parallel/np:2/batch:8/compress:topk", "c10d/np:2/batch:8",
                                         "gpipe/np:2/batch:8/micro:2", "1f1b/np:2/batch:8/micro:2/recompute:all",
                                         "zb-h1/np:2/batch:8/micro:4", "chimera/np:2/batch:8/micro:2",
                                         "interleaved/np:4/dp:2/batch:16/micro:4", "pipedream/np:2/batch:8",
                                         "pipedream-2bw/np:2/batch:8/micro:2", "zero2/np:2/batch:8",
                                         "gpipe/np:4/dp:2/batch:8/micro:2/zero:1", "zero3/np:2/batch:8",
                                         "parameter-server/np:3/batch:8", "local-sgd[every=2]/np:2/batch:8"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace parabench::rank
