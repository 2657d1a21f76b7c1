// A tensor of two layers, trained by every strategy that may: against the reference, where it is one tensor.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>
#include <mutex>

#include "datasets/spec/dataset.h"
#include "models/spec/model.h"
#include "parallelism/comm/forwarding_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

constexpr int positions = 6, vocabulary = 11;

models::ModelSpec small_transformer(const std::string& tied) {
  return models::make_model(
      {"transformer", {{"layers", "6"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "6"}, {"tied", tied}}},
      TensorSpec({positions}, ElementKind::int64), vocabulary, true);
}

std::shared_ptr<const datasets::SampleSource> tokens() {
  return datasets::open_source(
      datasets::make_dataset(
          {"tokens-synthetic", {{"sequence", std::to_string(positions)}, {"vocabulary", std::to_string(vocabulary)}}}),
      {});
}

/// Ends a sum of gradients at once, with what this rank had.
class ForgetfulCommunicator final : public comm::ForwardingCommunicator {
 public:
  using comm::ForwardingCommunicator::ForwardingCommunicator;

 private:
  struct Done final : comm::WorkState {
    bool advance() override { return true; }
  };
  std::unique_ptr<comm::WorkState> start_collective(const comm::CollectiveCall&) override {
    return std::make_unique<Done>();
  }
};

struct Gated {
  Difference difference;
  bool copies_are_equal = true;  ///< bit by bit, on all ranks
};

Gated gate(const std::string& rest, bool forgets = false) {
  const models::ModelSpec model = small_transformer("on");
  plan::Plan plan = small_plan(rest, 16, model);
  const int steps = plan::equivalence_steps(plan);
  plan = small_pieces(plan, model, steps);
  const auto source = tokens();
  Trained trained;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    static MemoryAccount accounts[8];
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    ForgetfulCommunicator forgetful(comm);
    Trained mine = train_and_gather(plan, model, source, {}, forgets ? forgetful : comm, *device);
    if (comm.rank() == Rank(0)) trained = std::move(mine);
  });
  Gated result{compare(plan, model, trained, train_reference(plan, model, steps, source, {}))};
  torch::Tensor first;
  for (Rank r; r.value < plan.spec.np; ++r) {
    const std::vector<int> layers = plan::layers_held(plan, r);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (const models::ParameterPlace& place : {model.tie->original, model.tie->copy}) {
        if (place.layer != layers[l]) continue;
        const torch::Tensor& tensor = trained.parameters[r.value][l][place.parameter];
        if (!first.defined()) first = tensor;
        result.copies_are_equal &= torch::equal(first, tensor);
      }
    }
  }
  return result;
}

class TiedTransformer : public testing::TestWithParam<const char*> {};

TEST_P(TiedTransformer, TrainsAsTheReferenceDoesAndItsCopiesStayEqual) {
  const Gated gated = gate(GetParam());
  EXPECT_LE(gated.difference.update, 1e-9) << gated.difference.worst_parameter;
  EXPECT_TRUE(gated.copies_are_equal);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TiedTransformer,
    testing::Values("sequential/np:1/batch:4", "sequential/np:1/batch:4/recompute:all",
                    "data-parallel/np:2/batch:5/bucket:1KiB", "model-parallel/np:2/batch:4",
                    "model-parallel/np:3/batch:4/optimizer:lars", "gpipe/np:1/batch:9/micro:3",
                    "gpipe/np:4/batch:8/dp:2/micro:2/recompute:all", "1f1b/np:3/batch:8/micro:4/optimizer:adam",
                    "interleaved/np:2/batch:8/micro:4", "zb-h1/np:2/batch:9/micro:4/optimizer:adamw/weight_decay:0.1",
                    "zb-h2/np:3/batch:8/micro:4", "zb-v/np:2/batch:8/micro:4", "zb-v/np:4/batch:8/micro:2/dp:2",
                    "dualpipev/np:2/batch:8/micro:4", "chimera/np:2/batch:8/micro:4", "chimera/np:4/batch:8/micro:4",
                    "chimera/np:4/batch:8/micro:2/dp:2/bucket:1KiB", "pipedream/np:1/batch:4",
                    "pipedream-2bw/np:1/batch:4/micro:2", "pipedream-2bw/np:2/batch:4/micro:2",
                    "pipedream-2bw/np:3/batch:8/micro:3/optimizer:adam",
                    "pipedream-2bw/np:1/batch:4/micro:2/recompute:all", "zero1/np:2/batch:5/bucket:1KiB/optimizer:lars",
                    "zero2/np:2/batch:5/bucket:1KiB/optimizer:lars", "zero3/np:2/batch:5/bucket:1KiB",
                    "zero3/np:3/batch:5/bucket:1/prefetch:0/optimizer:adam",
                    "1f1b/np:4/batch:8/dp:2/micro:2/zero:1/optimizer:adam", "chimera/np:2/batch:8/micro:4/zero:1"));

INSTANTIATE_TEST_SUITE_P(
    Served, TiedTransformer,
    testing::Values("parameter-server/np:3/batch:4/bucket:1KiB",
                    "parameter-server[servers=2,cut=tensors]/np:4/batch:5/bucket:1KiB/optimizer:lars",
                    "parameter-server[servers=3,cut=tensors,mode=stale]/np:5/batch:4/bucket:1"));

TEST(TiedTransformerGate, CatchesAForgottenSum) {
  const Gated gated = gate("model-parallel/np:2/batch:4", /*forgets=*/true);
  EXPECT_GT(gated.difference.update, 1e-3);
  EXPECT_FALSE(gated.copies_are_equal);
  EXPECT_TRUE(gated.difference.worst_parameter.find("wte.weight") == 0 ||
              gated.difference.worst_parameter.find("lm_head.weight") == 0)
      << gated.difference.worst_parameter;
}

TEST(TiedTransformerMemory, IsWhatTheLayoutSays) {
  const models::ModelSpec model = small_transformer("on");
  static MemoryAccount accounts[3];
  for (const char* rest : {"sequential/np:1/batch:4", "data-parallel/np:2/batch:4", "1f1b/np:3/batch:8/micro:4",
                           "zb-v/np:2/batch:8/micro:4/dp:1", "pipedream-2bw/np:2/batch:4/micro:2"}) {
    plan::Plan plan = small_plan(rest, 3, model);
    plan = plan::unroll(plan, 3);
    std::mutex mutex;
    comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
      const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
      StageState state(plan, model, comm, *device);
      RankInput input = open_input(plan, comm.rank(), tokens(), {}, *device);
      const Execution execution = execute(plan, model, state, comm, input, *device, StepId(0));
      const std::lock_guard lock(mutex);
      const plan::StateLayout layout = plan::state_layout(plan, plan::ParameterSizes(model), comm.rank());
      const MemoryUsage peak = device->account().peak();
      EXPECT_EQ(peak[MemoryCategory::parameters], layout.copy_bytes()) << rest;
      EXPECT_EQ(peak[MemoryCategory::optimizer], layout.bytes(plan::StateRole::optimizer)) << rest;
      const std::int64_t arena = layout.bytes(plan::StateRole::gradients);
      if (arena > 0) {
        EXPECT_EQ(peak[MemoryCategory::gradients], arena) << rest << ": nothing beside the arena";
      }
      // Without an arena an update drops each gradient once, the shared tensor's too. Only a rank alone can tell: to
      // others a message may come while they update.
      if (plan.spec.np > 1) return;
      std::int64_t dropped = 0, tensors = 0;
      const auto& ops = plan.ranks[comm.rank().value].compute();
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind == plan::OpKind::update && ops[i].step == StepId(1))
          dropped += execution.memory[i].before - execution.memory[i].after;
      }
      for (const SegmentId s : layout.segments)
        for (const plan::ParameterSlice& slice : plan::parameter_slices(layout, plan, model, s))
          tensors += slice.tensor.elements() * layout.element_bytes;
      EXPECT_EQ(dropped, tensors) << rest;
    });
  }
}

}  // namespace
}  // namespace parabench::exec
