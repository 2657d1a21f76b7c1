#include "parallelism/exec/emulation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "parallelism/plan/routes.h"

namespace parabench::exec {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
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

/// Everyone's moment, brought together by a sum in which each has a place of its own.
std::vector<double> one_moment(std::size_t places, int place, double moment) {
  std::vector<double> moments(places);
  moments[place] = moment;
  return moments;
}

/// When all ranks begin: ranks let go by a barrier would begin as their threads come to a core. Collective.
double common_beginning(comm::Communicator& comm) {
  std::vector<double> moments = one_moment(comm.size(), comm.rank().value, now_s());
  comm.wait(
      comm.all_reduce({moments.data(), std::ssize(moments) * std::int64_t{sizeof(double)}, comm::ElementType::f64}));
  return *std::ranges::max_element(moments) + notice_s;
}

/// A message or reduction on its way: the moments when its ends posted it, brought together by a real one.
class Transfer final : public comm::WorkState {
 public:
  /// `over` becomes the moment of its end, `next_over` the earliest that the thread must not sleep through.
  Transfer(std::vector<double> posted, double seconds, double& over, double& next_over)
      : posted_(std::move(posted)), seconds_(seconds), over_(over), next_over_(next_over) {
    over_ = never;
  }
  comm::BufferView moments() {
    return {posted_.data(), static_cast<std::int64_t>(posted_.size() * sizeof(double)), comm::ElementType::f64};
  }
  /// The last of the moments: the other end's.
  comm::BufferView partner() { return {&posted_.back(), sizeof(double)}; }
  void carry(comm::Work real) { real_ = std::move(real); }

  bool advance() override {
    if (!real_.test()) return false;
    const double now = now_s();
    if (over_ == never) over_ = std::max(now, *std::ranges::max_element(posted_) + seconds_);
    if (over_ <= now) return true;
    next_over_ = std::min(next_over_, over_);
    return false;
  }

 private:
  std::vector<double> posted_;
  double seconds_;
  double &over_, &next_over_;
  comm::Work real_;
};

class EmulatedWork final : public RankWork {
 public:
  EmulatedWork(const plan::Plan& plan, const plan::Durations& durations, const plan::LocalDependencies& needs,
               comm::Communicator& comm)
      : groups_(plan::collective_groups(plan).numbers),
        program_(plan.ranks[comm.rank().value]),
        durations_(durations[comm.rank().value]),
        needs_(needs),
        comm_(comm),
        computed_(program_.compute().size()),
        due_(common_beginning(comm)) {
    for (const plan::Lane& lane : program_.lanes) over_.emplace_back(lane.ops.size());
  }

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
    due_ = std::max(due_, came) + (computes ? durations_[plan::compute_lane][index] : 0);
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
  std::unique_ptr<Transfer> transfer(int lane, int index, std::vector<double> posted) {
    return std::make_unique<Transfer>(std::move(posted), durations_[lane][index], over_[lane][index], next_over_);
  }

  std::map<plan::LaneKey, CommGroupId> groups_;  ///< of the communicator, by lane
  const plan::RankProgram& program_;
  const std::vector<std::vector<double>>& durations_;
  const plan::LocalDependencies& needs_;
  comm::Communicator& comm_;
  std::vector<plan::Span> computed_;
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
  const double posted = std::max(index == 0 ? 0 : over_[lane][index - 1], came_last(lane, needs_.of(lane, index)));
  if (plan::is_collective(op.kind)) {
    const CommGroupId group = groups_.at(program_.lanes[lane].key);
    auto reduction = transfer(
        lane, index,
        one_moment(comm_.groups().members(group).size(), comm_.groups().position(group, comm_.rank()), posted));
    reduction->carry(comm_.all_reduce(reduction->moments(), group));
    return comm::Work(std::move(reduction));
  }
  if (op.kind == plan::OpKind::send) {
    auto message = transfer(lane, index, {posted});
    message->carry(comm_.send(message->partner(), op.peer, message_of(op)));
    return comm::Work(std::move(message));
  }
  auto message = transfer(lane, index, {posted, 0});
  message->carry(comm_.recv(message->partner(), op.peer, message_of(op)));
  return comm::Work(std::move(message));
}

}  // namespace

RankSpans emulate(const plan::Plan& plan, const plan::Durations& durations, comm::Communicator& comm) {
  const plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
  EmulatedWork work(plan, durations, needs, comm);
  return run_lanes(plan, needs, comm, work);
}

}  // namespace parabench::exec
