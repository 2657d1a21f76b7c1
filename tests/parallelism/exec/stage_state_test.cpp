// What a rank holds of a model before it trains.
#include "parallelism/exec/stage_state.h"

#include <gtest/gtest.h>

#include "models/torch/layer.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/memory.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

/// One layer of 2048 x 1024 weights, 8 MiB in fp32.
models::ModelSpec wide_network() {
  models::ModelSpec model;
  model.name = "wide";
  model.input = {1024};
  model.classes = 2048;
  model.layers = {models::chain("fc", {{"fc", models::Linear{1024, 2048}}})};
  return model;
}

/// The state of a sequential plan on one rank.
template <class Look>
void with_state(const models::ModelSpec& model, MemoryAccount& account, Look look) {
  const plan::Plan plan = small_plan("sequential/np:1/batch:2", 1, model);
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    const auto device = cpu_device(account);
    const AccountScope counted(account, MemoryCategory::workspace);
    StageState state(plan, model, comm, *device);
    look(state);
  });
}

TEST(StageState, InitialisesLargeTensorsInParts) {
  MemoryAccount account;
  with_state(wide_network(), account, [&](StageState&) {
    constexpr std::int64_t part = 8 << 20;  // of fp64
    EXPECT_LE(account.peak().total_counted() - account.live(), part + 4096);
  });
}

TEST(StageState, StartsFromTheValuesThatTheLayerDraws) {
  const models::ModelSpec model = wide_network();
  MemoryAccount account;
  with_state(model, account, [&](StageState& state) {
    std::vector<double> drawn(2048 * 1024);
    modules::initialise(model.layers[0], 0, Case{}.seed, 0, drawn);
    const torch::Tensor weights = state.tensors(SegmentId(0), VersionId(0))[0].parameters[0].detach();
    const torch::Tensor expected = torch::tensor(drawn, torch::kFloat64).to(torch::kFloat32).view(weights.sizes());
    EXPECT_TRUE(weights.equal(expected));
  });
}

}  // namespace
}  // namespace parabench::exec
