// How far the lanes run ahead of a device: what they wait for, and what not.
#include "parallelism/exec/lane_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

#include "base/clock.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

/// A transfer on a device's queue: queued when its host part, a message or sum of one number, has ended; it ends when
/// the device gets to it.
class Transfer final : public comm::WorkState {
 public:
  Transfer(comm::Work host, std::unique_ptr<double> number, std::function<bool()> ended, comm::DeviceSpan span)
      : number_(std::move(number)), host_(std::move(host)), ended_(std::move(ended)), span_(std::move(span)) {}
  bool queued() override { return host_.test(); }
  bool advance() override { return queued() && ended_(); }
  comm::DeviceSpan device_span() const override { return span_; }

 private:
  std::unique_ptr<double> number_;
  comm::Work host_;
  std::function<bool()> ended_;
  comm::DeviceSpan span_;
};

/// Gives out operations of a device that does nothing before it is told to.
class QueuedWork final : public RankWork {
 public:
  QueuedWork(const plan::Plan& plan, const plan::LocalDependencies& needs, comm::Communicator& comm)
      : groups_(plan::collective_groups(plan).numbers),
        program_(plan.ranks[comm.rank().value]),
        needs_(needs),
        comm_(comm) {}

  void enter(bool) override {}
  void queue(int index) override { most_ahead = std::max(most_ahead, index + 1 - done_); }
  void begin(int index) override {
    const std::lock_guard lock(mutex_);
    for (const plan::OpRef& ref : needs_.of(plan::compute_lane, index)) {
      if (ref.lane == plan::compute_lane) continue;
      EXPECT_TRUE(given_out_.contains({ref.lane, ref.index}));
      EXPECT_FALSE(ended_.contains({ref.lane, ref.index}));
    }
  }
  void compute(int) override {}
  void adds(int, std::vector<plan::OpRef>) override {}
  void comes_too_late(StepId) override {}
  void finish() override { finished_ = true; }
  plan::Span computed(int index) const override { return {1e6 + index, 1e6 + index, 1e6 + index + 1}; }
  /// The device needs some looks for each operation.
  bool is_done(int index) const override {
    EXPECT_EQ(index, done_);
    if (++looks_ % 3 != 0) return false;
    ++done_;
    return true;
  }

  comm::Work start(int lane, int index) override {
    const plan::Op& op = program_.lanes[lane].ops[index];
    auto number = std::make_unique<double>(1);
    const comm::BufferView view{number.get(), sizeof(double), comm::ElementType::f64};
    comm::Work host;
    if (op.kind == plan::OpKind::all_reduce) {
      host = comm_.all_reduce(view, groups_.at(program_.lanes[lane].key));
    } else {
      host = op.kind == plan::OpKind::send ? comm_.send(view, op.peer, message_of(op))
                                           : comm_.recv(view, op.peer, message_of(op));
    }
    // Should somebody wait for an end before all is given out, he gets it at last, and begin() notices.
    return comm::Work(std::make_unique<Transfer>(
        std::move(host), std::move(number), [this] { return finished_.load() || now_s() > patience_; },
        comm::DeviceSpan{std::make_shared<int>(index), nullptr}));
  }
  void given_out(int lane, int index, const comm::DeviceSpan& span) override {
    EXPECT_EQ(*static_cast<int*>(span.start.get()), index);
    const std::lock_guard lock(mutex_);
    given_out_.insert({lane, index});
  }
  void end(int lane, int index) override {
    const std::lock_guard lock(mutex_);
    ended_.insert({lane, index});
  }
  double patience_s() override { return 1e-3; }
  /// The device takes two seconds each, and starts a second before the one before has ended.
  plan::Span transferred(int, int index, const plan::Span& seen) const override {
    return {seen.queued, 1e6 + index, 1e6 + index + 2};
  }

  int most_ahead = 0;  ///< given out and not done, the next one included

 private:
  std::map<plan::LaneKey, CommGroupId> groups_;
  const plan::RankProgram& program_;
  const plan::LocalDependencies& needs_;
  comm::Communicator& comm_;
  std::mutex mutex_;
  std::set<std::pair<int, int>> given_out_, ended_;
  std::atomic<bool> finished_ = false;
  const double patience_ = now_s() + 10;
  mutable int done_ = 0, looks_ = 0;
};

/// Spans and most_ahead of every rank.
std::vector<std::pair<RankSpans, int>> run(const plan::Plan& plan) {
  std::vector<std::pair<RankSpans, int>> ranks(plan.spec.np);
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
    QueuedWork work(plan, needs, comm);
    RankSpans spans = run_lanes(plan, needs, comm, work);
    ranks[comm.rank().value] = {std::move(spans), work.most_ahead};
  });
  return ranks;
}

class QueuedLanes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Plans, QueuedLanes,
                         testing::Values("gpipe/np:2/batch:12/micro:6", "1f1b/np:3/batch:12/micro:6",
                                         "data-parallel/np:2/batch:8/bucket:1KiB", "1f1b/np:4/batch:12/dp:2"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase_if(name, [](unsigned char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST_P(QueuedLanes, ComputeGoesOnWhenWhatItNeedsIsQueuedAndNoFurtherThanTheBound) {
  const plan::Plan plan = plan::unroll(small_plan(GetParam(), 4), 4);
  for (const auto& [spans, most_ahead] : run(plan)) EXPECT_EQ(most_ahead, most_given_out);
}

TEST_P(QueuedLanes, SpansOfALaneFollowEachOtherOnTheDevicesClock) {
  const plan::Plan plan = plan::unroll(small_plan(GetParam(), 4), 4);
  for (const auto& [spans, most_ahead] : run(plan)) {
    for (std::size_t lane = plan::compute_lane + 1; lane < spans.size(); ++lane) {
      for (std::size_t i = 0; i < spans[lane].size(); ++i) {
        const double free_since = i == 0 ? 0 : spans[lane][i - 1].end;
        EXPECT_EQ(spans[lane][i].end, 1e6 + static_cast<double>(i) + 2);
        EXPECT_EQ(spans[lane][i].start, std::max(1e6 + static_cast<double>(i), free_since));
        EXPECT_GE(spans[lane][i].start, spans[lane][i].queued);
        EXPECT_GE(spans[lane][i].queued, free_since);
      }
    }
  }
}

TEST(Lanes, ARankAloneIsNotBounded) {
  const plan::Plan plan = plan::unroll(small_plan("sequential/np:1/batch:6", 20), 20);
  const int operations = static_cast<int>(plan.ranks[0].compute().size());
  EXPECT_EQ(run(plan)[0].second, operations);
}

}  // namespace
}  // namespace parabench::exec
