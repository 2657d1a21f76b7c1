// What ranks that calibrate side by side lose to each other.
#include "suite/rank/calibration_blocks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/case_id.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "suite/rank/layer_chain.h"
#include "suite/rank/transfers.h"

namespace parabench::rank {
namespace {

TEST(SlowestStep, IsTheMedianOfWhatTheSlowestRankTookForEach) {
  const std::vector<std::vector<double>> steps = {{1, 5, 3}, {2, 2, 9}, {1, 4, 4}};
  comm::run_thread_ranks(
      3, [&](comm::Communicator& comm) { EXPECT_EQ(slowest_step_s(comm, steps[comm.rank().value]), 5); });
}

TEST(Stretch, MultipliesAllTimesOfLayersAndNothingElse) {
  LayerChain chain{.layers = {{.samples = 4, .forward_s = 1, .backward_s = 2, .saved_bytes = 64}}, .update_s = 7};
  chain.layers[0].split = {.input_s = 3, .weight_s = 4};
  stretch(chain, 2);
  EXPECT_EQ(chain.layers[0].forward_s, 2);
  EXPECT_EQ(chain.layers[0].backward_s, 4);
  EXPECT_EQ(chain.layers[0].split->input_s, 6);
  EXPECT_EQ(chain.layers[0].split->weight_s, 8);
  EXPECT_EQ(chain.layers[0].saved_bytes, 64);
  EXPECT_EQ(chain.update_s, 7);
}

TEST(UpdateSlowdown, IsAtLeastOneForEveryOptimizer) {
  for (const std::string optimizer : {"sgd", "sgd/momentum:0", "adam", "lars", "sgd/precision:fp64"}) {
    const Case spec = parse_case("mlp/cifar10-synthetic/data-parallel/np:2/batch:8/optimizer:" + optimizer);
    static exec::MemoryAccount accounts[2];
    comm::run_thread_ranks(2, [&](comm::Communicator& comm) {
      const auto device = exec::cpu_device(accounts[comm.rank().value]);
      EXPECT_GE(update_slowdown(comm, *device, spec, Rank(1), 5000, {.rounds = 3, .warmup = 1}), 1) << optimizer;
    });
  }
}

}  // namespace
}  // namespace parabench::rank
