#include "parallelism/exec/emulation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <mutex>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/costs/unit_times.h"
#include "analytic/simulate/simulate.h"
#include "base/case_id.h"
#include "models/spec/nets/mlp.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/plan/shared_links.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench::exec {
namespace {

models::ModelSpec chain(int layers) {
  models::ModelSpec model{.name = "chain", .input = {3, 8, 8}, .classes = 10, .layers = {}};
  model.layers = models::mlp_layers(layers, 8, model.input, model.classes);
  return model;
}

plan::Plan test_plan(const std::string& rest, int layers, int steps) {
  const std::vector<double> equal_seconds(layers, 1.0);
  return plan::make_plan(parse_case("mlp/cifar10-synthetic/" + rest + "/device:emulated"), chain(layers), equal_seconds,
                         steps);
}

plan::Timeline run(const plan::Plan& plan, const plan::Durations& durations) {
  plan::Timeline timeline{.ranks = std::vector<RankSpans>(plan.spec.np)};
  std::mutex mutex;
  EmulatedLinks links(plan.spec.np);
  comm::run_thread_ranks({plan.spec.np}, [&](comm::Communicator& comm) {
    RankSpans spans = emulate(plan, durations, links, comm);
    const std::lock_guard lock(mutex);
    timeline.ranks[comm.rank().value] = std::move(spans);
  });
  timeline.origin = timeline.ranks[0][plan::compute_lane][0].queued;
  for (const RankSpans& rank : timeline.ranks)
    timeline.origin = std::min(timeline.origin, rank[plan::compute_lane][0].queued);
  return timeline;
}

/// Unit costs with messages and reductions that take time, of which half passes over links that ranks may share.
class SlowLinks final : public analytic::TimeModel {
 public:
  explicit SlowLinks(bool shares = false) : shares_(shares) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const override {
    if (plan::is_collective(op.kind)) return {.latency = unit_s, .transfer = unit_s};
    if (plan::is_message(op.kind)) return {.latency = unit_s / 4, .transfer = unit_s / 4};
    return compute_->parts(plan, rank, op, busy);
  }
  int cores() const override { return 0; }
  bool shares_links() const override { return shares_; }
  std::string source() const override { return "unit"; }

 private:
  static constexpr double unit_s = 1e-3;
  bool shares_;
  std::unique_ptr<const analytic::TimeModel> compute_ = analytic::unit_times(unit_s);
};

class EveryStrategy : public testing::TestWithParam<const char*> {};

TEST_P(EveryStrategy, RunsInOrderAndNoFasterThanTheModel) {
  const plan::Plan plan = plan::unroll(test_plan(GetParam(), 16, 4), 4);
  const SlowLinks costs;
  const plan::Durations seconds = analytic::durations(plan, costs);
  const plan::Timeline timeline = run(plan, seconds);
  for (int r = 0; r < plan.spec.np; ++r) {
    const plan::LocalDependencies needs = plan::dependencies(plan, Rank(r));
    for (int lane = 0; lane < std::ssize(plan.ranks[r].lanes); ++lane) {
      const auto& spans = timeline.ranks[r][lane];
      ASSERT_EQ(spans.size(), plan.ranks[r].lanes[lane].ops.size());
      for (int i = 0; i < std::ssize(spans); ++i) {
        EXPECT_LE(spans[i].queued, spans[i].start);
        EXPECT_LE(spans[i].start, spans[i].end);
        EXPECT_EQ(spans[i].data_wait, 0);
        EXPECT_GE(spans[i].queued, i == 0 ? 0 : spans[i - 1].end);
        for (const plan::OpRef& ref : needs.of(lane, i)) {
          EXPECT_GE(spans[i].start, timeline.ranks[r][ref.lane][ref.index].end);
        }
      }
    }
  }
  EXPECT_GE(plan::makespan(timeline), plan::makespan(analytic::simulate(plan, costs)) * (1 - 1e-9));
}

// Where one comes late, others are over earlier: no single operation is held to the model's moment.
TEST_P(EveryStrategy, MovesNothingFasterThanTheLinksOfItsRanks) {
  const plan::Plan plan = plan::unroll(test_plan(GetParam(), 16, 4), 4);
  const SlowLinks costs(true);
  const plan::Timeline timeline = run(plan, analytic::durations(plan, costs));
  for (int r = 0; r < plan.spec.np; ++r) {
    std::map<int, double> needed;
    for (const plan::Lane& lane : plan.ranks[r].lanes) {
      for (const plan::Op& op : lane.ops) {
        for (const int port : plan::ports_of(plan, Rank(r), op))
          if (port / 2 == r) needed[port] += costs.parts(plan, Rank(r), op, 1).transfer;
      }
    }
    for (const auto& [port, seconds] : needed) EXPECT_GE(plan::makespan(timeline), seconds * (1 - 1e-9)) << port;
  }
}

INSTANTIATE_TEST_SUITE_P(
    FourRanks, EveryStrategy,
    testing::Values("sequential/np:1/batch:8", "data-parallel/np:4/batch:8/bucket:1KiB", "model-parallel/np:4/batch:8",
                    "gpipe/np:4/batch:16/micro:8", "gpipe/np:4/batch:16/recompute:all", "1f1b/np:4/batch:16/micro:8",
                    "1f1b/np:4/batch:16/micro:4/dp:2", "dapple/np:4/batch:16/micro:8",
                    "interleaved/np:4/batch:16/micro:8", "looped-bfs/np:4/batch:16/micro:8",
                    "zb-h1/np:4/batch:16/micro:8", "zb-h2/np:4/batch:16/micro:8", "zb-v/np:4/batch:16/micro:8",
                    "dualpipev/np:4/batch:16/micro:8", "chimera/np:4/batch:16/micro:8", "pipedream/np:4/batch:8",
                    "pipedream[replicas=3-1]/np:4/batch:8", "pipedream-2bw/np:4/batch:16/micro:4",
                    "data-parallel/np:4/batch:8/order:priority[partition=512B]", "horovod[fusion=1KiB]/np:4/batch:8",
                    "dear/np:4/batch:8/bucket:1KiB", "zero1/np:4/batch:8/shard:2/bucket:1KiB",
                    "zero2/np:4/batch:8/bucket:1KiB", "zero3/np:4/batch:8/shard:2/bucket:1KiB",
                    "1f1b/np:4/batch:16/micro:4/dp:2/zero:2/bucket:1KiB", "local-sgd[every=2]/np:4/batch:8",
                    "parameter-server[servers=2]/np:4/batch:8", "parameter-server[mode=async]/np:4/batch:8",
                    "parameter-server[mode=stale,k=2]/np:4/batch:8",
                    "parameter-server[servers=2,cut=tensors]/np:4/batch:8/bucket:1KiB"),
    [](const auto& one) {
      std::string name = one.param;
      std::erase_if(name, [](unsigned char c) { return !std::isalnum(c); });
      return name;
    });

TEST(Emulate, WhatWaitsForNothingBeginsWithTheRanks) {
  const plan::Plan plan = test_plan("zero3/np:2/batch:4", 4, 1);
  const plan::Durations seconds = analytic::durations(plan, SlowLinks());
  const plan::Timeline timeline = run(plan, seconds);
  const int gathers = plan.ranks[0].find_lane(plan::collectives_of(GroupId(0), plan::Payload::parameters));
  ASSERT_GT(gathers, 0);
  EXPECT_GE(timeline.ranks[0][gathers][0].end - timeline.origin, seconds[0][gathers][0].seconds * (1 - 1e-9));
}

TEST(Emulate, StartsNothingBeforeTheModelDoes) {
  const plan::Plan plan = test_plan("1f1b/np:4/batch:16/micro:8", 8, 1);
  const SlowLinks costs;
  const plan::Timeline timeline = run(plan, analytic::durations(plan, costs)), model = analytic::simulate(plan, costs);
  for (int r = 0; r < plan.spec.np; ++r) {
    for (std::size_t i = 0; i < model.ranks[r][plan::compute_lane].size(); ++i) {
      EXPECT_GE(timeline.ranks[r][plan::compute_lane][i].end - timeline.origin,
                model.ranks[r][plan::compute_lane][i].end - 1e-9);
    }
  }
}

TEST(Emulate, SixtyFourRanksComplete) {
  const plan::Plan plan = test_plan("1f1b/np:64/batch:64/micro:16", 64, 1);
  const plan::Durations seconds = analytic::durations(plan, *analytic::unit_costs(1e-3).time);
  const plan::Timeline timeline = run(plan, seconds);
  for (double completion : plan::step_completions(plan, timeline)) EXPECT_TRUE(std::isfinite(completion));
  EXPECT_GE(plan::makespan(timeline), 3e-3 * (16 + 63) * (1 - 1e-9));
}

TEST(Emulate, ARankThatFailsStopsTheOthers) {
  const plan::Plan plan = test_plan("gpipe/np:4/batch:16", 8, 1);
  const plan::Durations seconds = analytic::durations(plan, *analytic::unit_costs(1e-3).time);
  EmulatedLinks links(4);
  EXPECT_THROW(comm::run_thread_ranks({4},
                                      [&](comm::Communicator& comm) {
                                        if (comm.rank() == Rank(2)) throw std::runtime_error("gone");
                                        emulate(plan, seconds, links, comm);
                                      }),
               std::runtime_error);
}

TEST(ExclusiveTimes, AreThoseOfOneBusyRankAndShareNoCores) {
  const models::ModelSpec model = chain(8);
  const plan::Plan plan = test_plan("gpipe/np:4/batch:16", 8, 1);
  const analytic::MachineInfo machine{.cores = 2, .memory_bytes = 1 << 30, .frequency_hz = 1e9, .vector_bits = 256};
  const auto shared = analytic::data_sheet_costs(machine, model).time,
             alone = analytic::exclusive_times(analytic::data_sheet_costs(machine, model).time);
  const plan::Op op = plan.ranks[0].compute().front();
  EXPECT_EQ(alone->cores(), 0);
  EXPECT_EQ(alone->seconds(plan, Rank(0), op, 4), shared->seconds(plan, Rank(0), op, 1));
  EXPECT_EQ(alone->source(), "data-sheet");
}

}  // namespace
}  // namespace parabench::exec
