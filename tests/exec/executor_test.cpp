#include "parallelism/exec/executor.h"

#include <c10/core/AutogradState.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>
#include <stdexcept>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/reference.h"
#include "tests/comm/forwarding_communicator.h"
#include "tests/exec/forwarding_device.h"
#include "tests/exec/small_network.h"

namespace parabench {
namespace {

struct Outcome {
  Timeline timeline;
  std::vector<double> losses;
  std::vector<MemoryUsage> memory;
};

Outcome run(const Plan& plan, int measure_from = 0) {
  static MemoryAccount accounts[8];
  const ModelSpec model = small_network();
  Outcome result;
  result.timeline.ranks.resize(plan.spec.np);
  result.memory.resize(plan.spec.np);
  result.losses.assign(plan.steps, 0);
  std::mutex mutex;
  run_thread_ranks({plan.spec.np, reduction_groups(plan)}, [&](Communicator& comm) {
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
  const Plan once = small_plan(GetParam(), 4);
  const Outcome result = run(unroll(once, 4));
  const ReferenceState reference = train_reference(once, small_network(), 4, small_source(), {});
  for (int s = 0; s < 4; ++s) EXPECT_NEAR(result.losses[s], reference.losses[s], 1e-4 * reference.losses[s]) << s;
}

TEST_P(EveryPlan, SpansKeepLaneOrderAndDependencies) {
  const Plan plan = unroll(small_plan(GetParam(), 3), 3);
  const Outcome result = run(plan);
  for (int r = 0; r < plan.spec.np; ++r) {
    const LocalDependencies needs = dependencies(plan, Rank(r));
    for (int lane = 0; lane < std::ssize(plan.ranks[r].lanes); ++lane) {
      const auto& spans = result.timeline.ranks[r][lane];
      for (int i = 0; i < std::ssize(spans); ++i) {
        EXPECT_LE(spans[i].queued, spans[i].start);
        EXPECT_LE(spans[i].start, spans[i].end);
        EXPECT_GE(spans[i].queued, i == 0 ? 0 : spans[i - 1].end);
        for (const OpRef& ref : needs.of(lane, i))
          EXPECT_GE(spans[i].start, result.timeline.ranks[r][ref.lane][ref.index].end);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryPlan,
                         testing::Values("sequential/np:1/batch:6", "data-parallel/np:2/batch:9/bucket:1KiB",
                                         "model-parallel/np:3/batch:6", "gpipe/np:2/batch:8/micro:3",
                                         "pipedream/np:3/batch:4", "1f1b/np:3/batch:9/micro:4",
                                         "dapple/np:2/batch:8/micro:3", "gpipe/np:2/batch:8/precision:bf16",
                                         "gpipe/np:2/batch:8/precision:bf16/layout:channels_last",
                                         "interleaved/np:2/batch:9", "zb-v/np:2/batch:9/micro:3",
                                         "zb-h1/np:2/batch:8/precision:bf16", "chimera/np:4/batch:9",
                                         "1f1b/np:4/batch:9/dp:2", "pipedream[replicas=2-1]/np:3/batch:4",
                                         "1f1b/np:2/batch:9/recompute:all"));

TEST(Execute, ReportsADivergedLossAndStopsTheOtherRanks) {
  const Plan plan = unroll(small_plan("gpipe/np:2/batch:8/lr:1e30"), 5);
  EXPECT_THROW(run(plan), NotANumber);
}

class FailingSource final : public SampleSource {
 public:
  std::int64_t size() const override { return 100; }
  Shape shape() const override { return {3, 8, 8}; }
  int label(std::int64_t) const override { return 0; }
  void read(std::int64_t, std::int64_t, std::span<float>) const override { throw CorruptSample("file 7", "is broken"); }
};

TEST(Execute, AReaderThatFailsStopsAllRanksWithItsCause) {
  const Plan plan = unroll(small_plan("model-parallel/np:2/batch:4"), 2);
  const ModelSpec model = small_network();
  static MemoryAccount accounts[2];
  try {
    run_thread_ranks(2, [&](Communicator& comm) {
      const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
      StageState state(plan, model, comm, *device);
      RankInput input = open_input(plan, comm.rank(), std::make_shared<FailingSource>(), {}, *device);
      execute(plan, model, state, comm, input, *device, 0);
    });
    FAIL() << "expected the reader's error";
  } catch (const CorruptSample& error) {
    EXPECT_NE(std::string(error.what()).find("file 7"), std::string::npos);
  }
}

TEST(Execute, PeakMemoryIsCountedByCategory) {
  const Plan plan = unroll(small_plan("pipedream/np:3/batch:4", 6), 6);
  const Outcome result = run(plan, 2);
  const ModelSpec model = small_network();
  for (int r = 0; r < 3; ++r) {
    const std::int64_t arena = arena_bytes(plan, model, Rank(r));
    EXPECT_EQ(result.memory[r][MemoryCategory::parameters], arena);
    EXPECT_EQ(result.memory[r][MemoryCategory::optimizer], arena);
    EXPECT_EQ(result.memory[r][MemoryCategory::weight_versions], (3 - 1 - r) * arena);
    EXPECT_GT(result.memory[r][MemoryCategory::activations], 0);
  }
}

TEST(Execute, GradientsThatAreReducedLieInAnArena) {
  const Plan plan = unroll(small_plan("data-parallel/np:2/batch:8"), 2);
  const Outcome result = run(plan, 1);
  EXPECT_EQ(result.memory[1][MemoryCategory::gradients], arena_bytes(plan, small_network(), Rank(1)));
}

TEST(Execute, OtherGradientsAreMadeByTheFirstBackwardAndDroppedByTheUpdate) {
  const Plan plan = unroll(small_plan("gpipe/np:1/batch:6/micro:3"), 2);
  const ModelSpec model = small_network();
  static MemoryAccount account;
  run_thread_ranks(1, [&](Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(account);
    StageState state(plan, model, comm, *device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, *device);
    const Execution execution = execute(plan, model, state, comm, input, *device, 0);
    const auto& ops = plan.ranks[0].compute();
    std::int64_t made = 0, dropped = 0, tensors = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::int64_t change = execution.memory[i].after - execution.memory[i].before;
      if (ops[i].kind == OpKind::forward) tensors += change;
      if (ops[i].kind == OpKind::backward) made += change;
      if (ops[i].kind == OpKind::update) dropped += change;
    }
    EXPECT_EQ(tensors + made + dropped, 0) << "a step leaves nothing behind";
    std::int64_t parameters = 0;
    for (const LayerSpec& layer : model.layers)
      for (const TensorSpec& p : parabench::parameters(layer)) parameters += p.elements() * 4;
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

Execution train_late(const Plan& plan, std::optional<int> measure_from, int& marks) {
  static MemoryAccount account;
  Execution execution;
  run_thread_ranks(1, [&](Communicator& comm) {
    LateDevice device(account);
    StageState state(plan, small_network(), comm, device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, device);
    execution = execute(plan, small_network(), state, comm, input, device, measure_from);
    marks = device.marks();
  });
  return execution;
}

TEST(Execute, WaitingForDataIsTheDevicesTimeAndPartOfTheOperation) {
  const Plan plan = unroll(small_plan("sequential/np:1/batch:6"), 3);
  int marks = 0;
  const std::vector<Span> spans = train_late(plan, 0, marks).spans[compute_lane];
  const auto& ops = plan.ranks[0].compute();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool reads = ops[i].kind == OpKind::forward && ops[i].segment == SegmentId(0);
    EXPECT_NEAR(spans[i].data_wait, reads ? 1e-6 : 0, 1e-7) << i;
    EXPECT_NEAR(spans[i].end - spans[i].start - spans[i].data_wait, 1e-6, 2e-7) << i;
  }
}

TEST(Execute, SetsOneMarkAnOperationWhereNothingIsMeasured) {
  const Plan plan = unroll(small_plan("sequential/np:1/batch:6"), 3);
  int marks = 0;
  const std::vector<Span> spans = train_late(plan, std::nullopt, marks).spans[compute_lane];
  EXPECT_EQ(marks, std::ssize(plan.ranks[0].compute()));
  for (const Span& span : spans) EXPECT_EQ(span.end, 0);
}

/// What stands for an event of a device: the number of its mark, or of a transfer.
struct PretendedEvent {
  int number = 0;
  double passed_s = 0;
};

/// A device that notes what its computing queue was told to wait for, and between which marks.
class QueuedDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  Mark mark() override {
    Mark mark = ForwardingDevice::mark();
    mark.event = &events_.emplace_back(static_cast<int>(events_.size()), mark.host_s);
    return mark;
  }
  void wait(const DeviceEvent& event) override {
    waited.emplace_back(static_cast<int>(events_.size()), *static_cast<PretendedEvent*>(event.get()));
  }
  double event_seconds(const DeviceEvent& event) const override {
    return static_cast<PretendedEvent*>(event.get())->passed_s;
  }
  int marks() const { return static_cast<int>(events_.size()); }

  std::vector<std::pair<int, PretendedEvent>> waited;  ///< after so many marks

 private:
  std::deque<PretendedEvent> events_;  // where they are stays
};

/// Passes on what a communicator is given, with times of a device's own.
class TimedTransfer final : public WorkState {
 public:
  TimedTransfer(Work work, int number) : work_(std::move(work)) {
    span_ = {std::make_shared<PretendedEvent>(number, 1e9 + 10 * number),
             std::make_shared<PretendedEvent>(number, 1e9 + 10 * number + 5)};
  }
  bool advance() override { return work_.test(); }
  DeviceSpan device_span() const override { return span_; }

 private:
  Work work_;
  DeviceSpan span_;
};

class SpyingCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::vector<const PretendedEvent*> sent_after, received_after, reduced_after;
  std::set<int> arriving;  ///< numbers of receives and sums

 private:
  std::unique_ptr<WorkState> start_all_reduce(BufferView buffer, int group) override {
    reduced_after.push_back(static_cast<PretendedEvent*>(buffer.ready));
    return timed(ForwardingCommunicator::start_all_reduce(buffer, group), true);
  }
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override {
    sent_after.push_back(static_cast<PretendedEvent*>(buffer.ready));
    return timed(ForwardingCommunicator::start_send(buffer, to, message), false);
  }
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override {
    received_after.push_back(static_cast<PretendedEvent*>(buffer.ready));
    return timed(ForwardingCommunicator::start_recv(buffer, from, message), true);
  }
  std::unique_ptr<WorkState> timed(std::unique_ptr<WorkState> work, bool arrives) {
    if (arrives) arriving.insert(number_);
    return std::make_unique<TimedTransfer>(Work(std::move(work)), number_++);
  }

  int number_ = 0;
};

class QueuedExecution : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cases, QueuedExecution,
                         testing::Values("gpipe/np:2/batch:8/micro:3", "data-parallel/np:2/batch:9/bucket:1KiB"));

/// `check(plan, comm, device, spans)` on each rank after it has trained.
template <class Check>
void train_queued(const Plan& plan, Check check) {
  static MemoryAccount accounts[2];
  run_thread_ranks({2, reduction_groups(plan)}, [&](Communicator& host) {
    QueuedDevice device(accounts[host.rank().value]);
    StageState state(plan, small_network(), host, device);
    RankInput input = open_input(plan, host.rank(), small_source(), {}, device);
    SpyingCommunicator comm(host);
    const RankSpans spans = execute(plan, small_network(), state, comm, input, device, 0).spans;
    check(plan, comm, device, spans);
  });
}

/// The numbers of each operation's first and last mark: three each, one more where it reads a piece.
std::vector<std::pair<int, int>> marks_of(const Plan& plan, Rank rank) {
  const auto& ops = plan.ranks[rank.value].compute();
  const bool holds_first = std::ranges::any_of(ops, [](const Op& op) { return op.segment == SegmentId(0); });
  const SegmentId reading = holds_first ? SegmentId(0) : last_segment(plan);
  std::vector<std::pair<int, int>> marks;
  int next = 0;
  for (const Op& op : ops) {
    const int first = next;
    next += op.kind == OpKind::forward && op.segment == reading ? 4 : 3;
    marks.emplace_back(first, next - 1);
  }
  return marks;
}

TEST_P(QueuedExecution, WhatLeavesARankIsReadyAfterTheOperationThatMadeIt) {
  train_queued(unroll(small_plan(GetParam(), 2), 2),
               [](const Plan& plan, SpyingCommunicator& comm, QueuedDevice& device, const RankSpans&) {
                 for (const PretendedEvent* event : comm.received_after) EXPECT_EQ(event, nullptr);
                 std::set<int> ends;
                 for (const auto& [first, last] : marks_of(plan, comm.rank())) ends.insert(last);
                 ASSERT_EQ(*ends.rbegin() + 1, device.marks());
                 for (const auto& events : {comm.sent_after, comm.reduced_after}) {
                   for (const PretendedEvent* event : events) {
                     ASSERT_NE(event, nullptr);
                     EXPECT_TRUE(ends.contains(event->number));
                   }
                 }
                 EXPECT_FALSE(comm.sent_after.empty() && comm.reduced_after.empty());
               });
}

TEST_P(QueuedExecution, TheDeviceWaitsForWhatArrivesBetweenAnOperationsFirstTwoMarks) {
  train_queued(unroll(small_plan(GetParam(), 2), 2),
               [](const Plan& plan, SpyingCommunicator& comm, QueuedDevice& device, const RankSpans&) {
                 std::set<int> firsts, waited;
                 for (const auto& [first, last] : marks_of(plan, comm.rank())) firsts.insert(first + 1);
                 for (const auto& [place, event] : device.waited) {
                   EXPECT_TRUE(firsts.contains(place)) << place;
                   waited.insert(event.number);
                 }
                 EXPECT_EQ(waited, comm.arriving);
                 EXPECT_FALSE(waited.empty());
               });
}

TEST_P(QueuedExecution, SpansOfTransfersAreTheDevicesTimes) {
  train_queued(unroll(small_plan(GetParam(), 2), 2),
               [](const Plan&, SpyingCommunicator&, QueuedDevice&, const RankSpans& spans) {
                 for (std::size_t lane = compute_lane + 1; lane < spans.size(); ++lane) {
                   for (const Span& span : spans[lane]) {
                     EXPECT_GE(span.start, 1e9);
                     EXPECT_EQ(span.end, span.start + 5);
                   }
                 }
               });
}

/// Sees in which state the computing thread is when it makes tensors and when it updates.
class WatchingDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void allocating(MemoryCategory) override { EXPECT_TRUE(entered_); }
  void update(const SgdRule& rule, const std::vector<SgdOperands>& parameters) override {
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
  const Plan plan = small_plan("sequential/np:1/batch:6");
  run_thread_ranks(1, [&](Communicator& comm) {
    WatchingDevice device(account);
    StageState state(plan, small_network(), comm, device);
    RankInput input = open_input(plan, Rank(0), small_source(), {}, device);
    execute(plan, small_network(), state, comm, input, device, std::nullopt);
    EXPECT_TRUE(device.updated);
  });
}

}  // namespace
}  // namespace parabench
