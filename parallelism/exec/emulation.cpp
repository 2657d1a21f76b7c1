#include "parallelism/exec/emulation.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "parallelism/plan/matching.h"

namespace parabench::exec {
namespace {

constexpr double never = EmulatedLinks::never;
constexpr double no_bell_s = 0.1;
constexpr double spin_s = 20e-6;
constexpr double notice_s = 10e-3;  ///< between agreeing on a beginning and the beginning: until all threads know

/// Returns at `due`, or at once where that has passed. Awake for its last microseconds alone: waking up takes as many.
void wait_until(double due) {
  const double asleep = due - now_s() - spin_s;
  if (asleep > 0) std::this_thread::sleep_for(std::chrono::duration<double>(asleep));
  while (now_s() < due) {
  }
}

/// When all ranks begin: ranks let go by a barrier would begin as their threads come to a core. Collective.
double common_beginning(comm::Communicator& comm) {
  std::vector<double> moments(comm.size());  // brought together by a sum in which each has a place of its own
  moments[comm.rank().value] = now_s();
  comm.wait(
      comm.all_reduce({moments.data(), std::ssize(moments) * std::int64_t{sizeof(double)}, comm::ElementType::f64}));
  return *std::ranges::max_element(moments) + notice_s;
}

/// One end of a message or collective on its way.
class Transfer final : public comm::WorkState {
 public:
  /// `over` becomes the moment of its end, `next_over` the earliest that the thread must not sleep through.
  Transfer(EmulatedLinks& links, const plan::OpRef& first, double& over, double& next_over)
      : links_(links), first_(first), over_(over), next_over_(next_over) {}

  bool advance() override {
    const double now = now_s(), modelled = links_.over(first_, now);
    if (modelled == never) return false;
    if (heard_ == never) heard_ = now;
    over_ = std::max(heard_, modelled);
    if (over_ <= now) return true;
    next_over_ = std::min(next_over_, over_);
    return false;
  }

 private:
  EmulatedLinks& links_;
  plan::OpRef first_;
  double &over_, &next_over_;
  double heard_ = never;  ///< that all ends had come: nothing is over before the thread could know
};

class EmulatedWork final : public RankWork {
 public:
  EmulatedWork(const plan::Plan& plan, const plan::Durations& durations, const plan::LocalDependencies& needs,
               EmulatedLinks& links, comm::Communicator& comm)
      : plan_(plan),
        program_(plan.ranks[comm.rank().value]),
        durations_(durations[comm.rank().value]),
        needs_(needs),
        links_(links),
        comm_(comm),
        met_(std::move(plan::twins(plan)[comm.rank().value])),
        computed_(program_.compute().size()),
        beginning_(common_beginning(comm)),
        due_(beginning_) {
    for (const plan::Lane& lane : program_.lanes) over_.emplace_back(lane.ops.size());
    links_.enter(comm_);
  }
  ~EmulatedWork() override { links_.leave(comm_); }
  EmulatedWork(const EmulatedWork&) = delete;
  EmulatedWork& operator=(const EmulatedWork&) = delete;

  void enter(bool) override {}
  void queue(int index) override {
    if (index == 0) wait_until(due_);
    computed_[index].queued = index == 0 ? due_ : now_s();
  }
  void begin(int index) override {
    const plan::Op& op = program_.compute()[index];
    const bool computes = !plan::is_pass(op.kind) || too_late_ != op.step;
    const double came = plan::is_first_come(op) ? came_last(plan::compute_lane, awaited_)
                                                : came_last(plan::compute_lane, needs_.of(plan::compute_lane, index));
    due_ = std::max(due_, came) + (computes ? durations_[plan::compute_lane][index].seconds : 0);
    computed_[index].start = now_s();
  }
  void compute(int index) override {
    wait_until(due_);
    over_[plan::compute_lane][index] = computed_[index].end = now_s();
  }
  void adds(int, std::vector<plan::OpRef> awaited) override { awaited_ = std::move(awaited); }
  void comes_too_late(StepId step) override { too_late_ = step; }
  void finish() override {}
  plan::Span computed(int index) const override { return computed_[index]; }
  bool is_done(int) const override { return true; }
  comm::Work start(int lane, int index) override;
  void given_out(int, int, const comm::DeviceSpan&) override {}
  void end(int, int) override {}
  plan::Span transferred(int, int, const plan::Span& seen) const override { return seen; }
  double patience_s() override { return std::clamp(std::exchange(next_over_, never) - now_s(), 0.0, no_bell_s); }

 private:
  /// When all that an operation needs was over, what its own lane computed apart; 0 where it needs nothing.
  double came_last(int lane, std::span<const plan::OpRef> needs) const {
    double came = 0;
    for (const plan::OpRef& ref : needs) {
      if (ref.lane != plan::compute_lane || lane != plan::compute_lane)
        came = std::max(came, over_[ref.lane][ref.index]);
    }
    return came;
  }

  const plan::Plan& plan_;
  const plan::RankProgram& program_;
  const std::vector<std::vector<plan::Duration>>& durations_;
  const plan::LocalDependencies& needs_;
  EmulatedLinks& links_;
  comm::Communicator& comm_;
  std::vector<std::vector<plan::LaneRef>> met_;  ///< by lane: those of other ranks at the other ends
  std::vector<plan::Span> computed_;
  const double beginning_;
  double due_;  ///< the end of the compute lane's latest operation, before the first the beginning
  /// [lane][index]; of a compute operation really, of the others by the model. Each thread writes its own lanes',
  /// before the end of the operation is told.
  std::vector<std::vector<double>> over_;
  std::vector<plan::OpRef> awaited_;  ///< by the addition that begins next, where arrival decides
  std::optional<StepId> too_late_;    ///< the latest step in which the rank computes nothing
  double next_over_ = never;          ///< the communicating thread's
};

comm::Work EmulatedWork::start(int lane, int index) {
  const plan::Op& op = program_.lanes[lane].ops[index];
  const double free_since = index == 0 ? beginning_ : over_[lane][index - 1];
  const double posted = std::max(free_since, came_last(lane, needs_.of(lane, index)));
  plan::OpRef first{comm_.rank(), lane, index};
  for (const plan::LaneRef& other : met_[lane]) first = std::min(first, {other.rank, other.lane, index});
  links_.post(first, 1 + static_cast<int>(met_[lane].size()), durations_[lane][index],
              plan::ports_of(plan_, comm_.rank(), op), comm_.rank(), posted);
  return comm::Work(std::make_unique<Transfer>(links_, first, over_[lane][index], next_over_));
}

}  // namespace

RankSpans emulate(const plan::Plan& plan, const plan::Durations& durations, EmulatedLinks& links,
                  comm::Communicator& comm) {
  const plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
  EmulatedWork work(plan, durations, needs, links, comm);
  return run_lanes(plan, needs, comm, work);
}

}  // namespace parabench::exec
