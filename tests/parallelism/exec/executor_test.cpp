#include "parallelism/exec/executor.h"

#include <c10/core/AutogradState.h>
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/reference.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/messages.h"
#include "parallelism/plan/state/state_layout.h"
#include "tests/parallelism/exec/forwarding_device.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

struct Outcome {
  plan::Timeline timeline;
  std::vector<double> losses;
  std::vector<MemoryUsage> memory;
};

Outcome run(const plan::Plan& plan, StepId measure_from = StepId(0)) {
  static MemoryAccount accounts[8];
  const models::ModelSpec model = small_network();
  Outcome result;
  result.timeline.ranks.resize(plan.spec.np);
  result.memory.resize(plan.spec.np);
  result.losses.assign(plan.steps, 0);
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    StageState state(plan, model, comm, *device);
    RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
    Execution execution = execute(plan, model, state, comm, input, *device, measure_from);
    std::lock_guard lock(mutex);
    result.timeline.ranks[comm.rank().value] = execution.spans;
    result.memory[comm.rank().value] = device->account().peak();
    for (int s = 0; s < plan.steps; ++s) result.losses[s] += execution.losses[s];
  });
  return result;
}

class EveryPlan : public testing::TestWithParam<const char*> {};

TEST_P(EveryPlan, LossesFollowTheReferenceInTheRunsPrecision) {
  const plan::Plan once = small_plan(GetParam(), 4);
  const Outcome result = run(plan::unroll(once, 4));
  const ReferenceState reference = train_reference(once, small_network(), 4, small_source(), {});
  for (int s = 0; s < 4; ++s) EXPECT_NEAR(result.losses[s], reference.losses[s], 1e-4 * reference.losses[s]) << s;
}

TEST_P(EveryPlan, SpansKeepLaneOrderAndDependencies) {
  const plan::Plan plan = plan::unroll(small_plan(GetParam(), 3), 3);
  const Outcome result = run(plan);
  for (int r = 0; r < plan.spec.np; ++r) {
    const plan::LocalDependencies needs = plan::dependencies(plan, Rank(r));
    for (int lane = 0; lane < std::ssize(plan.ranks[r].lanes); ++lane) {
      const auto& spans = result.timeline.ranks[r][lane];
      for (int i = 0; i < std::ssize(spans); ++i) {
        EXPECT_LE(spans[i].queued, spans[i].start);
        EXPECT_LE(spans[i].start, spans[i].end);
        const bool is_fired = lane == plan::compute_lane && is_futurized(plan.spec);
        EXPECT_GE(spans[i].queued, i == 0 || is_fired ? 0 : spans[i - 1].end);
        for (const plan::OpRef& ref : needs.of(lane, i))
          EXPECT_GE(spans[i].start, result.timeline.ranks[r][ref.lane][ref.index].end);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EveryPlan,
    testing::Values("sequential/np:1/batch:6", "data-parallel/np:2/batch:9/bucket:1KiB", "model-parallel/np:3/batch:6",
                    "gpipe/np:2/batch:8/micro:3", "pipedream/np:3/batch:4", "1f1b/np:3/batch:9/micro:4",
                    "dapple/np:2/batch:8/micro:3", "gpipe/np:2/batch:8/precision:bf16",
                    "gpipe/np:2/batch:8/precision:bf16/layout:channels_last", "interleaved/np:2/batch:9",
                    "zb-v/np:2/batch:9/micro:3", "zb-h1/np:2/batch:8/precision:bf16", "chimera/np:4/batch:9",
                    "1f1b/np:4/batch:9/dp:2", "pipedream[replicas=2-1]/np:3/batch:4", "1f1b/np:2/batch:9/recompute:all",
                    "zero1/np:3/batch:9/bucket:1KiB", "zero1/np:2/batch:8/precision:bf16/optimizer:lars",
                    "1f1b/np:4/batch:9/dp:2/zero:1/optimizer:adam", "zero2/np:4/batch:9/shard:2/bucket:1KiB",
                    "zero3/np:6/batch:12/shard:3/bucket:1KiB",
                    "data-parallel/np:3/batch:9/order:priority[partition=1KiB]"));

INSTANTIATE_TEST_SUITE_P(Futurized, EveryPlan,
                         testing::Values("sequential/np:1/batch:6/executor:futurized",
                                         "gpipe/np:1/batch:9/micro:3/threads:2/executor:futurized",
                                         "data-parallel/np:2/batch:9/bucket:1KiB/executor:futurized",
                                         "gpipe/np:2/batch:8/micro:3/executor:futurized",
                                         "1f1b/np:3/batch:9/micro:4/executor:futurized",
                                         "gpipe/np:2/batch:8/precision:bf16/threads:2/executor:futurized",
                                         "interleaved/np:2/batch:9/executor:futurized",
                                         "zb-v/np:2/batch:9/micro:3/threads:3/executor:futurized",
                                         "chimera/np:4/batch:9/threads:2/executor:futurized",
                                         "1f1b/np:2/batch:9/recompute:all/threads:2/executor:futurized",
                                         "zero3/np:2/batch:8/bucket:1KiB/executor:futurized",
                                         "parameter-server/np:3/batch:8/bucket:1KiB/threads:2/executor:futurized",
                                         "local-sgd[every=2]/np:2/batch:8/executor:futurized",
                                         "1f1b/np:4/batch:9/dp:2/zero:1/optimizer:adam/executor:futurized"));

/// What the ranks hold after four steps: weights and running statistics, every one to its last bit.
std::vector<std::vector<torch::Tensor>> trained(const std::string& rest, const models::ModelSpec& model) {
  const plan::Plan plan = plan::unroll(small_plan(rest, 4, model), 4);
  std::vector<std::vector<torch::Tensor>> held(plan.spec.np);
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    static MemoryAccount accounts[8];
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    StageState state(plan, model, comm, *device);
    RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
    execute(plan, model, state, comm, input, *device, std::nullopt);
    if (state.keeps_shares()) return;
    StageState::Snapshot snapshot = state.snapshot();
    for (auto* part : {&snapshot.parameters, &snapshot.buffers})
      for (auto& layer : *part) std::ranges::move(layer, std::back_inserter(held[comm.rank().value]));
  });
  return held;
}

class Futurized : public testing::TestWithParam<const char*> {};

TEST_P(Futurized, TrainsWhatThePlansOrderDoesToTheLastBit) {
  for (const models::ModelSpec& model : {small_network(), small_skipping_network(8)}) {
    const auto ordered = trained(GetParam(), model);
    for (const char* threads : {"1", "3"}) {
      const auto fired = trained(std::string(GetParam()) + "/executor:futurized/threads:" + threads, model);
      ASSERT_EQ(fired.size(), ordered.size());
      for (std::size_t r = 0; r < ordered.size(); ++r) {
        ASSERT_EQ(fired[r].size(), ordered[r].size());
        for (std::size_t i = 0; i < ordered[r].size(); ++i)
          EXPECT_TRUE(fired[r][i].equal(ordered[r][i])) << r << ' ' << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Futurized,
                         testing::Values("gpipe/np:1/batch:9/micro:4", "gpipe/np:3/batch:9/micro:4",
                                         "1f1b/np:2/batch:9/recompute:except-last", "zb-h1/np:2/batch:8",
                                         "chimera/np:2/batch:9", "looped-bfs/np:2/batch:9",
                                         "data-parallel/np:2/batch:9/bucket:1KiB", "dear/np:2/batch:8/bucket:1KiB",
                                         "zero2/np:2/batch:8/bucket:1KiB", "parameter-server/np:3/batch:8/bucket:1KiB",
                                         "1f1b/np:4/batch:9/dp:2/zero:1/optimizer:adam"));

TEST(Execute, ReportsADivergedLossAndStopsTheOtherRanks) {
  for (const char* executor : {"ordered", "futurized"}) {
    const plan::Plan plan = plan::unroll(small_plan(std::string("gpipe/np:2/batch:8/lr:1e30/executor:") + executor), 5);
    EXPECT_THROW(run(plan), NotANumber);
  }
}

class FailingSource final : public datasets::SampleSource {
 public:
  std::int64_t size() const override { return 100; }
  TensorSpec shape() const override { return {3, 8, 8}; }
  void read_labels(std::int64_t, std::span<std::int64_t> labels) const override { labels[0] = 0; }
  void read(std::int64_t, std::int64_t, datasets::SampleValues) const override {
    throw datasets::CorruptSample("file 7", "is broken");
  }
};

TEST(Execute, AReaderThatFailsStopsAllRanksWithItsCause) {
  const plan::Plan plan = plan::unroll(small_plan("model-parallel/np:2/batch:4"), 2);
  const models::ModelSpec model = small_network();
  static MemoryAccount accounts[2];
  try {
    comm::run_thread_ranks(2, [&](comm::Communicator& comm) {
      const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
      StageState state(plan, model, comm, *device);
      RankInput input = open_input(plan, comm.rank(), std::make_shared<FailingSource>(), {}, *device);
      execute(plan, model, state, comm, input, *device, StepId(0));
    });
    FAIL() << "expected the reader's error";
  } catch (const datasets::CorruptSample& error) {
    EXPECT_NE(std::string(error.what()).find("file 7"), std::string::npos);
  }
}

/// What the rank's layout says of a category.
std::int64_t stored(const plan::Plan& plan, int rank, MemoryCategory category) {
  std::int64_t bytes = 0;
  for (const plan::StateArena& arena :
       plan::state_layout(plan, plan::ParameterSizes(small_network()), Rank(rank)).arenas)
    bytes += arena.category == category ? arena.bytes : 0;
  return bytes;
}

TEST(Execute, PeakMemoryIsCountedByCategoryAsTheLayoutSays) {
  for (const char* optimizer : {"sgd", "adam", "lars"}) {
    const plan::Plan plan =
        plan::unroll(small_plan(std::string("pipedream/np:3/batch:4/optimizer:") + optimizer, 6), 6);
    const Outcome result = run(plan, StepId(2));
    for (int r = 0; r < 3; ++r) {
      for (const auto category :
           {MemoryCategory::parameters, MemoryCategory::optimizer, MemoryCategory::weight_versions})
        EXPECT_EQ(result.memory[r][category], stored(plan, r, category)) << optimizer;
      EXPECT_GT(result.memory[r][MemoryCategory::activations], 0);
    }
  }
}

TEST(Execute, MemoryOfSharedUpdatesIsCountedAsTheLayoutSays) {
  for (const char* rest :
       {"zero1/np:3/batch:9/bucket:1KiB/optimizer:adam", "zero1/np:2/batch:8/optimizer:lars",
        "zero1/np:4/batch:8/shard:2/optimizer:adam", "zero2/np:6/batch:12/shard:3/bucket:1KiB/optimizer:lars",
        "1f1b/np:4/batch:9/dp:2/zero:2/bucket:1KiB/optimizer:adam",
        "gpipe/np:3/batch:9/micro:2/dp:3/zero:2/bucket:1KiB", "zero3/np:4/batch:8/shard:2/bucket:1KiB/optimizer:adam",
        "data-parallel/np:3/batch:9/order:priority", "1f1b/np:4/batch:9/dp:2/zero:1",
        "parameter-server[servers=2,cut=tensors]/np:4/batch:8/bucket:1KiB/optimizer:adam",
        "parameter-server[servers=4,cut=tensors,mode=stale]/np:6/batch:8/bucket:1/optimizer:lars"}) {
    const plan::Plan plan = plan::unroll(small_plan(rest), 3);
    const Outcome result = run(plan, StepId(1));
    for (int r = 0; r < plan.spec.np; ++r) {
      for (const auto category : {MemoryCategory::parameters, MemoryCategory::gradients, MemoryCategory::optimizer})
        EXPECT_EQ(result.memory[r][category], stored(plan, r, category)) << rest;
    }
  }
}

/// What the ranks moved in two steps.
std::vector<comm::Traffic> traffic(const std::string& rest) {
  const plan::Plan plan = plan::unroll(small_plan(rest), 2);
  std::vector<comm::Traffic> moved(plan.spec.np);
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    static MemoryAccount accounts[8];
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    StageState state(plan, small_network(), comm, *device);
    RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
    comm.reset_traffic();
    execute(plan, small_network(), state, comm, input, *device, std::nullopt);
    moved[comm.rank().value] = comm.traffic();
  });
  return moved;
}

TEST(Execute, WorkersSendTheirGradientsAndServersTheWeightsOnce) {
  for (const char* bucket : {"", "/bucket:1KiB"}) {
    const std::vector<comm::Traffic> one = traffic("parameter-server/np:3/batch:8" + std::string(bucket));
    EXPECT_GT(one[0].sent, 0);
    EXPECT_EQ(one[0].sent, one[0].received) << "gradients up, weights down";
    EXPECT_EQ(one[0], one[1]);
    EXPECT_EQ(one[2].sent, 2 * one[0].sent);
    EXPECT_EQ(one[2].received, 2 * one[0].sent);
    const std::vector<comm::Traffic> two = traffic("parameter-server[servers=2]/np:4/batch:8" + std::string(bucket));
    EXPECT_EQ(two[0], one[0]);
    EXPECT_EQ(two[2].sent + two[3].sent, one[2].sent);
    for (const char* servers : {"2", "4"}) {
      const std::vector<comm::Traffic> shared = traffic("parameter-server[servers=" + std::string(servers) +
                                                        ",cut=tensors]/np:6/batch:8" + std::string(bucket));
      EXPECT_EQ(shared[0].sent, one[0].sent) << "whoever gets it";
      EXPECT_EQ(shared[0].received, one[0].received);
    }
  }
}

TEST(Execute, SharedUpdatesMoveAsManyBytesAsAnAllReduce) {
  for (const char* rest : {"/np:2/batch:8", "/np:3/batch:9/bucket:1KiB", "/np:4/batch:8/bucket:4KiB/optimizer:adam"}) {
    const std::vector<comm::Traffic> shared = traffic(std::string("zero1") + rest);
    EXPECT_EQ(shared, traffic(std::string("data-parallel") + rest)) << rest;
    for (const char* strategy : {"dear", "zero2"}) EXPECT_EQ(shared, traffic(strategy + std::string(rest))) << strategy;
    EXPECT_EQ(shared, traffic("zero3" + std::string(rest) + "/reshard:off")) << rest;
    EXPECT_GT(shared[0].sent, 0);
    for (const auto& [local, averages] : {std::pair("local-sgd[every=1]", 2), {"local-sgd[every=2]", 1}})
      EXPECT_EQ(traffic(local + std::string(rest))[0].sent * 2, shared[0].sent * averages) << local << rest;
    EXPECT_GT(shared[0].received, 0);
  }
}

/// Sent and received by all ranks in a step.
std::int64_t moved_by_all(const std::string& rest) {
  std::int64_t sum = 0;
  for (const comm::Traffic& moved : traffic(rest)) sum += moved.sent + moved.received;
  return sum / 2;
}

// A reduce-scatter and a gather among g ranks, and between m such groups an all-reduce of a g-th:
// m (g - 1) S + 2 (m - 1) S + m (g - 1) S = 2 (p - 1) S, however p is divided.
TEST(Execute, GroupsThatShareMoveAsManyBytesAsAnAllReduceOfAll) {
  for (const char* rest : {"/np:4/batch:8", "/np:6/batch:12/bucket:1KiB", "/np:6/batch:13/bucket:4KiB"}) {
    const std::int64_t flat = moved_by_all(std::string("data-parallel") + rest);
    EXPECT_GT(flat, 0);
    for (const char* strategy : {"zero1", "zero2"}) {
      for (const char* shard : {"/shard:1", "/shard:2", "/shard:all"})
        EXPECT_EQ(moved_by_all(strategy + std::string(rest) + shard), flat) << strategy << rest << shard;
    }
    EXPECT_EQ(moved_by_all("zero3" + std::string(rest) + "/shard:2/reshard:off"), flat) << rest;
  }
}

TEST(Execute, SumsInPartsMoveAsManyBytesAsWholeOnes) {
  for (const char* np : {"2", "3"}) {
    const std::string rest = std::string("data-parallel/np:") + np + "/batch:9";
    for (const char* partition : {"1", "1000", "1MiB"})
      EXPECT_EQ(moved_by_all(rest + "/order:priority[partition=" + partition + "]"), moved_by_all(rest))
          << np << partition;
  }
}

// A reduce-scatter of every micro-batch in place of one, beside the gather: (k + 1) (p - 1) S where one sum for all
// micro-batches takes 2 (p - 1) S.
TEST(Execute, PipelinesThatScatterEveryMicroBatchSendItsGradientsAsOftenAsThereAreMicroBatches) {
  for (const int micro : {1, 2, 3}) {
    const std::string rest = "gpipe/np:3/dp:3/batch:9/bucket:1KiB/micro:" + std::to_string(micro);
    const std::int64_t whole = moved_by_all(rest + "/zero:1");
    EXPECT_EQ(whole, moved_by_all(rest));
    EXPECT_EQ(moved_by_all(rest + "/zero:2") * 2, whole * (micro + 1)) << micro;
  }
}

// Of zero3 every further gather is among the ranks of a group: g - 1 of them send what they have to the others.
TEST(Execute, SmallerGroupsGatherWeightsFromFewerRanks) {
  const std::string rest = "/np:6/batch:12/bucket:1/prefetch:0";
  const plan::Plan plan = small_plan("zero3" + rest + "/shard:3");
  const plan::StateLayout layout = plan::state_layout(plan, plan::ParameterSizes(small_network()), Rank(0));
  std::int64_t gathered = 0;
  for (const plan::Lane& lane : plan.ranks[0].lanes) {
    for (const plan::Op& op : lane.ops)
      if (op.kind == plan::OpKind::all_gather) gathered += layout.run(op.segment, op.segments).count;
  }
  const std::int64_t whole = layout.copy_bytes(), further = gathered * layout.element_bytes - whole;
  const std::int64_t sums_and_gathers = moved_by_all("data-parallel/np:6/batch:12/bucket:1");
  EXPECT_GT(further, 0);
  EXPECT_EQ(moved_by_all("zero3" + rest + "/shard:3"), sums_and_gathers + further * 2 * (3 - 1));
  EXPECT_EQ(moved_by_all("zero3" + rest + "/shard:2"), sums_and_gathers + further * 3 * (2 - 1));
  EXPECT_EQ(moved_by_all("zero3" + rest), sums_and_gathers + further * (6 - 1));
}

TEST(Execute, CompressedSumsMoveTheBytesOfTheirFormulas) {
  for (const char* compress : {"bf16", "powersgd", "powersgd[rank=1]", "topk", "topk[ratio=0.3]"}) {
    for (const char* rest : {"/np:2/batch:8", "/np:3/batch:9/bucket:1KiB", "/np:4/batch:8/bucket:4KiB"}) {
      const std::string id = std::string("data-parallel") + rest + "/compress:" + compress;
      const plan::Plan plan = plan::unroll(small_plan(id), 2);
      const plan::ParameterSizes sizes(small_network());
      std::int64_t formula = 0, sent = 0;
      for (const plan::Lane& lane : plan.ranks[0].lanes) {
        for (const plan::Op& op : lane.ops) {
          if (plan::is_collective(op.kind)) formula += plan::collective_bytes(plan, sizes, op);
        }
      }
      const std::vector<comm::Traffic> moved = traffic(id);
      for (const comm::Traffic& one : moved) sent += one.sent;
      EXPECT_EQ(sent, (plan.spec.np - 1) * formula) << id;
      EXPECT_GT(sent, 0) << id;
    }
  }
}

TEST(Execute, MemoryOfCompressedSumsIsCountedAsTheLayoutSays) {
  for (const char* compress : {"bf16", "powersgd[rank=2]", "topk[ratio=0.1]"}) {
    const plan::Plan plan =
        plan::unroll(small_plan(std::string("data-parallel/np:3/batch:9/bucket:4KiB/compress:") + compress), 3);
    const Outcome result = run(plan, StepId(1));
    for (int r = 0; r < plan.spec.np; ++r) {
      for (const auto category : {MemoryCategory::gradients, MemoryCategory::communication})
        EXPECT_EQ(result.memory[r][category], stored(plan, r, category)) << compress;
      EXPECT_GT(stored(plan, r, MemoryCategory::communication), 0) << compress;
    }
  }
}

TEST(Execute, EveryGatherOfWeightsSendsAllSharesToTheOthers) {
  for (const char* prefetch : {"0", "1", "20"}) {
    const std::string rest = std::string("zero3/np:3/batch:9/bucket:1/prefetch:") + prefetch;
    const plan::Plan plan = plan::unroll(small_plan(rest), 2);
    const plan::StateLayout layout = plan::state_layout(plan, plan::ParameterSizes(small_network()), Rank(0));
    std::int64_t gathered = 0, sent = 0;
    for (const plan::Lane& lane : plan.ranks[0].lanes) {
      for (const plan::Op& op : lane.ops)
        if (op.kind == plan::OpKind::all_gather)
          gathered += layout.run(op.segment, op.segments).count * layout.element_bytes;
    }
    for (const comm::Traffic& moved : traffic(rest)) sent += moved.sent;
    EXPECT_EQ(sent, 2 * gathered) << prefetch;
  }
}

TEST(Execute, GradientsThatAreReducedLieInAnArena) {
  const plan::Plan plan = plan::unroll(small_plan("data-parallel/np:2/batch:8"), 2);
  const Outcome result = run(plan, StepId(1));
  EXPECT_EQ(result.memory[1][MemoryCategory::gradients], stored(plan, 1, MemoryCategory::gradients));
}

TEST(Execute, OtherGradientsAreMadeByTheFirstBackwardAndDroppedByTheUpdate) {
  const plan::Plan plan = plan::unroll(small_plan("gpipe/np:1/batch:6/micro:3"), 2);
  const models::ModelSpec model = small_network();
  static MemoryAccount account;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(account);
    StageState state(plan, model, comm, *device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, *device);
    const Execution execution = execute(plan, model, state, comm, input, *device, StepId(0));
    const auto& ops = plan.ranks[0].compute();
    std::int64_t made = 0, dropped = 0, tensors = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::int64_t change = execution.memory[i].after - execution.memory[i].before;
      if (ops[i].kind == plan::OpKind::forward) tensors += change;
      if (ops[i].kind == plan::OpKind::backward) made += change;
      if (ops[i].kind == plan::OpKind::update) dropped += change;
    }
    EXPECT_EQ(tensors + made + dropped, 0) << "a step leaves nothing behind";
    std::int64_t parameters = 0;
    for (const models::LayerSpec& layer : model.layers)
      for (const models::ParameterSpec& p : models::parameters(layer)) parameters += p.elements() * 4;
    EXPECT_EQ(dropped, -2 * parameters);
  });
}

/// Comes to its marks long after the host gave them, one a microsecond after the other, as a device with a full queue.
class LateDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  Mark mark() override { return {.host_s = 0, .event = nullptr, .number = ++marks_}; }
  bool reached(const Mark&) const override { return true; }
  double seconds(const Mark& mark) const override { return 1e6 + 1e-6 * mark.number; }
  int marks() const { return marks_; }

 private:
  int marks_ = 0;
};

Execution train_late(const plan::Plan& plan, std::optional<StepId> measure_from, int& marks) {
  static MemoryAccount account;
  Execution execution;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    LateDevice device(account);
    StageState state(plan, small_network(), comm, device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, device);
    execution = execute(plan, small_network(), state, comm, input, device, measure_from);
    marks = device.marks();
  });
  return execution;
}

TEST(Execute, WaitingForDataIsTheDevicesTimeAndPartOfTheOperation) {
  const plan::Plan plan = plan::unroll(small_plan("sequential/np:1/batch:6"), 3);
  int marks = 0;
  const std::vector<plan::Span> spans = train_late(plan, StepId(0), marks).spans[plan::compute_lane];
  const auto& ops = plan.ranks[0].compute();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool reads = ops[i].kind == plan::OpKind::forward && ops[i].segment == SegmentId(0);
    EXPECT_NEAR(spans[i].data_wait, reads ? 1e-6 : 0, 1e-7) << i;
    EXPECT_NEAR(spans[i].end - spans[i].start - spans[i].data_wait, 1e-6, 2e-7) << i;
  }
}

TEST(Execute, SetsOneMarkAnOperationWhereNothingIsMeasured) {
  const plan::Plan plan = plan::unroll(small_plan("sequential/np:1/batch:6"), 3);
  int marks = 0;
  const std::vector<plan::Span> spans = train_late(plan, std::nullopt, marks).spans[plan::compute_lane];
  EXPECT_EQ(marks, std::ssize(plan.ranks[0].compute()));
  for (const plan::Span& span : spans) EXPECT_EQ(span.end, 0);
}

/// Sees in which state the computing thread is when it makes tensors and when it updates.
class WatchingDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void allocating(MemoryCategory) override { EXPECT_TRUE(entered_); }
  void update(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) override {
    updated = true;
    EXPECT_FALSE(c10::AutogradState::get_tls_state().get_multithreading_enabled());
    ForwardingDevice::update(rule, parameters);
  }
  bool updated = false;

 private:
  void enter_queue(bool computes) override { entered_ = entered_ || computes; }

  bool entered_ = false;
};

TEST(Execute, TensorsAreMadeInTheDevicesQueuesAndBackwardsRunOnTheComputingThread) {
  static MemoryAccount account;
  const plan::Plan plan = small_plan("sequential/np:1/batch:6");
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    WatchingDevice device(account);
    StageState state(plan, small_network(), comm, device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, device);
    execute(plan, small_network(), state, comm, input, device, std::nullopt);
    EXPECT_TRUE(device.updated);
  });
}

}  // namespace
}  // namespace parabench::exec
