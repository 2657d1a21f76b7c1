// Training on a real GPU: equal to the processor's, with and without a captured graph.
#include <cmath>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/executor.h"
#include "tests/gpu/runtime/gpu_test.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

class GpuTraining : public GpuTest {};

constexpr int steps = plan::graph_capture_step + 4;

struct Trained {
  StageState::Snapshot state;
  std::vector<double> losses;
};

Trained train(const std::string& keys, bool on_gpu, bool graph, InputKind kind = InputKind::host) {
  static MemoryAccount account;
  plan::Plan plan = plan::unroll(small_plan(keys + "/precision:fp64", steps), steps);
  plan.spec.graph = graph;
  plan.spec.input = kind;
  Trained trained;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    const auto device = on_gpu ? first_gpu(account, Precision::fp64) : cpu_device(account);
    StageState state(plan, small_network(), comm, *device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, *device);
    trained.losses = execute(plan, small_network(), state, comm, input, *device, StepId(0)).losses;
    trained.state = state.snapshot();
  });
  return trained;
}

void expect_near(const Trained& one, const Trained& other) {
  for (std::size_t layer = 0; layer < one.state.parameters.size(); ++layer) {
    for (std::size_t t = 0; t < one.state.parameters[layer].size(); ++t) {
      EXPECT_TRUE(torch::allclose(one.state.parameters[layer][t], other.state.parameters.at(layer).at(t), 1e-9, 1e-11))
          << "layer " << layer << ", tensor " << t;
    }
  }
  for (int step = 0; step < steps; ++step) EXPECT_NEAR(one.losses[step], other.losses[step], 1e-9) << step;
}

TEST_F(GpuTraining, EqualsTheProcessors) {
  for (const char* keys : {"sequential/np:1/batch:6", "gpipe/np:1/batch:7/micro:3", "zb-h1/np:1/batch:6/micro:3",
                           "1f1b/np:1/batch:6/micro:3/recompute:all", "sequential/np:1/batch:6/layout:channels_last"}) {
    SCOPED_TRACE(keys);
    expect_near(train(keys, true, false), train(keys, false, false));
  }
}

TEST_F(GpuTraining, EqualsTheProcessorsOnResidentInput) {
  for (const char* keys : {"sequential/np:1/batch:6", "gpipe/np:1/batch:7/micro:3"}) {
    SCOPED_TRACE(keys);
    const Trained expected = train(keys, false, false, InputKind::resident);
    expect_near(train(keys, true, false, InputKind::resident), expected);
    expect_near(train(keys, true, true, InputKind::resident), expected);
  }
}

TEST_F(GpuTraining, AReplayedGraphTrainsAsSingleOperationsDo) {
  for (const char* keys : {"sequential/np:1/batch:6", "gpipe/np:1/batch:7/micro:3", "zb-h1/np:1/batch:6/micro:3"}) {
    SCOPED_TRACE(keys);
    expect_near(train(keys, true, true), train(keys, true, false));
  }
}

}  // namespace
}  // namespace parabench::exec
