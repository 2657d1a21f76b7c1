#include "parallelism/exec/lane_runner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/short_slices.h"
#include "parallelism/exec/firing.h"
#include "parallelism/exec/lanes.h"
#include "parallelism/exec/pulse.h"
#include "parallelism/plan/first_come.h"

namespace parabench::exec {
namespace {

/// Of a thread that waits for its device, which rings no bell.
constexpr double device_look_s = 20e-6;

/// Everything that the threads of a rank look at while a plan runs.
class LaneRunner {
 public:
  LaneRunner(const plan::Plan& plan, const plan::LocalDependencies& needs, comm::Communicator& comm, RankWork& work,
             const plan::ExchangeSeconds* paces)
      : plan_(plan),
        program_(plan.ranks[comm.rank().value]),
        needs_(needs),
        comm_(comm),
        work_(work),
        paces_(paces),
        pulse_(pulse_of(comm.rank())),
        progress_(program_) {
    if (plan.taken > 0) {
      first_come_.emplace(plan);
      newer_ = plan::newer_weights(plan, comm.rank());
    }
    for (const plan::Lane& lane : program_.lanes) {
      spans_.emplace_back(lane.ops.size());
      talks_ = talks_ || (lane.key.kind != plan::LaneKind::compute && !lane.ops.empty());
    }
  }

  ~LaneRunner() { pulse_.rests(); }
  LaneRunner(const LaneRunner&) = delete;
  LaneRunner& operator=(const LaneRunner&) = delete;

  RankSpans run();

 private:
  /// Where a lane stands: of its operations some have ended, the next are given out, one may be on the way to that.
  struct Cursor {
    int lane;
    int ended = 0;
    std::deque<comm::Work> given_out;
    comm::Work starting;
    bool is_starting = false;
    double due_s = 0;  ///< before when what is starting is not given out

    int next() const { return ended + static_cast<int>(given_out.size()); }
  };

  void compute();
  /// Whether the compute lane's operation has all that it waits for.
  bool may_compute(int index);
  /// Tells the work what has been decided by arrival up to an operation that may be computed.
  void tell_arrivals(int index);
  /// The same by readiness.
  void fire();
  void compute_fired(int index);
  void wait_for_device(int index);
  void communicate();
  /// Whether something has changed.
  bool advance(Cursor& cursor);
  bool may_start(int lane, int index) const;
  /// How long the communicating thread may sleep.
  double patience_s() const;
  void collect_spans();

  const plan::Plan& plan_;
  const plan::RankProgram& program_;
  const plan::LocalDependencies& needs_;
  comm::Communicator& comm_;
  RankWork& work_;
  const plan::ExchangeSeconds* paces_;
  Pulse& pulse_;
  LaneProgress progress_;
  std::optional<Firing> firing_;               // with executor:futurized
  std::optional<plan::FirstCome> first_come_;  // where arrival decides
  std::vector<std::vector<plan::OpRef>> newer_;
  std::optional<StepId> begun_;  // the latest step of which a pass was computed, where arrival decides
  RankSpans spans_;
  std::vector<Cursor> cursors_;  // the communicating thread's
  bool talks_ = false;
  double began_s_ = 0;
};

bool LaneRunner::may_start(int lane, int index) const {
  const auto needs = needs_.of(lane, index);
  return progress_.all_given_out(needs) && std::ranges::all_of(needs, [&](const plan::OpRef& ref) {
           if (ref.lane == plan::compute_lane) return true;
           const auto cursor = std::ranges::find(cursors_, ref.lane, &Cursor::lane);
           return cursor->ended > ref.index;
         });
}

bool LaneRunner::advance(Cursor& c) {
  bool moved = false;
  const int index = c.next();
  if (index < std::ssize(spans_[c.lane])) {
    plan::Span& span = spans_[c.lane][index];
    const bool comes_now = span.queued == 0;
    if (comes_now) span.queued = now_s();
    if (!c.is_starting && may_start(c.lane, index)) {
      span.start = now_s();
      c.starting = work_.start(c.lane, index);
      c.is_starting = true;
      // What waited for the operation before alone starts when that was due, not when this thread saw it.
      const bool waited_for_lane = comes_now && index > 0;
      if (paces_) c.due_s = (waited_for_lane ? c.due_s : span.start) + (*paces_)[c.lane][index];
    }
    const bool is_due = !paces_ || now_s() >= c.due_s;
    if (c.is_starting && is_due && c.starting.queued()) {
      if (c.starting.test()) span.end = now_s();  // before others build on it
      work_.given_out(c.lane, index, c.starting.device_span());
      c.given_out.push_back(std::move(c.starting));
      c.is_starting = false;
      progress_.give_out(c.lane, index);
      if (firing_) firing_->given_out({comm_.rank(), c.lane, index});
      moved = true;
    }
  }
  while (!c.given_out.empty() && c.given_out.front().test()) {
    if (plan::Span& span = spans_[c.lane][c.ended]; span.end == 0) span.end = now_s();
    work_.end(c.lane, c.ended);
    c.given_out.pop_front();
    ++c.ended;
    pulse_.moves();
    moved = true;
  }
  return moved;
}

double LaneRunner::patience_s() const {
  double patience = work_.patience_s();
  if (!paces_) return patience;
  for (const Cursor& c : cursors_)
    if (c.is_starting) patience = std::min(patience, std::max(0.0, c.due_s - now_s()));
  return patience;
}

void LaneRunner::communicate() {
  for (int lane = plan::compute_lane + 1; lane < std::ssize(program_.lanes); ++lane) cursors_.push_back({.lane = lane});
  try {
    ask_for_short_slices();
    work_.enter(/*computes=*/false);
    for (;;) {
      const std::uint32_t seen = comm_.events();
      bool moved = false, unfinished = false;
      for (Cursor& c : cursors_) {
        if (c.ended == std::ssize(spans_[c.lane])) continue;
        unfinished = true;
        moved = advance(c) || moved;
      }
      if (!unfinished) return;
      if (progress_.failed()) break;
      if (!moved) comm_.sleep(seen, patience_s());
    }
  } catch (...) {
    progress_.fail(std::current_exception());
    if (firing_) firing_->stop();
  }
  cursors_.clear();  // operations in flight are given up by the thread that started them
}

void LaneRunner::wait_for_device(int index) {
  while (!work_.is_done(index)) {
    if (progress_.failed()) progress_.rethrow();
    std::this_thread::sleep_for(std::chrono::duration<double>(device_look_s));
  }
}

bool LaneRunner::may_compute(int index) {
  const plan::Op& op = program_.compute()[index];
  const auto needs = needs_.of(plan::compute_lane, index);
  if (!plan::is_first_come(op)) return progress_.all_given_out(needs);
  return first_come_->may_start(op, needs, [this](const plan::OpRef& ref) { return progress_.place(ref); }).has_value();
}

void LaneRunner::tell_arrivals(int index) {
  const plan::Op& op = program_.compute()[index];
  if (plan::is_first_come(op)) return work_.adds(index, first_come_->awaited(op, needs_.of(plan::compute_lane, index)));
  if (!plan::is_pass(op.kind) || begun_ == op.step) return;
  begun_ = op.step;
  const std::vector<plan::OpRef>& newer = newer_[op.step.value];
  if (!newer.empty() && progress_.all_given_out(newer)) work_.comes_too_late(op.step);
}

void LaneRunner::compute() {
  const int count = static_cast<int>(program_.compute().size());
  for (int i = 0; i < count; ++i) {
    if (talks_ && i >= most_given_out) wait_for_device(i - most_given_out);
    work_.queue(i);
    pulse_.comes_to(program_.compute()[i]);
    if (!may_compute(i)) {
      comm_.notify();
      pulse_.waits();
      progress_.wait_until([&] { return may_compute(i); });
      pulse_.computes();
    }
    if (first_come_) tell_arrivals(i);
    work_.begin(i);
    // Told about the previous operation only now: where the communication thread takes this thread's core, it
    // shows as a longer operation, as in the simulation, and not as time between two operations.
    comm_.notify();
    work_.compute(i);
    progress_.give_out(plan::compute_lane, i);
    pulse_.moves();
  }
  comm_.notify();
  work_.finish();
  pulse_.waits();
}

void LaneRunner::compute_fired(int index) {
  work_.queue(index);
  pulse_.comes_to(program_.compute()[index]);
  work_.begin(index);
  work_.compute(index);
  progress_.give_out(plan::compute_lane, index);
  comm_.notify();
  pulse_.moves();
}

void LaneRunner::fire() {
  firing_->run();
  if (progress_.failed()) progress_.rethrow();
  work_.finish();
  pulse_.waits();
}

void LaneRunner::collect_spans() {
  std::vector<plan::Span>& computed = spans_[plan::compute_lane];
  for (int i = 0; i < std::ssize(computed); ++i) computed[i] = work_.computed(i);
  if (firing_) plan::queue_on_workers(computed, operations_at_once(plan_.spec), began_s_);
  for (int lane = plan::compute_lane + 1; lane < std::ssize(spans_); ++lane) {
    double free_since = 0;
    for (int i = 0; i < std::ssize(spans_[lane]); ++i) {
      // The host came to an operation that it gave out ahead before the lane was free on the device.
      plan::Span span = work_.transferred(lane, i, spans_[lane][i]);
      span.queued = std::max(span.queued, free_since);
      span.start = std::max(span.start, span.queued);
      span.end = std::max(span.end, span.start);
      free_since = span.end;
      spans_[lane][i] = span;
    }
  }
}

RankSpans LaneRunner::run() {
  work_.enter(/*computes=*/true);
  if (is_futurized(plan_.spec)) {
    firing_.emplace(plan_, comm_.rank(), needs_, comm_.size(),
                    Firing::Calls{.enter = [this] { work_.enter(/*computes=*/true); },
                                  .compute = [this](int index) { compute_fired(index); },
                                  .waits = [this](bool now) { now ? pulse_.waits() : pulse_.computes(); },
                                  .fail = [this] { progress_.fail(std::current_exception()); }});
  }
  comm_.wait(comm_.barrier());
  began_s_ = now_s();
  std::thread communication;
  if (talks_) communication = std::thread([this] { communicate(); });
  try {
    firing_ ? fire() : compute();
  } catch (const std::exception& error) {
    // A failure that another lane reported is already known to the peers, or came from them.
    progress_.fail(std::current_exception());
    comm_.abort(error.what());
    if (communication.joinable()) communication.join();
    throw;
  }
  if (communication.joinable()) communication.join();
  if (progress_.failed()) progress_.rethrow();
  collect_spans();
  return std::move(spans_);
}

}  // namespace

comm::Channel channel_of(plan::Payload payload) {
  const bool forward = payload == plan::Payload::activation || payload == plan::Payload::parameters;
  return forward ? comm::Channel::forward : comm::Channel::backward;
}

comm::Message message_of(const plan::Op& op) {
  constexpr std::uint64_t first_port = 1 << 15;  // above every boundary
  const std::uint64_t boundary =
      op.port != 0 ? first_port + op.port
                   : static_cast<std::uint64_t>(std::min(op.segment, plan::other_segment(op, {})).value);
  return {channel_of(op.payload), static_cast<std::uint64_t>(op.step.value) << 32 |
                                      static_cast<std::uint64_t>(op.micro_batch.value) << 16 | boundary};
}

RankSpans run_lanes(const plan::Plan& plan, const plan::LocalDependencies& needs, comm::Communicator& comm,
                    RankWork& work, const plan::ExchangeSeconds* paces) {
  return LaneRunner(plan, needs, comm, work, paces).run();
}

}  // namespace parabench::exec
