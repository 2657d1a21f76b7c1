#include "parallelism/exec/lane_runner.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "parallelism/exec/device.h"
#include "parallelism/exec/lanes.h"

namespace parabench {
namespace {

constexpr double device_look_s = 20e-6;

/// Everything that both threads of a rank look at while a plan runs.
class LaneRunner {
 public:
  LaneRunner(const RankProgram& program, const LocalDependencies& needs, Communicator& comm, RankWork& work)
      : program_(program), needs_(needs), comm_(comm), work_(work), progress_(program.lanes.size()) {
    for (const Lane& lane : program.lanes) spans_.emplace_back(lane.ops.size());
  }

  RankSpans run();

 private:
  void compute();
  void communicate();
  /// Whether the results of `needs` can be sent: those computed must have come out of the device's queue.
  enum class Readiness { no, in_queue, yes };
  Readiness readiness(std::span<const OpRef> needs) const;

  const RankProgram& program_;
  const LocalDependencies& needs_;
  Communicator& comm_;
  RankWork& work_;
  LaneProgress progress_;
  RankSpans spans_;
};

LaneRunner::Readiness LaneRunner::readiness(std::span<const OpRef> needs) const {
  if (!progress_.all_ended(needs)) return Readiness::no;
  const bool done = std::ranges::all_of(
      needs, [&](const OpRef& ref) { return ref.lane != compute_lane || work_.is_done(ref.index); });
  return done ? Readiness::yes : Readiness::in_queue;
}

void LaneRunner::communicate() {
  struct Cursor {
    int lane;
    int index = 0;
    Work work;
    bool running = false;
  };
  std::vector<Cursor> cursors;
  for (int lane = compute_lane + 1; lane < std::ssize(program_.lanes); ++lane) cursors.push_back({.lane = lane});
  try {
    work_.enter(/*computes=*/false);
    for (;;) {
      const std::uint32_t seen = comm_.events();
      bool moved = false, unfinished = false, in_queue = false;
      for (Cursor& c : cursors) {
        if (c.index == std::ssize(spans_[c.lane])) continue;
        unfinished = true;
        Span& span = spans_[c.lane][c.index];
        if (span.queued == 0) span.queued = now_s();
        if (!c.running) {
          const Readiness ready = readiness(needs_.of(c.lane, c.index));
          in_queue = in_queue || ready == Readiness::in_queue;
          if (ready == Readiness::yes) {
            span.start = now_s();
            c.work = work_.start(c.lane, c.index);
            c.running = true;
          }
        }
        if (!c.running || !c.work.test()) continue;
        span.end = now_s();
        work_.end(c.lane, c.index);
        c.running = false;
        ++c.index;
        progress_.end(c.lane);
        moved = true;
      }
      if (!unfinished) return;
      if (progress_.failed()) return;
      // Nobody rings when a device comes to a mark.
      if (!moved) comm_.sleep(seen, in_queue ? device_look_s : work_.patience_s());
    }
  } catch (...) {
    progress_.fail(std::current_exception());
  }
}

void LaneRunner::compute() {
  const int count = static_cast<int>(program_.compute().size());
  for (int i = 0; i < count; ++i) {
    work_.queue(i);
    const auto needs = needs_.of(compute_lane, i);
    if (!progress_.all_ended(needs)) {
      comm_.notify();
      progress_.wait_for(needs);
    }
    work_.begin(i);
    // Told about the previous operation only now: where the communication thread takes this thread's core, it
    // shows as a longer operation, as in the simulation, and not as time between two operations.
    comm_.notify();
    work_.compute(i);
    progress_.end(compute_lane);
  }
  comm_.notify();
  work_.finish();
  for (int i = 0; i < count; ++i) spans_[compute_lane][i] = work_.computed(i);
}

RankSpans LaneRunner::run() {
  work_.enter(/*computes=*/true);
  bool talks = false;
  for (const Lane& lane : program_.lanes) talks = talks || (lane.kind != LaneKind::compute && !lane.ops.empty());
  comm_.wait(comm_.barrier());
  std::thread communication;
  if (talks) communication = std::thread([this] { communicate(); });
  try {
    compute();
  } catch (const std::exception& error) {
    // A failure that another lane reported is already known to the peers, or came from them.
    progress_.fail(std::current_exception());
    comm_.abort(error.what());
    if (communication.joinable()) communication.join();
    throw;
  }
  if (communication.joinable()) communication.join();
  if (progress_.failed()) progress_.rethrow();
  return std::move(spans_);
}

}  // namespace

Message message_of(const Op& op) {
  const bool towards_end = op.kind == OpKind::send_forward || op.kind == OpKind::recv_forward;
  const auto boundary = static_cast<std::uint64_t>(std::min(op.segment, other_segment(op)).value);
  return {
      towards_end ? Channel::forward : Channel::backward,
      static_cast<std::uint64_t>(op.step) << 32 | static_cast<std::uint64_t>(op.micro_batch.value) << 16 | boundary};
}

RankSpans run_lanes(const Plan& plan, const LocalDependencies& needs, Communicator& comm, RankWork& work) {
  return LaneRunner(plan.ranks[comm.rank().value], needs, comm, work).run();
}

}  // namespace parabench
