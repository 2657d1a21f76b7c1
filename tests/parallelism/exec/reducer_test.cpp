#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>

#include "parallelism/comm/forwarding_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

/// Trains a plan `times` times on the same state; what the last one told, by rank.
template <class Communicator = comm::ForwardingCommunicator>
std::vector<Execution> train(const plan::Plan& plan, int times = 1) {
  static MemoryAccount accounts[4];
  const models::ModelSpec model = small_network();
  std::vector<Execution> result(plan.spec.np);
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& inner) {
    Communicator comm(inner);
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    StageState state(plan, model, comm, *device);
    Execution execution;
    for (int time = 0; time < times; ++time) {
      RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
      execution = execute(plan, model, state, comm, input, *device, StepId(0));
    }
    const std::lock_guard lock(mutex);
    result[comm.rank().value] = std::move(execution);
  });
  return result;
}

std::vector<ReducedBucket> of_step(const Execution& execution, int step) {
  std::vector<ReducedBucket> buckets;
  for (const ReducedBucket& bucket : execution.buckets)
    if (bucket.step == StepId(step)) buckets.push_back(bucket);
  return buckets;
}

std::int64_t parameter_bytes(const models::ModelSpec& model) {
  std::int64_t elements = 0;
  for (const models::LayerSpec& layer : model.layers) elements += models::parameter_count(layer);
  return elements * 4;
}

TEST(Reducer, SumsAllGradientsAtOnceInTheFirstStepAndInBucketsOfItsLimitAfterIt) {
  const plan::Plan plan = plan::unroll(small_plan("c10d/np:2/batch:8/bucket:4KiB"), 3);
  const std::vector<Execution> trained = train(plan);
  const std::int64_t all = parameter_bytes(small_network());
  for (const Execution& rank : trained) {
    ASSERT_EQ(of_step(rank, 0).size(), 1u);
    EXPECT_EQ(of_step(rank, 0).front().bytes, all);
    for (const int step : {1, 2}) {
      const std::vector<ReducedBucket> buckets = of_step(rank, step);
      ASSERT_GT(buckets.size(), 2u);
      std::int64_t sum = 0;
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        sum += buckets[b].bytes;
        EXPECT_GE(buckets[b].bytes, b + 1 < buckets.size() ? 4096 : 1);
      }
      EXPECT_EQ(sum, all);
    }
  }
}

TEST(Reducer, SumsInTheOrderOfTheBackwardWhileItGoesOnAndWaitsBeforeTheUpdate) {
  const plan::Plan plan = plan::unroll(small_plan("c10d/np:2/batch:8/bucket:4KiB"), 3);
  const std::vector<Execution> trained = train(plan);
  for (const Execution& rank : trained) {
    const std::vector<ReducedBucket> buckets = of_step(rank, 2);
    const plan::Span& update = rank.spans[plan::compute_lane].back();
    const plan::Span& last_backward = rank.spans[plan::compute_lane][rank.spans[plan::compute_lane].size() - 2];
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      EXPECT_LE(buckets[b].ready, buckets[b].start);
      EXPECT_LE(buckets[b].end, update.start);
      if (b == 0) continue;
      EXPECT_LE(buckets[b - 1].ready, buckets[b].ready);
      EXPECT_LE(buckets[b - 1].end, buckets[b].start);
      EXPECT_LE(buckets[b].first, buckets[b - 1].first);
    }
    EXPECT_EQ(update.start, std::max(buckets.back().end, last_backward.end)) << "copies out of buckets are its part";
    // The first one is ready before the last layer's backward begins, the last one within it.
    EXPECT_LT(buckets.front().ready, last_backward.start);
    EXPECT_GE(buckets.back().ready, last_backward.start);
    EXPECT_LE(buckets.back().ready, last_backward.end);
  }
}

TEST(Reducer, KeepsItsBucketsWhenTheSameStateIsTrainedAgain) {
  const std::vector<Execution> trained = train(plan::unroll(small_plan("c10d/np:2/batch:8/bucket:4KiB"), 2), 2);
  EXPECT_EQ(of_step(trained[0], 0).size(), of_step(trained[0], 1).size());
  EXPECT_GT(of_step(trained[0], 0).size(), 2u);
}

TEST(Reducer, ALossThatDivergesStopsAllRanks) {
  EXPECT_THROW(train(plan::unroll(small_plan("c10d/np:2/batch:8/bucket:4KiB/lr:1e30"), 5)), NotANumber);
}

/// Fails its second all-reduce on one rank, where the others wait for it.
class FailingCommunicator final : public comm::ForwardingCommunicator {
 public:
  using comm::ForwardingCommunicator::ForwardingCommunicator;

 private:
  std::unique_ptr<comm::WorkState> start_collective(const comm::CollectiveCall& call) override {
    if (rank() == Rank(1) && call.kind == comm::CollectiveKind::all_reduce && ++sums_ == 2)
      throw std::runtime_error("the cable is cut");
    return comm::ForwardingCommunicator::start_collective(call);
  }
  int sums_ = 0;
};

TEST(Reducer, ASumThatFailsStopsAllRanksWithItsCause) {
  try {
    train<FailingCommunicator>(plan::unroll(small_plan("c10d/np:2/batch:8/bucket:4KiB"), 3));
    ADD_FAILURE() << "no rank failed";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("the cable is cut"), std::string::npos) << error.what();
  }
}

TEST(Reducer, ThePlanSumsTheLayersThatTheRebuiltBucketsComplete) {
  for (const char* rest : {"c10d/np:2/batch:8", "c10d/np:2/batch:8/bucket:4KiB", "c10d/np:3/batch:9/bucket:16KiB"}) {
    const plan::Plan plan = plan::unroll(small_plan(rest), 2);
    std::vector<SegmentId> planned, completed;
    for (const plan::Op& op : plan.ranks[0].lanes.at(1).ops)
      if (op.step == StepId(1)) planned.push_back(op.segment);
    const std::vector<ReducedBucket> buckets = of_step(train(plan)[0], 1);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      // The next bucket may have the rest of this one's first layer.
      const bool shares = b + 1 < buckets.size() && buckets[b + 1].last == buckets[b].first;
      const SegmentId first(buckets[b].first.value + (shares ? 1 : 0));
      if (first <= buckets[b].last && (completed.empty() || first < completed.back())) completed.push_back(first);
    }
    EXPECT_EQ(planned, completed) << rest;
  }
}

}  // namespace
}  // namespace parabench::exec
