// Order and times of operations on a device with queues of its own: marks, waits and transfers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <set>

#include "parallelism/comm/forwarding_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/exec/forwarding_device.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

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
  void wait(const comm::DeviceEvent& event) override {
    waited.emplace_back(static_cast<int>(events_.size()), *static_cast<PretendedEvent*>(event.get()));
  }
  double event_seconds(const comm::DeviceEvent& event) const override {
    return static_cast<PretendedEvent*>(event.get())->passed_s;
  }
  void synchronise() override {
    held_at_end = transfer_events;
    ForwardingDevice::synchronise();
  }
  int marks() const { return static_cast<int>(events_.size()); }

  std::vector<std::pair<int, PretendedEvent>> waited;  ///< after so many marks
  std::atomic<int> transfer_events = 0;                ///< that somebody holds
  int held_at_end = 0;                                 ///< of these, when all computing was given out

 private:
  std::deque<PretendedEvent> events_;  // where they are stays
};

/// Passes on what a communicator is given, with times of a device's own.
class TimedTransfer final : public comm::WorkState {
 public:
  /// `held` counts its events.
  TimedTransfer(comm::Work work, int number, std::atomic<int>& held) : work_(std::move(work)) {
    const auto event = [&](double passed_s) {
      ++held;
      return std::shared_ptr<PretendedEvent>(new PretendedEvent{number, passed_s}, [&held](PretendedEvent* unused) {
        delete unused;
        --held;
      });
    };
    span_ = {event(1e9 + 10 * number), event(1e9 + 10 * number + 5)};
  }
  bool advance() override { return work_.test(); }
  comm::DeviceSpan device_span() const override { return span_; }

 private:
  comm::Work work_;
  comm::DeviceSpan span_;
};

class SpyingCommunicator final : public comm::ForwardingCommunicator {
 public:
  SpyingCommunicator(comm::Communicator& inner, QueuedDevice& device)
      : comm::ForwardingCommunicator(inner), device_(device) {}
  std::vector<const PretendedEvent*> sent_after, received_after, reduced_after;
  std::set<int> arriving;  ///< numbers of receives and sums

 private:
  std::unique_ptr<comm::WorkState> start_collective(const comm::CollectiveCall& call) override {
    reduced_after.push_back(static_cast<PretendedEvent*>(call.buffer.ready));
    return timed(comm::ForwardingCommunicator::start_collective(call), true);
  }
  std::unique_ptr<comm::WorkState> start_send(comm::BufferView buffer, Rank to, comm::Message message) override {
    sent_after.push_back(static_cast<PretendedEvent*>(buffer.ready));
    return timed(comm::ForwardingCommunicator::start_send(buffer, to, message), false);
  }
  std::unique_ptr<comm::WorkState> start_recv(comm::BufferView buffer, Rank from, comm::Message message) override {
    received_after.push_back(static_cast<PretendedEvent*>(buffer.ready));
    return timed(comm::ForwardingCommunicator::start_recv(buffer, from, message), true);
  }
  std::unique_ptr<comm::WorkState> timed(std::unique_ptr<comm::WorkState> work, bool arrives) {
    if (arrives) arriving.insert(number_);
    return std::make_unique<TimedTransfer>(comm::Work(std::move(work)), number_++, device_.transfer_events);
  }

  QueuedDevice& device_;
  int number_ = 0;
};

class QueuedExecution : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cases, QueuedExecution,
                         testing::Values("gpipe/np:2/batch:8/micro:3", "data-parallel/np:2/batch:9/bucket:1KiB"));

/// `check(plan, comm, device, spans)` on each rank after it has trained.
template <class Check>
void train_queued(const plan::Plan& plan, Check check, std::optional<StepId> measure_from = StepId(0)) {
  static MemoryAccount accounts[2];
  comm::run_thread_ranks({2, plan::collective_groups(plan).declared}, [&](comm::Communicator& host) {
    QueuedDevice device(accounts[host.rank().value]);
    StageState state(plan, small_network(), host, device);
    RankInput input = open_input(plan, host.rank(), small_source(), {}, device);
    SpyingCommunicator comm(host, device);
    const RankSpans spans = execute(plan, small_network(), state, comm, input, device, measure_from).spans;
    check(plan, comm, device, spans);
  });
}

/// The numbers of each operation's first and last mark: three each, one more where it reads a piece.
std::vector<std::pair<int, int>> marks_of(const plan::Plan& plan, Rank rank) {
  const auto& ops = plan.ranks[rank.value].compute();
  const bool holds_first = std::ranges::any_of(ops, [](const plan::Op& op) { return op.segment == SegmentId(0); });
  const SegmentId reading = holds_first ? SegmentId(0) : plan::last_segment(plan);
  std::vector<std::pair<int, int>> marks;
  int next = 0;
  for (const plan::Op& op : ops) {
    const int first = next;
    next += op.kind == plan::OpKind::forward && op.segment == reading ? 4 : 3;
    marks.emplace_back(first, next - 1);
  }
  return marks;
}

TEST_P(QueuedExecution, WhatLeavesARankIsReadyAfterTheOperationThatMadeIt) {
  train_queued(plan::unroll(small_plan(GetParam(), 2), 2),
               [](const plan::Plan& plan, SpyingCommunicator& comm, QueuedDevice& device, const RankSpans&) {
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
  train_queued(plan::unroll(small_plan(GetParam(), 2), 2),
               [](const plan::Plan& plan, SpyingCommunicator& comm, QueuedDevice& device, const RankSpans&) {
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
  train_queued(plan::unroll(small_plan(GetParam(), 2), 2),
               [](const plan::Plan&, SpyingCommunicator&, QueuedDevice&, const RankSpans& spans) {
                 for (std::size_t lane = plan::compute_lane + 1; lane < spans.size(); ++lane) {
                   for (const plan::Span& span : spans[lane]) {
                     EXPECT_GE(span.start, 1e9);
                     EXPECT_EQ(span.end, span.start + 5);
                   }
                 }
               });
}

TEST_P(QueuedExecution, EventsOfTransfersPileUpOnlyWhereTheyAreMeasured) {
  for (const std::optional<StepId> measure_from : {std::optional(StepId(0)), std::optional<StepId>()}) {
    train_queued(
        plan::unroll(small_plan(GetParam(), 2), 2),
        [&](const plan::Plan& plan, SpyingCommunicator& comm, QueuedDevice& device, const RankSpans&) {
          const auto& lanes = plan.ranks[comm.rank().value].lanes;
          // A lane that transfers may not have let go of its last operation, with two events.
          const int last = 2 * (static_cast<int>(lanes.size()) - 1);
          if (measure_from)
            EXPECT_GT(device.held_at_end, last);
          else
            EXPECT_LE(device.held_at_end, last);
          EXPECT_EQ(device.transfer_events, 0);
        },
        measure_from);
  }
}

}  // namespace
}  // namespace parabench::exec
