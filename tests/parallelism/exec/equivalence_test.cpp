#include "parallelism/exec/equivalence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "datasets/order.h"
#include "models/spec/nets/mlp.h"
#include "parallelism/comm/forwarding_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

constexpr double tolerance = 1e-9;

struct Faults {
  std::function<plan::Plan(plan::Plan)> plan = [](plan::Plan p) { return p; };
  std::function<std::shared_ptr<const datasets::SampleSource>(Rank, std::shared_ptr<const datasets::SampleSource>)>
      source = [](Rank, std::shared_ptr<const datasets::SampleSource> s) { return s; };
  /// Factor on what a rank contributes to its call-th reduction.
  std::function<double(const plan::Plan&, Rank, int call)> gradient_scale = [](const plan::Plan&, Rank, int) {
    return 1.0;
  };
};

/// Multiplies what this rank contributes to every reduction.
class ScalingCommunicator final : public comm::ForwardingCommunicator {
 public:
  ScalingCommunicator(comm::Communicator& inner, std::function<double(int call)> scale)
      : comm::ForwardingCommunicator(inner), scale_(std::move(scale)) {}

 private:
  std::unique_ptr<comm::WorkState> start_collective(const comm::CollectiveCall& call) override {
    const double scale = scale_(calls_++);
    for (std::int64_t i = 0; i < call.buffer.bytes / 8; ++i) static_cast<double*>(call.buffer.data)[i] *= scale;
    return comm::ForwardingCommunicator::start_collective(call);
  }

  std::function<double(int call)> scale_;
  int calls_ = 0;
};

/// The gate as `verify` applies it to a plan: ranks as threads, with faults injected on their side only.
Difference gate(const plan::Plan& of, const Faults& faults, const models::ModelSpec& original, int steps) {
  const auto source = small_source();
  const models::ModelSpec model = layers_for(of.spec, original);
  const plan::Plan plan = small_pieces(of, model, steps);
  const plan::Plan executed = faults.plan(plan);
  Trained trained;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    static MemoryAccount accounts[8];
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    ScalingCommunicator scaled(comm, [&](int call) { return faults.gradient_scale(plan, comm.rank(), call); });
    Trained mine = train_and_gather(executed, model, faults.source(comm.rank(), source), {}, scaled, *device);
    if (comm.rank() == Rank(0)) trained = std::move(mine);
  });
  return compare(plan, model, trained, by_layers_of(train_reference(plan, original, steps, source, {}), model));
}

Difference gate(const std::string& rest, const Faults& faults = {}, const models::ModelSpec& model = small_network(),
                int steps = 6) {
  return gate(small_plan(rest, steps, model), faults, model, steps);
}

void expect_no_difference(const Difference& difference) {
  EXPECT_LE(difference.update, tolerance) << difference.worst_parameter;
  EXPECT_LE(difference.buffer, tolerance);
}

/// Over the steps that the gate takes of a window.
void expect_no_difference(const std::string& rest, const models::ModelSpec& model, int window) {
  expect_no_difference(gate(rest, {}, model, plan::equivalence_steps(small_plan(rest, window, model))));
}

class EveryStrategy : public testing::TestWithParam<const char*> {};

TEST_P(EveryStrategy, TrainsTheSameParametersAndStatisticsAsTheReference) { expect_no_difference(gate(GetParam())); }

INSTANTIATE_TEST_SUITE_P(
    Cases, EveryStrategy,
    testing::Values("sequential/np:1/batch:6", "sequential/np:1/batch:6/momentum:0",
                    "sequential/np:1/batch:6/weight_decay:0.1/layout:channels_last", "data-parallel/np:1/batch:4",
                    "data-parallel/np:2/batch:8", "data-parallel/np:2/batch:7/bucket:1KiB",
                    "data-parallel/np:3/batch:8/bucket:4KiB", "data-parallel/np:4/batch:11/layout:channels_last",
                    "c10d/np:1/batch:4", "c10d/np:2/batch:8", "c10d/np:2/batch:7/bucket:1KiB",
                    "c10d/np:3/batch:8/bucket:4KiB/optimizer:adam", "c10d/np:4/batch:11/layout:channels_last",
                    "c10d/np:2/batch:8/bucket:1/optimizer:lars", "horovod/np:1/batch:4",
                    "horovod[cycle=1s]/np:2/batch:7", "horovod[fusion=4KiB,cycle=0]/np:3/batch:8/optimizer:adam",
                    "model-parallel/np:2/batch:6", "model-parallel/np:4/batch:5", "gpipe/np:1/batch:9/micro:3",
                    "gpipe/np:2/batch:8/micro:1", "gpipe/np:2/batch:11/micro:4", "gpipe/np:3/batch:8/micro:2",
                    "gpipe/np:4/batch:17/micro:8/layout:channels_last", "1f1b/np:4/batch:19/micro:8",
                    "1f1b/np:3/batch:8/micro:2", "dapple/np:3/batch:11/micro:5", "pipedream/np:1/batch:4",
                    "pipedream/np:2/batch:4", "pipedream/np:3/batch:5", "pipedream/np:4/batch:4/weight_decay:0.01",
                    "pipedream/np:6/batch:4/momentum:0"));
INSTANTIATE_TEST_SUITE_P(
    Optimizers, EveryStrategy,
    testing::Values("sequential/np:1/batch:6/optimizer:sgd[nesterov=on]/weight_decay:0.1",
                    "sequential/np:1/batch:6/optimizer:adam/layout:channels_last",
                    "data-parallel/np:3/batch:8/bucket:4KiB/optimizer:adam[beta2=0.95,eps=1e-6]/weight_decay:0.1",
                    "data-parallel/np:2/batch:8/optimizer:adamw/weight_decay:0.1",
                    "data-parallel/np:2/batch:7/bucket:1KiB/optimizer:lars/weight_decay:0.01",
                    "gpipe/np:2/batch:11/optimizer:adam", "gpipe/np:2/batch:11/optimizer:lars[trust=0.02]/lr:1",
                    "gpipe/np:4/batch:17/dp:2/optimizer:adamw", "pipedream/np:3/batch:5/optimizer:adam",
                    "pipedream/np:3/batch:5/optimizer:adamw/weight_decay:0.1",
                    "pipedream/np:3/batch:5/optimizer:lars/momentum:0",
                    "pipedream/np:2/batch:4/optimizer:sgd[nesterov=on]",
                    "pipedream-2bw/np:2/batch:5/micro:2/optimizer:adam"));
INSTANTIATE_TEST_SUITE_P(
    Local, EveryStrategy,
    testing::Values("local-sgd[every=1]/np:2/batch:8", "local-sgd[every=2]/np:2/batch:8",
                    "local-sgd[every=3]/np:3/batch:9/bucket:1KiB/weight_decay:0.1", "local-sgd[every=2]/np:4/batch:11",
                    "local-sgd[every=3,outer=nesterov]/np:2/batch:8/bucket:4KiB",
                    "local-sgd[every=2,outer=nesterov]/np:3/batch:8/optimizer:adamw/layout:channels_last",
                    "local-sgd[every=2]/np:2/batch:7/optimizer:lars/momentum:0.5/recompute:all",
                    "local-sgd/np:1/batch:4"));
INSTANTIATE_TEST_SUITE_P(
    Compressed, EveryStrategy,
    testing::Values("data-parallel/np:2/batch:8/compress:bf16", "data-parallel/np:3/batch:8/bucket:4KiB/compress:bf16",
                    "data-parallel/np:4/batch:11/layout:channels_last/compress:bf16/optimizer:adam",
                    "horovod[fusion=4KiB,cycle=0]/np:3/batch:8/compress:bf16",
                    "data-parallel/np:2/batch:8/compress:powersgd",
                    "data-parallel/np:3/batch:8/bucket:4KiB/compress:powersgd[rank=1]/weight_decay:0.1",
                    "data-parallel/np:4/batch:11/bucket:1/layout:channels_last/compress:powersgd[rank=2]",
                    "horovod/np:2/batch:7/compress:powersgd[rank=2]/optimizer:lars",
                    "data-parallel/np:2/batch:8/compress:topk",
                    "data-parallel/np:3/batch:8/bucket:4KiB/compress:topk[ratio=0.1]/recompute:all",
                    "data-parallel/np:4/batch:11/layout:channels_last/compress:topk[ratio=0.3]/optimizer:adam",
                    "horovod[fusion=4KiB,cycle=0]/np:3/batch:8/compress:topk[ratio=1]"));
INSTANTIATE_TEST_SUITE_P(Served, EveryStrategy,
                         testing::Values("parameter-server/np:2/batch:8",
                                         "parameter-server/np:3/batch:8/bucket:1KiB/weight_decay:0.1",
                                         "parameter-server[servers=2]/np:4/batch:9/bucket:4KiB/optimizer:adam",
                                         "parameter-server[servers=2]/np:3/batch:6/optimizer:lars/recompute:all",
                                         "parameter-server[servers=3]/np:5/batch:7/bucket:1/layout:channels_last",
                                         "parameter-server/np:3/batch:8/optimizer:sgd[nesterov=on]"));
INSTANTIATE_TEST_SUITE_P(
    ServedLate, EveryStrategy,
    testing::Values("parameter-server[mode=async]/np:2/batch:4",
                    "parameter-server[mode=async]/np:3/batch:5/weight_decay:0.1",
                    "parameter-server[mode=async]/np:5/batch:4/bucket:1KiB/optimizer:adam",
                    "parameter-server[servers=2,mode=async]/np:4/batch:6/bucket:1/optimizer:lars/layout:channels_last",
                    "parameter-server[servers=2,mode=async]/np:5/batch:5/bucket:4KiB/recompute:all/optimizer:adamw",
                    "parameter-server[mode=stale]/np:2/batch:4",
                    "parameter-server[mode=stale]/np:3/batch:7/bucket:1KiB",
                    "parameter-server[mode=stale,k=2]/np:3/batch:8/optimizer:adam/weight_decay:0.1",
                    "parameter-server[servers=2,mode=stale,k=3]/np:4/batch:9/bucket:1/recompute:all",
                    "parameter-server[servers=3,mode=stale,k=4]/np:5/batch:7/optimizer:lars/layout:channels_last"));
INSTANTIATE_TEST_SUITE_P(
    ServedInShares, EveryStrategy,
    testing::Values(
        "parameter-server[servers=2,cut=tensors]/np:4/batch:9/weight_decay:0.1",
        "parameter-server[servers=3,cut=tensors]/np:5/batch:8/bucket:1KiB/layout:channels_last",
        "parameter-server[servers=6,cut=tensors]/np:8/batch:7/bucket:1/optimizer:adam",
        "parameter-server[servers=2,cut=tensors]/np:4/batch:9/bucket:4KiB/optimizer:lars/weight_decay:0.01",
        "parameter-server[servers=3,cut=tensors]/np:4/batch:4/bucket:1/optimizer:lars/layout:channels_last",
        "parameter-server[servers=2,cut=tensors]/np:3/batch:6/recompute:all/optimizer:sgd[nesterov=on]",
        "parameter-server[servers=3,cut=tensors,mode=async]/np:6/batch:5/bucket:1KiB/optimizer:adamw",
        "parameter-server[servers=2,cut=tensors,mode=async]/np:4/batch:6/bucket:1/optimizer:lars",
        "parameter-server[servers=3,cut=tensors,mode=stale,k=2]/np:5/batch:8/bucket:1KiB/layout:channels_last",
        "parameter-server[servers=2,cut=tensors,mode=stale]/np:4/batch:7/optimizer:lars/recompute:all"));
INSTANTIATE_TEST_SUITE_P(
    Shared, EveryStrategy,
    testing::Values("zero1/np:1/batch:4", "zero1/np:2/batch:8", "zero1/np:3/batch:8/bucket:1KiB/weight_decay:0.1",
                    "zero1/np:4/batch:11/layout:channels_last/bucket:4KiB",
                    "zero1/np:3/batch:8/bucket:4KiB/optimizer:adam/weight_decay:0.1",
                    "zero1/np:2/batch:7/optimizer:adamw/weight_decay:0.1/momentum:0.9",
                    "zero1/np:2/batch:7/bucket:1KiB/optimizer:lars/weight_decay:0.01",
                    "zero1/np:3/batch:8/optimizer:lars/layout:channels_last",
                    "zero1/np:4/batch:9/bucket:1/optimizer:lars", "zero1/np:2/batch:8/optimizer:sgd[nesterov=on]",
                    "zero2/np:2/batch:8", "zero2/np:3/batch:8/bucket:1KiB/weight_decay:0.1",
                    "zero2/np:4/batch:11/bucket:4KiB/optimizer:adam", "zero2/np:2/batch:9/recompute:all/bucket:1KiB",
                    "zero2/np:3/batch:8/bucket:1/optimizer:lars/layout:channels_last", "zero3/np:1/batch:4",
                    "zero3/np:2/batch:8", "zero3/np:2/batch:8/bucket:1KiB", "zero3/np:3/batch:8/bucket:1/prefetch:0",
                    "zero3/np:4/batch:11/bucket:4KiB/prefetch:2/optimizer:adam",
                    "zero3/np:2/batch:9/recompute:all/bucket:1KiB/optimizer:adamw",
                    "zero3/np:3/batch:8/bucket:1KiB/optimizer:lars/layout:channels_last",
                    "zero3/np:4/batch:9/bucket:1/optimizer:lars/weight_decay:0.01",
                    "zero3/np:3/batch:8/bucket:1KiB/reshard:off/optimizer:adam", "dear/np:2/batch:8/bucket:1KiB",
                    "dear/np:3/batch:8/bucket:4KiB/optimizer:adam", "dear/np:4/batch:11/bucket:1KiB/optimizer:lars",
                    "zero1/np:2/batch:9/recompute:all", "gpipe/np:4/batch:17/dp:2/zero:1/optimizer:adamw",
                    "1f1b/np:4/batch:17/dp:2/zero:1/optimizer:lars"));

INSTANTIATE_TEST_SUITE_P(
    SharedInGroups, EveryStrategy,
    testing::Values("zero1/np:4/batch:9/shard:2/bucket:1KiB", "zero1/np:6/batch:13/shard:3/optimizer:adam/bucket:4KiB",
                    "zero1/np:6/batch:12/shard:2/optimizer:lars/weight_decay:0.01", "zero1/np:4/batch:8/shard:1",
                    "zero1/np:4/batch:8/shard:4", "zero2/np:4/batch:9/shard:2/bucket:1/layout:channels_last",
                    "zero2/np:6/batch:13/shard:3/bucket:1KiB/optimizer:lars", "zero2/np:8/batch:17/shard:4/bucket:1KiB",
                    "zero3/np:4/batch:9/shard:2/bucket:1KiB", "zero3/np:4/batch:8/shard:2/bucket:1/prefetch:0",
                    "zero3/np:6/batch:13/shard:2/bucket:1KiB/optimizer:lars/recompute:all",
                    "zero3/np:8/batch:17/shard:4/bucket:4KiB/prefetch:2/optimizer:adamw",
                    "zero3/np:4/batch:9/shard:2/bucket:1KiB/reshard:off", "zero3/np:4/batch:8/shard:1/bucket:1KiB"));
INSTANTIATE_TEST_SUITE_P(
    ByPriority, EveryStrategy,
    testing::Values("data-parallel/np:1/batch:4/order:priority", "data-parallel/np:2/batch:7/order:priority",
                    "data-parallel/np:3/batch:8/order:priority[partition=64]/optimizer:adam",
                    "data-parallel/np:4/batch:11/order:priority[partition=1KiB]/optimizer:lars/layout:channels_last",
                    "data-parallel/np:2/batch:9/order:priority[partition=1000]/recompute:all/weight_decay:0.1"));

/// A small network whose last layer has two units of 64 bytes: of its bucket most ranks have nothing.
models::ModelSpec network_with_a_tiny_layer() {
  models::ModelSpec model = small_network();
  model.layers.back() =
      models::chain("neck", {{"avgpool", models::GlobalAveragePool{}}, {"neck", models::Linear{16, 2}}});
  model.layers.push_back(models::chain("head", {{"fc", models::Linear{2, 4}}}));
  return model;
}

bool has_an_empty_share(const plan::Plan& plan, const models::ModelSpec& model) {
  for (const plan::RankProgram& program : plan.ranks) {
    const Rank rank(static_cast<int>(&program - plan.ranks.data()));
    const plan::StateLayout layout = plan::state_layout(plan, plan::ParameterSizes(model), rank);
    for (const plan::Op& op : program.compute()) {
      if (op.kind != plan::OpKind::update) continue;
      const plan::Shard shard = plan::shard_of(plan, rank, op);
      const plan::ElementRange run = layout.run(op.segment, op.segments);
      if (plan::shard_of(run, shard.index, shard.count, layout.element_bytes).count == 0) return true;
    }
  }
  return false;
}

class EmptyShares : public testing::TestWithParam<const char*> {};

TEST_P(EmptyShares, OfABucketWithFewerUnitsThanRanksTrainAsTheReference) {
  const models::ModelSpec model = network_with_a_tiny_layer();
  ASSERT_TRUE(has_an_empty_share(small_plan(GetParam(), 6, model), model));
  expect_no_difference(gate(GetParam(), {}, model));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EmptyShares,
    testing::Values("zero1/np:4/batch:9/bucket:1", "zero1/np:6/batch:13/shard:3/bucket:1/optimizer:adam",
                    "zero1/np:5/batch:11/bucket:1/optimizer:lars", "zero2/np:4/batch:9/bucket:1/optimizer:adamw",
                    "zero3/np:4/batch:9/bucket:1", "zero3/np:5/batch:11/bucket:1/prefetch:0/optimizer:lars",
                    "zero3/np:3/batch:8/bucket:1/reshard:off", "dear/np:4/batch:9/bucket:1",
                    "parameter-server[servers=3,cut=tensors]/np:5/batch:8/bucket:1",
                    "parameter-server[servers=4,cut=tensors,mode=async]/np:6/batch:5/bucket:1/optimizer:lars",
                    "1f1b/np:6/batch:17/micro:2/dp:3/zero:1/bucket:1",
                    "gpipe/np:6/batch:17/micro:2/dp:3/zero:2/bucket:1"));

// The reference trains the network as it is, on the whole batch in one piece.
INSTANTIATE_TEST_SUITE_P(
    Synchronised, EveryStrategy,
    testing::Values("data-parallel/np:2/batch:8/sync_bn:on", "data-parallel/np:3/batch:8/bucket:4KiB/sync_bn:on",
                    "data-parallel/np:4/batch:11/layout:channels_last/optimizer:adam/sync_bn:on",
                    "data-parallel/np:3/batch:8/order:priority[partition=1KiB]/sync_bn:on",
                    "data-parallel/np:2/batch:7/recompute:all/weight_decay:0.1/sync_bn:on",
                    "data-parallel/np:3/batch:8/bucket:1KiB/executor:futurized/threads:2/sync_bn:on",
                    "horovod[fusion=4KiB,cycle=0]/np:3/batch:8/sync_bn:on",
                    "zero1/np:3/batch:8/bucket:1KiB/optimizer:lars/sync_bn:on",
                    "zero2/np:4/batch:9/shard:2/bucket:1KiB/sync_bn:on", "zero3/np:2/batch:7/bucket:1KiB/sync_bn:on",
                    "zero3/np:4/batch:11/bucket:1KiB/prefetch:0/recompute:all/sync_bn:on",
                    "dear/np:3/batch:8/bucket:4KiB/optimizer:adamw/sync_bn:on"));

// Twelve layers in fp64: every schedule with P 2 to 8, M 1 to 16, fewer micro-batches than devices, uneven last pieces,
// copies, several chunks, all ways to recompute.
class EverySchedule : public testing::TestWithParam<const char*> {};

TEST_P(EverySchedule, TrainsTheSameParametersAndStatisticsAsTheReference) {
  expect_no_difference(GetParam(), small_network(12), 12);
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, EverySchedule,
    testing::Values("gpipe/np:8/batch:33/micro:16", "1f1b/np:8/batch:33/micro:16", "1f1b/np:5/batch:7/micro:3",
                    "dapple/np:4/batch:19/micro:9/warmup:4", "interleaved/np:2/batch:9/micro:4",
                    "interleaved/np:4/batch:9/micro:4/chunks:3", "interleaved/np:3/batch:5/micro:2/chunks:4",
                    "interleaved/np:2/batch:13/micro:6/chunks:6", "looped-bfs/np:3/batch:8/micro:3/chunks:3",
                    "looped-bfs/np:4/batch:4/micro:1", "zb-h1/np:4/batch:17/micro:8", "zb-h1/np:8/batch:9/micro:4",
                    "zb-h2/np:4/batch:17/micro:8", "zb-h2/np:3/batch:4/micro:1", "zb-v/np:2/batch:11/micro:5",
                    "zb-v/np:4/batch:17/micro:8", "zb-v/np:6/batch:5/micro:2", "dualpipev/np:2/batch:9/micro:4",
                    "dualpipev/np:3/batch:15/micro:7", "dualpipev/np:1/batch:5/micro:2", "chimera/np:2/batch:5/micro:2",
                    "chimera/np:4/batch:9/micro:4", "chimera/np:4/batch:17/micro:8", "chimera/np:6/batch:5/micro:2"));
INSTANTIATE_TEST_SUITE_P(Copies, EverySchedule,
                         testing::Values("gpipe/np:4/batch:17/dp:2", "1f1b/np:6/batch:13/micro:2/dp:3",
                                         "1f1b/np:4/batch:8/micro:1/dp:4", "1f1b/np:8/batch:17/dp:2/bucket:1KiB",
                                         "interleaved/np:4/batch:9/micro:2/dp:2",
                                         "zb-h1/np:4/batch:17/dp:2/bucket:16KiB", "zb-v/np:4/batch:13/micro:3/dp:2",
                                         "dualpipev/np:4/batch:17/dp:2", "chimera/np:4/batch:9/dp:2",
                                         "chimera/np:8/batch:17/micro:4/dp:2"));
INSTANTIATE_TEST_SUITE_P(SharingCopies, EverySchedule,
                         testing::Values("gpipe/np:6/batch:17/micro:2/dp:3/zero:1",
                                         "1f1b/np:8/batch:17/dp:2/bucket:1KiB/zero:1/optimizer:adam",
                                         "interleaved/np:4/batch:9/micro:2/dp:2/zero:1/optimizer:lars",
                                         "zb-h1/np:4/batch:17/dp:2/bucket:16KiB/zero:1/optimizer:adam",
                                         "zb-v/np:4/batch:13/micro:3/dp:2/zero:1",
                                         "dualpipev/np:4/batch:17/dp:2/zero:1/recompute:all",
                                         "chimera/np:2/batch:5/micro:2/zero:1/optimizer:lars",
                                         "chimera/np:8/batch:17/micro:4/dp:2/zero:1/optimizer:adam"));
INSTANTIATE_TEST_SUITE_P(ScatteringPieces, EverySchedule,
                         testing::Values("gpipe/np:6/batch:17/micro:2/dp:3/zero:2/bucket:1KiB",
                                         "1f1b/np:8/batch:17/dp:2/bucket:1KiB/zero:2/optimizer:adam",
                                         "dapple/np:4/batch:19/micro:4/dp:2/zero:2/bucket:4KiB",
                                         "interleaved/np:4/batch:9/micro:2/dp:2/zero:2/optimizer:lars/bucket:1KiB",
                                         "looped-bfs/np:4/batch:9/micro:2/dp:2/zero:2/bucket:1",
                                         "zb-h1/np:4/batch:17/dp:2/bucket:1KiB/zero:2/optimizer:adam",
                                         "zb-h2/np:4/batch:17/dp:2/zero:2/bucket:4KiB",
                                         "zb-v/np:4/batch:13/micro:3/dp:2/zero:2/bucket:1KiB",
                                         "dualpipev/np:4/batch:17/dp:2/zero:2/recompute:all/bucket:1KiB",
                                         "gpipe/np:2/batch:9/micro:1/dp:2/zero:2/bucket:1"));
INSTANTIATE_TEST_SUITE_P(Asynchronous, EverySchedule,
                         testing::Values("pipedream[replicas=3-1]/np:4/batch:4", "pipedream[replicas=1-3]/np:4/batch:4",
                                         "pipedream[replicas=2-2-1]/np:5/batch:4", "pipedream[replicas=4]/np:4/batch:4",
                                         "pipedream-2bw/np:2/batch:5/micro:2", "pipedream-2bw/np:4/batch:9/micro:4",
                                         "pipedream-2bw/np:4/batch:7/micro:3", "pipedream-2bw/np:3/batch:16/micro:8"));
INSTANTIATE_TEST_SUITE_P(
    Recomputing, EverySchedule,
    testing::Values("sequential/np:1/batch:6/recompute:all", "data-parallel/np:2/batch:9/recompute:all",
                    "gpipe/np:3/batch:11/micro:5/recompute:all", "gpipe/np:3/batch:11/micro:5/recompute:except-last",
                    "1f1b/np:4/batch:9/recompute:all", "1f1b/np:4/batch:9/dp:2/recompute:except-last",
                    "interleaved/np:2/batch:9/recompute:all", "zb-h1/np:3/batch:9/recompute:all",
                    "zb-v/np:2/batch:9/recompute:except-last", "dualpipev/np:2/batch:9/recompute:all",
                    "chimera/np:4/batch:9/recompute:all", "pipedream/np:3/batch:4/recompute:all",
                    "pipedream-2bw/np:3/batch:9/recompute:except-last"));

TEST(SynchronisedStatistics, OfLayersWithSkipsAreThoseOfTheWholeBatch) {
  for (const char* rest : {"data-parallel/np:3/batch:8/sync_bn:on", "zero3/np:2/batch:7/bucket:1KiB/sync_bn:on"})
    expect_no_difference(gate(rest, {}, small_skipping_network()));
}

TEST(SynchronisedStatistics, APlanThatDropsASumFails) {
  for (const plan::Payload payload : {plan::Payload::activation, plan::Payload::activation_gradient}) {
    Faults faults;
    faults.plan = [payload](plan::Plan plan) {
      for (plan::RankProgram& rank : plan.ranks)
        for (plan::Lane& lane : rank.lanes)
          if (lane.key.purpose == payload)
            std::erase_if(lane.ops, [](const plan::Op& op) { return op.segment < SegmentId(3); });
      return plan;
    };
    EXPECT_GT(gate("data-parallel/np:2/batch:8/sync_bn:on", faults).update, 1e-3);
  }
}

TEST(SynchronisedStatistics, OfEachCopyAloneWouldTrainSomethingElse) {
  const plan::Plan plan = small_pieces(small_plan("data-parallel/np:2/batch:8"), small_network(), 3);
  plan::Plan whole = plan;
  whole.spec.sync_bn = true;
  const ReferenceState apart = train_reference(plan, small_network(), 3, small_source(), {});
  const ReferenceState together = train_reference(whole, small_network(), 3, small_source(), {});
  EXPECT_FALSE(apart.whole_batch);
  EXPECT_TRUE(together.whole_batch);
  EXPECT_GT(relative_difference(apart.parameters[1][0], together.parameters[1][0]), 1e-3);
  ASSERT_EQ(together.buffers.size(), 2u);
  EXPECT_TRUE(together.buffers[0][1][0].equal(together.buffers[1][1][0]));
  EXPECT_FALSE(apart.buffers[0][1][0].equal(apart.buffers[1][1][0]));
}

// One tensor for three layers, another that is a layer's input.
class EverySkip : public testing::TestWithParam<const char*> {};

TEST_P(EverySkip, TrainsTheSameParametersAndStatisticsAsTheReference) {
  expect_no_difference(GetParam(), small_skipping_network(8), 8);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EverySkip,
    testing::Values("data-parallel/np:2/batch:8/bucket:1KiB",
                    "data-parallel/np:2/batch:8/order:priority[partition=1KiB]",
                    "zero3/np:4/batch:8/shard:2/bucket:1KiB", "model-parallel/np:4/batch:5",
                    "gpipe/np:4/batch:9/micro:4", "gpipe/np:8/batch:9/micro:4/layout:channels_last",
                    "1f1b/np:4/batch:9/dp:2", "1f1b/np:4/batch:9/micro:4/recompute:all",
                    "interleaved/np:2/batch:9/micro:4", "interleaved/np:2/batch:9/micro:4/chunks:4/recompute:all",
                    "zb-h1/np:4/batch:9/micro:4", "zb-v/np:2/batch:9/micro:4/recompute:except-last",
                    "dualpipev/np:2/batch:9/micro:4", "chimera/np:4/batch:9/micro:4",
                    "chimera/np:4/batch:9/micro:4/recompute:all", "pipedream/np:4/batch:4",
                    "pipedream[replicas=2-1-2]/np:5/batch:4", "pipedream-2bw/np:4/batch:9/micro:4",
                    "1f1b/np:4/batch:9/dp:2/zero:1/recompute:all", "chimera/np:4/batch:9/micro:4/zero:1",
                    "zb-h1/np:4/batch:9/micro:4/recompute:all"));

TEST(Gate, CatchesAForgottenWeightGradient) {
  Faults faults;
  faults.plan = [](plan::Plan plan) {
    std::erase_if(plan.ranks[1].compute(), [](const plan::Op& op) {
      return op.kind == plan::OpKind::backward_weight && op.micro_batch == MicroBatchId(1);
    });
    return plan;
  };
  EXPECT_GT(gate("zb-h1/np:2/batch:9", faults).update, 1e-3);
}

TEST(Gate, CatchesAForgottenDivisionByRanks) {
  Faults faults;
  faults.gradient_scale = [](const plan::Plan& plan, Rank, int) { return plan.replicas; };
  EXPECT_GT(gate("data-parallel/np:2/batch:8", faults).update, 1e-3);
}

TEST(Gate, CatchesAnUnequalPieceWeightedAsEqual) {
  Faults faults;
  faults.gradient_scale = [](const plan::Plan& plan, Rank rank, int) {
    return static_cast<double>(plan::batch_samples(plan)) / plan.replicas / plan.pieces[rank.value][0];
  };
  EXPECT_GT(gate("data-parallel/np:2/batch:7", faults).update, 1e-3);
}

/// Labels of neighbouring micro-batches of `samples` exchanged, pixels in place.
class SwappedLabels final : public datasets::SampleSource {
 public:
  SwappedLabels(std::shared_ptr<const datasets::SampleSource> inner, int samples, std::uint64_t seed)
      : inner_(std::move(inner)) {
    datasets::SampleOrder order(inner_->size(), seed);
    for (std::int64_t p = 0; p < inner_->size() / (2 * samples) * 2 * samples; ++p)
      label_of_[order.at(p).index] = order.at(p / samples % 2 == 0 ? p + samples : p - samples).index;
  }
  std::int64_t size() const override { return inner_->size(); }
  TensorSpec shape() const override { return inner_->shape(); }
  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    inner_->read_labels(label_of_.at(index), labels);
  }
  void read(std::int64_t index, std::int64_t epoch, datasets::SampleValues values) const override {
    inner_->read(index, epoch, values);
  }

 private:
  std::shared_ptr<const datasets::SampleSource> inner_;
  std::map<std::int64_t, std::int64_t> label_of_;
};

TEST(Gate, CatchesASwappedMicroBatch) {
  Faults faults;
  faults.source =
      [](Rank rank,
         std::shared_ptr<const datasets::SampleSource> source) -> std::shared_ptr<const datasets::SampleSource> {
    if (rank == Rank(0)) return source;
    return std::make_shared<SwappedLabels>(source, 2, 1);
  };
  EXPECT_GT(gate("gpipe/np:2/batch:8/micro:4", faults).update, 1e-3);
}

TEST(Gate, CatchesOneLayersMissingUpdate) {
  Faults faults;
  // Buckets of one layer each: the first of every step is lost, and with neither momentum nor decay so is its update.
  faults.gradient_scale = [](const plan::Plan& plan, Rank, int call) {
    const auto& reductions = plan.ranks[0].lanes[1].ops;
    return reductions[call].segment == reductions[0].segment ? 0.0 : 1.0;
  };
  const Difference difference = gate("data-parallel/np:2/batch:8/bucket:1/momentum:0", faults);
  EXPECT_DOUBLE_EQ(difference.update, 1.0);
  EXPECT_EQ(difference.worst_parameter.substr(0, 3), "fc.");
}

TEST(Gate, CatchesAMissingWeightVersion) {
  Faults faults;
  faults.plan = [](plan::Plan plan) {
    for (plan::RankProgram& rank : plan.ranks) rank.weight_versions = 1;
    return plan;
  };
  EXPECT_GT(gate("pipedream/np:3/batch:4", faults).update, 1e-6);
}

/// A plan that says, and does, as if every stage had these lags: each rank keeps the versions, each pass reads its own.
plan::Plan with_lags(plan::Plan plan, const std::vector<int>& lags) {
  for (int s = 0; s < plan.stages; ++s) plan.versions[s].lag = lags[s];
  for (plan::RankProgram& rank : plan.ranks) {
    rank.weight_versions = 0;
    for (const plan::Holding& h : rank.holds)
      rank.weight_versions = std::max(rank.weight_versions, lags[h.stage.value] + 1);
    for (plan::Op& op : rank.compute())
      if (op.kind != plan::OpKind::update)
        op.version = plan::version_read(plan, plan::stage_of(plan, op.segment), op.step);
  }
  return plan;
}

// Of the same plan, whose case says something else.
TEST(Gate, CatchesWeightsOfAServerThatAreOlderThanTheirBound) {
  const auto difference = [](const char* k) {
    const models::ModelSpec model = small_network();
    plan::Plan plan = small_plan("parameter-server[mode=stale,k=2]/np:3/batch:8", 6, model);
    plan.spec.strategy.parameters = {{"mode", "stale"}, {"k", k}};
    return gate(plan, {}, model, 6).update;
  };
  EXPECT_LE(difference("2"), tolerance);
  EXPECT_GT(difference("1"), 1e-3);
  EXPECT_GT(difference("3"), 1e-3);
}

// Such plans are legal and train; only, it is not what their strategy's definition says.
TEST(Gate, CatchesAPlanOfAnotherDelayThanItsStrategys) {
  const auto difference = [](const std::string& rest, const std::vector<int>& lags) {
    const models::ModelSpec model = small_network();
    const plan::Plan plan = with_lags(small_plan(rest, 9, model), lags);
    EXPECT_TRUE(plan::validate(plan).empty()) << rest;
    return gate(plan, {}, model, plan::equivalence_steps(plan)).update;
  };
  const std::string pipedream = "pipedream/np:3/batch:4", replicated = "pipedream[replicas=2-1]/np:3/batch:4";
  EXPECT_LE(difference(pipedream, {2, 1, 0}), tolerance);
  EXPECT_GT(difference(pipedream, {2, 2, 2}), 1e-3) << "vertical sync";
  EXPECT_GT(difference(pipedream, {3, 1, 0}), 1e-3) << "one more at the first stage";
  EXPECT_GT(difference(pipedream, {2, 1, 1}), 1e-3) << "one more at the last stage";
  EXPECT_LE(difference(replicated, {1, 0}), tolerance);
  EXPECT_GT(difference(replicated, {2, 0}), 1e-3);
  EXPECT_LE(difference("pipedream-2bw/np:2/batch:4/micro:2", {1, 1}), tolerance);
  EXPECT_GT(difference("pipedream-2bw/np:2/batch:4/micro:2", {2, 2}), 1e-3);
}

TEST(Gate, CatchesAReceivePairedWrongly) {
  Faults faults;
  faults.plan = [](plan::Plan plan) {
    auto& receives = plan.ranks[1].lane(plan::receives_from(Rank(0), plan::Payload::activation));
    std::swap(receives[0], receives[1]);
    return plan;
  };
  EXPECT_THROW(gate("gpipe/np:2/batch:8/micro:2", faults), std::logic_error);
}

/// Without a layer that mixes samples.
models::ModelSpec perceptron(int layers = 6) {
  return {
      .name = "perceptron", .input = {3, 8, 8}, .classes = 4, .layers = models::mlp_layers(layers, 12, {3, 8, 8}, 4)};
}

/// Largest difference of two references' parameters, and whether all bits are the same.
struct ReferenceDifference {
  double largest = 0;
  bool identical = true;
};
ReferenceDifference difference_of(const ReferenceState& a, const ReferenceState& b) {
  ReferenceDifference result{.identical = a.losses == b.losses};
  for (std::size_t l = 0; l < a.parameters.size(); ++l) {
    for (std::size_t p = 0; p < a.parameters[l].size(); ++p) {
      const torch::Tensor difference = (a.parameters[l][p] - b.parameters[l][p]).abs();
      result.largest = std::max(result.largest, difference.max().item<double>());
      result.identical = result.identical && a.parameters[l][p].equal(b.parameters[l][p]);
    }
  }
  return result;
}

/// Three steps of a case's reference; every case has a batch of 21, in equal or unequal pieces.
ReferenceState reference_of(const std::string& rest, const models::ModelSpec& model) {
  plan::Plan plan = plan::unroll(small_plan(rest + "/batch:21", 3, model), 3);
  plan.spec.precision = Precision::fp64;
  return train_reference(plan, model, 3, small_source(), {});
}

TEST(Reference, TrainsTheWholeBatchHoweverItIsCutWhereNoLayerMixesSamples) {
  const ReferenceState sequential = reference_of("sequential/np:1", perceptron());
  EXPECT_TRUE(sequential.whole_batch);
  for (const char* cut : {"data-parallel/np:4", "gpipe/np:2/micro:8", "1f1b/np:4/dp:2/micro:3", "zb-v/np:2/micro:5"}) {
    const ReferenceState reference = reference_of(cut, perceptron());
    EXPECT_TRUE(reference.whole_batch);
    EXPECT_TRUE(difference_of(sequential, reference).identical) << cut;
  }
}

TEST(Reference, TrainsThePiecesWhereBatchNormMixesSamples) {
  const ReferenceState sequential = reference_of("sequential/np:1", small_network());
  const ReferenceState cut = reference_of("1f1b/np:4/dp:2/micro:3", small_network());
  EXPECT_FALSE(sequential.whole_batch);
  EXPECT_GT(difference_of(sequential, cut).largest, 1e-4) << "other means, other network";
}

TEST(Reference, OfCopiesThatMeetInEveryStepIsThatOfTheWholeBatchWhereSharesAreEven) {
  const ReferenceState sequential = reference_of("sequential/np:1", perceptron());
  EXPECT_LE(difference_of(sequential, reference_of("local-sgd[every=1]/np:3", perceptron())).largest, 1e-14);
  EXPECT_GT(difference_of(sequential, reference_of("local-sgd[every=3]/np:3", perceptron())).largest, 1e-7);
  EXPECT_GT(difference_of(sequential, reference_of("local-sgd[every=1]/np:2", perceptron())).largest, 1e-7)
      << "a mean counts shares of 11 and of 10 samples alike";
}

TEST(Gate, CatchesCopiesThatMeetAtOtherStepsThanTheirStrategySays) {
  const auto difference = [](int every) {
    const std::string rest = "/np:2/batch:8";
    plan::Plan plan = small_plan("local-sgd[every=" + std::to_string(every) + "]" + rest, 6, small_network());
    plan.spec = small_plan("local-sgd[every=2]" + rest, 6, small_network()).spec;
    EXPECT_TRUE(plan::validate(plan).empty());
    return gate(plan, {}, small_network(), 6).update;
  };
  EXPECT_LE(difference(2), tolerance);
  EXPECT_GT(difference(1), 1e-3);
  EXPECT_GT(difference(3), 1e-3);
}

// What the ranks sum up piece by piece is the mean over the batch: the same but for the order of sums.
class WholeBatch : public testing::TestWithParam<const char*> {};

TEST_P(WholeBatch, IsWhatThePiecesAddUpTo) {
  const models::ModelSpec model = perceptron(12);
  const plan::Plan plan = small_plan(GetParam(), 12, model);
  const Difference difference = gate(plan, {}, model, plan::equivalence_steps(plan));
  EXPECT_LE(difference.update, tolerance) << difference.worst_parameter;
}

INSTANTIATE_TEST_SUITE_P(Cases, WholeBatch,
                         testing::Values("sequential/np:1/batch:9", "data-parallel/np:3/batch:11",
                                         "model-parallel/np:4/batch:9", "1f1b/np:8/batch:27/micro:6/dp:2",
                                         "interleaved/np:2/batch:9/micro:4/recompute:all", "zb-v/np:3/batch:11/micro:5",
                                         "chimera/np:4/batch:13/micro:4", "pipedream[replicas=2-1]/np:3/batch:4",
                                         "pipedream-2bw/np:3/batch:16/micro:5"));

TEST(Gate, CatchesAPieceLeftOutOfTheBatch) {
  Faults faults;
  faults.gradient_scale = [](const plan::Plan&, Rank rank, int) { return rank == Rank(1) ? 0.0 : 1.0; };
  EXPECT_GT(gate("data-parallel/np:3/batch:11", faults, perceptron()).update, 1e-2);
}

TEST(SmallPieces, KeepTheirInequalityAndHoldTwoSamplesAtLeast) {
  const plan::Plan plan = small_pieces(small_plan("gpipe/np:2/batch:35/micro:4"), small_network(), 3);
  EXPECT_EQ(plan.pieces, (std::vector<std::vector<int>>{{3, 3, 3, 2}}));
  EXPECT_EQ(plan.spec.precision, Precision::fp64);
  EXPECT_EQ(plan.steps, 3);
}

TEST(SmallPieces, OfModelsWithoutBatchNormHaveTwoSamplesWhateverTheirMaps) {
  EXPECT_EQ(steady_piece(perceptron()), 2) << "one value per channel and sample, but nothing is normalised over them";
  const plan::Plan plan = small_pieces(small_plan("gpipe/np:2/batch:35/micro:4", 1, perceptron()), perceptron(), 3);
  EXPECT_EQ(plan.pieces, (std::vector<std::vector<int>>{{3, 3, 3, 2}}));
}

TEST(ReferenceBytes, HoldTheLossOfTheLargestPiece) {
  // Two networks with as many parameters, one with all of them in its outputs.
  models::ModelSpec wide{.name = "wide", .input = {4}, .classes = 4096, .layers = {}};
  wide.layers.push_back(models::chain("fc", {{"fc", models::Linear{4, 4096}}}));
  const plan::Plan plan = small_plan("sequential/np:1/batch:64", 1, wide);
  const std::int64_t states = models::parameter_count(wide) * 8 * (6 + plan.stages);  // momentum beside the five
  const std::int64_t output = 64 * 4096 * 4;
  EXPECT_GE(reference_bytes(plan, wide), states + 4 * output);
  EXPECT_LT(reference_bytes(plan, wide), states + 5 * output);
}

}  // namespace
}  // namespace parabench::exec
