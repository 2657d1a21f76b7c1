// A step that is captured once and replayed trains as one whose operations are given out one by one.
#include "parallelism/exec/graphed_work.h"

#include <gtest/gtest.h>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/executor.h"
#include "tests/parallelism/exec/recording_device.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

constexpr int steps = plan::graph_capture_step + 4;

struct Trained {
  StageState::Snapshot state;
  Execution execution;
};

Trained train(plan::Plan plan, bool graph) {
  plan.spec.graph = graph;
  const models::ModelSpec model = small_network();
  static MemoryAccount account;
  Trained trained;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = recording_device(account);
    StageState state(plan, model, comm, *device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, *device);
    trained.execution = execute(plan, model, state, comm, input, *device, StepId(0));
    trained.state = state.snapshot();
  });
  return trained;
}

void expect_same(const std::vector<std::vector<torch::Tensor>>& one,
                 const std::vector<std::vector<torch::Tensor>>& other) {
  for (std::size_t layer = 0; layer < one.size(); ++layer)
    for (std::size_t t = 0; t < one[layer].size(); ++t)
      EXPECT_TRUE(torch::equal(one[layer][t], other.at(layer).at(t))) << "layer " << layer << ", tensor " << t;
}

class Graphed : public testing::TestWithParam<const char*> {};

TEST_P(Graphed, StepsTrainAsStepsOfSingleOperationsDo) {
  const plan::Plan plan = plan::unroll(small_plan(GetParam(), steps), steps);
  const Trained eager = train(plan, false), graphed = train(plan, true);
  expect_same(graphed.state.parameters, eager.state.parameters);
  expect_same(graphed.state.buffers, eager.state.buffers);
  EXPECT_EQ(graphed.execution.losses, eager.execution.losses);
}

TEST_P(Graphed, StepsHaveOneSpanEach) {
  const plan::Plan plan = plan::unroll(small_plan(GetParam(), steps), steps);
  const std::vector<plan::Op>& ops = plan.ranks[0].compute();
  const std::vector<plan::Span> spans = train(plan, true).execution.spans[plan::compute_lane];
  for (std::size_t i = 1; i < ops.size(); ++i) {
    if (ops[i].step.value < plan::graph_capture_step || ops[i].step != ops[i - 1].step) {
      EXPECT_LT(spans[i].start, spans[i].end);
      EXPECT_LE(spans[i - 1].end, spans[i].queued);
    } else {
      EXPECT_EQ(spans[i], (plan::Span{spans[i - 1].end, spans[i - 1].end, spans[i - 1].end}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Graphed,
                         testing::Values("sequential/np:1/batch:6", "data-parallel/np:1/batch:6",
                                         "gpipe/np:1/batch:7/micro:3", "1f1b/np:1/batch:6/micro:3/recompute:all",
                                         "zb-h1/np:1/batch:8/micro:4", "interleaved/np:1/batch:8/micro:2",
                                         "pipedream/np:1/batch:4", "sequential/np:1/batch:6/optimizer:adam",
                                         "gpipe/np:1/batch:7/micro:3/optimizer:adamw/weight_decay:0.1",
                                         "sequential/np:1/batch:6/optimizer:lars",
                                         "sequential/np:1/batch:6/precision:bf16/layout:channels_last"));

TEST(GraphedWork, ReportsADivergedLoss) {
  EXPECT_THROW(train(plan::unroll(small_plan("sequential/np:1/batch:6/lr:1e30"), steps), true), NotANumber);
}

}  // namespace
}  // namespace parabench::exec
