// What ranks that calibrate side by side lose to each other.
#include "suite/rank/calibration_blocks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/case_id.h"
#include "base/statistics.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/plan/strategies/placement.h"
#include "suite/rank/layer_chain.h"
#include "suite/rank/over_ranks.h"
#include "suite/rank/transfers.h"
#include "tests/suite/rank/small_launch.h"

namespace parabench::rank {
namespace {

TEST(StepSideBySide, HasTheRanksMeanAndADeviationThatMakesTheSlowestAsSlowAsItWas) {
  // Means of 2, 4 and 5; the slowest of the ranks take 1, 2 and 4 longer.
  const std::vector<std::vector<double>> steps = {{1, 6, 3}, {3, 2, 9}, {2, 4, 3}};
  comm::run_thread_ranks(3, [&](comm::Communicator& comm) {
    const StepSideBySide step = step_side_by_side(comm, steps[comm.rank().value]);
    EXPECT_EQ(step.mean_s, 4);
    EXPECT_DOUBLE_EQ(step.mean_s + normal_scores(3).back() * step.deviation_s, 6);
  });
}

TEST(Deviate, GivesEachLayerItsShareOfTheStepsDeviation) {
  LayerChain chain{.timings = {{.forward_s = 1, .backward_s = 2}, {.forward_s = 3, .backward_s = 4}}};
  chain.timings[1].split = {.input_s = 1, .weight_s = 3};
  deviate(chain, 5);
  double sum = 0;
  for (const analytic::LayerTiming& t : chain.timings) sum += t.forward_mad_s + t.backward_mad_s;
  EXPECT_DOUBLE_EQ(deviation_per_mad * sum, 5);
  EXPECT_DOUBLE_EQ(chain.timings[1].forward_mad_s, 3 * chain.timings[0].forward_mad_s);
  EXPECT_DOUBLE_EQ(chain.timings[1].split->weight_mad_s, 3 * chain.timings[0].forward_mad_s);
}

TEST(Stretch, MultipliesAllTimesOfLayersAndNothingElse) {
  LayerChain chain{.timings = {{.samples = 4, .forward_s = 1, .backward_s = 2, .saved_bytes = 64}}, .update_s = 7};
  chain.timings[0].split = {.input_s = 3, .weight_s = 4, .weight_mad_s = 1};
  stretch(chain, 2);
  EXPECT_EQ(chain.timings[0].split->weight_mad_s, 2);
  EXPECT_EQ(chain.timings[0].forward_s, 2);
  EXPECT_EQ(chain.timings[0].backward_s, 4);
  EXPECT_EQ(chain.timings[0].split->input_s, 6);
  EXPECT_EQ(chain.timings[0].split->weight_s, 8);
  EXPECT_EQ(chain.timings[0].saved_bytes, 64);
  EXPECT_EQ(chain.update_s, 7);
}

/// Whether a calibration by such chains knows what passes hold that add to gradients.
bool knows_adding(const std::string& keys, Placement placement, bool measures_bytes) {
  bool knows = false;
  Launch launch = small_launch(keys);
  launch.plan.placement = placement;
  static exec::MemoryAccount accounts[2];
  comm::run_thread_ranks(launch.plan.spec.np, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    LayerChains chains(launch, *device, plan::single_layers(launch.model));
    analytic::Calibration calibration;
    const ChainEffort effort{.least_steps = 1, .most_steps = 1, .discarded_steps = 1, .measures_bytes = measures_bytes};
    time_chains(launch, comm, *device, chains, {4}, effort, /*slowdown=*/1, calibration);
    if (comm.rank() != Rank(0)) return;
    for (const auto& [key, timings] : calibration.layers)
      knows = knows || (key.busy_ranks == 1 && timings.front().adding_peak_bytes);
  });
  return knows;
}

TEST(TimeChains, MeasureWhatPassesHoldThatAddWhereThePlansDo) {
  EXPECT_TRUE(knows_adding("gpipe/np:1/batch:8/micro:2", {}, true));
  EXPECT_TRUE(knows_adding("gpipe/np:2/batch:8/micro:2", {}, true));
  EXPECT_TRUE(knows_adding("gpipe/np:2/batch:8/micro:2", Placement{.host_of_rank = {0, 1}}, true))
      << "one on each host";
  EXPECT_FALSE(knows_adding("gpipe/np:2/batch:8/micro:2", {}, false));
  EXPECT_FALSE(knows_adding("sequential/np:1/batch:8", {}, true)) << "nothing adds";
}

TEST(AtOnce, CountsFromTheFirstBeginToTheLastEndWhereRanksTakeTurnsOnCores) {
  const Interval two_by_two[] = {{3, 13}, {4, 14}, {13, 23}, {14, 26}};
  EXPECT_DOUBLE_EQ(at_once_s(two_by_two, /*takes_turns=*/true), 23);
  EXPECT_DOUBLE_EQ(at_once_s(two_by_two, /*takes_turns=*/false), 10.5);
}

TEST(UpdateSlowdown, IsAtLeastOneForEveryOptimizer) {
  for (const std::string optimizer : {"sgd", "sgd/momentum:0", "adam", "lars", "sgd/precision:fp64"}) {
    const Case spec = parse_case("mlp/cifar10-synthetic/data-parallel/np:2/batch:8/optimizer:" + optimizer);
    static exec::MemoryAccount accounts[2];
    const Rank host[] = {Rank(1), Rank(0)};
    comm::run_thread_ranks(2, [&](comm::Communicator& comm) {
      const auto device = exec::cpu_device(accounts[comm.rank().value]);
      EXPECT_GE(update_slowdown(comm, *device, spec, host, 5000, {.rounds = 3, .warmup = 1}), 1) << optimizer;
    });
  }
}

}  // namespace
}  // namespace parabench::rank
