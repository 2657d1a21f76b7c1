#include "analytic/simulate/pipeline_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "parallelism/plan/strategies/pipeline.h"

namespace parabench::analytic {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The first micro-batch of the larger or smaller ones, -1 where there is none.
MicroBatchId first_of_size(const plan::Plan& plan, bool smaller) {
  const std::vector<int>& pieces = plan.pieces.front();
  if (!smaller) return MicroBatchId(0);
  const auto found = std::ranges::find_if(pieces, [&](int samples) { return samples < pieces.front(); });
  return MicroBatchId(found == pieces.end() ? -1 : static_cast<int>(found - pieces.begin()));
}

RankSeconds seconds_of(const plan::PipelineOutline& outline, const TimeModel& time, Rank rank) {
  const plan::RankProgram& first = outline.plan.ranks[rank.value];
  const int devices = static_cast<int>(outline.orders.size());
  RankSeconds seconds;
  seconds.passes.resize(first.holds.size());
  for (int chunk = 0; chunk < std::ssize(seconds.passes); ++chunk) {
    const SegmentId segment(plan::stage_of_chunk(outline.stages, devices, rank.value, chunk).value);
    for (plan::Op op : first.compute()) {
      if (!plan::is_pass(op.kind) || op.segment != segment) continue;
      for (const bool smaller : {false, true}) {
        op.micro_batch = first_of_size(outline.plan, smaller);
        if (op.micro_batch.value < 0) continue;
        for (const bool adds : {false, true}) {
          op.accumulates = adds && plan::makes_weight_gradient(op.kind);
          seconds.passes[chunk][static_cast<int>(op.kind)][smaller][adds] = time.seconds(outline.plan, rank, op, 1);
        }
      }
    }
  }
  for (const plan::Op& op : first.compute())
    if (op.kind == plan::OpKind::update) seconds.updates.push_back(time.seconds(outline.plan, rank, op, 1));
  return seconds;
}

/// Where a stage hands on what its passes make, -1 where it stays on the rank or nobody takes it.
struct Way {
  int receiver = -1;  ///< a rank
  int lane = -1;
  std::array<double, 2> seconds{};  ///< of a message of the larger and of the smaller micro-batches
};

/// What every pass of a stage looks at lies in one cache line, since the sweep goes from rank to rank all the time; so
/// does what every visit of a rank looks at.
struct alignas(64) StageState {
  Way forward, back;
  bool activation_comes = false, gradient_comes = false;  ///< from another rank
  int activations = 0, gradients = 0;                     ///< that have: every stage sends its micro-batches in order
};
constexpr int nobody = -1;
int awaited(int stage, bool forwards) { return 2 * stage + forwards; }
struct alignas(64) RankState {
  const plan::StagePass* next = nullptr;
  const plan::StagePass* end = nullptr;
  double free = 0;
  int awaits = nobody;          ///< the count of arrivals, awaited()
  const int* stages = nullptr;  ///< by chunk
};

class Sweep {
 public:
  Sweep(const plan::PipelineOutline& outline, const TimeModel& time, const std::vector<RankSeconds>& seconds)
      : outline_(outline),
        time_(time),
        seconds_(seconds),
        micro_batches_(plan::micro_batches(outline.plan)),
        recomputes_(outline.plan.spec.recompute),
        stage_(outline.plan.stages),
        owner_(outline.plan.stages),
        rank_(outline.orders.size()) {
    for (int rank = 0; rank < ranks(); ++rank) {
      auto& stages = stages_.emplace_back();
      for (int chunk = 0; chunk < std::ssize(outline.plan.ranks[rank].holds); ++chunk) {
        stages.push_back(plan::stage_of_chunk(outline.stages, ranks(), rank, chunk).value);
        owner_[stages.back()] = rank;
      }
    }
    for (int rank = 0; rank < ranks(); ++rank) rank_[rank].stages = stages_[rank].data();
    for (int m = 0; m < micro_batches_; ++m) is_smaller_.push_back(is_smaller(outline.plan, m));
    find_ways();
  }

  /// `before`: a step that is not measured, whose room can be used.
  SweptStep step(SweptStep* before) {
    const std::size_t places = static_cast<std::size_t>(outline_.plan.stages) * micro_batches_;
    SweptStep step;
    for (const auto arrivals : {&SweptStep::activations, &SweptStep::gradients}) {
      // Written before they are read: filling them first would touch all this memory once more.
      (step.*arrivals).came = std::make_unique_for_overwrite<double[]>(places);
      (step.*arrivals).made =
          before ? std::move((before->*arrivals).made) : std::make_unique_for_overwrite<double[]>(places);
    }
    for (int stage = 0; stage < outline_.plan.stages; ++stage) {
      StageState& state = stage_[stage];
      state.activations = state.gradients = 0;
      if (!state.activation_comes) std::fill_n(&step.activations.came[place(stage, 0)], micro_batches_, unknown);
      if (!state.gradient_comes) std::fill_n(&step.gradients.came[place(stage, 0)], micro_batches_, unknown);
    }
    for (int rank = ranks() - 1; rank >= 0; --rank) {
      const plan::DeviceOrder& order = outline_.orders[rank];
      rank_[rank].next = order.data();
      rank_[rank].end = order.data() + order.size();
      rank_[rank].awaits = nobody;
      ready_.push_back(rank);
    }
    int ended = 0;
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      ended += go_on(rank, step);
    }
    if (ended < ranks())
      throw std::logic_error("ranks of " + outline_.plan.spec.strategy.name + " wait for each other");
    for (const RankState& rank : rank_) step.ended.push_back(rank.free);
    step.completed = *std::ranges::max_element(step.ended);
    return step;
  }

  /// Behind the first step: how much later all of the next one will be, and so each one that follows; nullopt where it
  /// will not be the first one again. Ranks that wait for nobody begin it right after the first; no other one, and no
  /// lane, may then be busy still when it has something to do.
  std::optional<double> period(const SweptStep& first) const {
    std::optional<double> period;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (first_arrival(rank, first)) continue;
      if (period && *period != rank_[rank].free) return std::nullopt;
      period = rank_[rank].free;
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      const double* came = first_arrival(rank, first);
      if (came && rank_[rank].free > *came + period.value()) return std::nullopt;
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const plan::DeviceOrder& order = outline_.orders[lanes_[lane].sender];
      const auto pass = std::ranges::find_if(
          order, [&](const plan::StagePass& made) { return receiving_stage(lanes_[lane], made) >= 0; });
      const std::size_t there = place(receiving_stage(lanes_[lane], *pass), pass->micro_batch);
      const Arrivals& arrivals = lanes_[lane].forwards ? first.activations : first.gradients;
      if (lane_free_[lane] > arrivals.made[there] + *period) return std::nullopt;
    }
    return period;
  }

  std::vector<MessageLane> take_lanes() { return std::move(lanes_); }

  /// Until when ranks and lanes of messages are occupied.
  std::vector<double> state() const {
    std::vector<double> state;
    for (const RankState& rank : rank_) state.push_back(rank.free);
    state.insert(state.end(), lane_free_.begin(), lane_free_.end());
    return state;
  }

 private:
  int ranks() const { return static_cast<int>(outline_.orders.size()); }
  std::size_t place(int stage, int m) const { return static_cast<std::size_t>(stage) * micro_batches_ + m; }

  /// What the first pass of a rank waited for; nullptr where it waits for nobody.
  const double* first_arrival(int rank, const SweptStep& step) const {
    const plan::StagePass& pass = outline_.orders[rank].front();
    const int stage = stages_[rank][pass.chunk];
    return stage_[stage].activation_comes ? &step.activations.came[place(stage, pass.micro_batch)] : nullptr;
  }

  void find_ways() {
    std::map<std::array<int, 3>, int> lanes;  // sender, receiver, direction
    const auto way = [&](int from, int to) {
      Way found;
      if (to < 0 || to >= outline_.plan.stages || owner_[from] == owner_[to]) return found;
      const bool forwards = to > from;
      found.receiver = owner_[to];
      found.lane =
          lanes.try_emplace({owner_[from], owner_[to], forwards}, static_cast<int>(lanes.size())).first->second;
      for (const bool smaller : {false, true}) {
        const MicroBatchId m = first_of_size(outline_.plan, smaller);
        if (m.value < 0) continue;
        const plan::Op send =
            (forwards ? plan::send_forward : plan::send_backward)(SegmentId(from), m, StepId(0), Rank(owner_[to]));
        found.seconds[smaller] = time_.seconds(outline_.plan, Rank(owner_[from]), send, 1);
      }
      return found;
    };
    for (int stage = 0; stage < outline_.plan.stages; ++stage) {
      stage_[stage].forward = way(stage, stage + 1);
      stage_[stage].back = way(stage, stage - 1);
    }
    lane_free_.assign(lanes.size(), 0.0);
    lanes_.resize(lanes.size());
    for (const auto& [ends, lane] : lanes) {
      lanes_[lane] = {ends[0], ends[1], ends[2] != 0, std::vector<int>(stages_[ends[0]].size(), -1)};
      for (std::size_t chunk = 0; chunk < stages_[ends[0]].size(); ++chunk) {
        const int stage = stages_[ends[0]][chunk];
        if ((ends[2] != 0 ? stage_[stage].forward : stage_[stage].back).lane == lane)
          lanes_[lane].from_chunks[chunk] = stage;
      }
    }
    for (int stage = 0; stage < outline_.plan.stages; ++stage) {
      stage_[stage].activation_comes = stage > 0 && stage_[stage - 1].forward.lane >= 0;
      stage_[stage].gradient_comes = stage + 1 < outline_.plan.stages && stage_[stage + 1].back.lane >= 0;
    }
  }

  /// Runs the rank's passes until one has to wait for another rank; whether the rank has ended its step.
  bool go_on(int number, SweptStep& step) {
    RankState& rank = rank_[number];
    const RankSeconds& seconds = seconds_[number];
    double free = rank.free;
    for (; rank.next != rank.end; ++rank.next) {
      const plan::StagePass pass = *rank.next;
      const int m = pass.micro_batch;
      const StageState& stage = stage_[rank.stages[pass.chunk]];
      const std::size_t here = place(rank.stages[pass.chunk], m);
      const bool forwards = pass.kind == plan::OpKind::forward, back = plan::makes_input_gradient(pass.kind);
      const bool smaller = is_smaller_[m];
      double since = 0;
      if (forwards ? stage.activation_comes : back && stage.gradient_comes) {
        if (m >= (forwards ? stage.activations : stage.gradients)) {
          rank.awaits = awaited(rank.stages[pass.chunk], forwards);
          rank.free = free;
          return false;
        }
        since = (forwards ? step.activations : step.gradients).came[here];
      }
      if (back && runs_again(recomputes_, m, micro_batches_))
        free += seconds.of(plan::OpKind::recompute, pass.chunk, smaller, false);
      free = std::max(free, since) + seconds.of(pass.kind, pass.chunk, smaller, m > 0);
      if (forwards) send(stage.forward, rank.stages[pass.chunk] + 1, true, m, free, step.activations);
      if (back) send(stage.back, rank.stages[pass.chunk] - 1, false, m, free, step.gradients);
    }
    for (const double update : seconds.updates) free += update;
    rank.free = free;
    return true;
  }

  /// What was made at `now`: its message meets nobody who is not there, since receivers wait for nothing.
  void send(const Way& way, int to, bool forwards, int m, double now, Arrivals& arrivals) {
    if (way.lane < 0) return;
    double& lane = lane_free_[way.lane];
    lane = std::max(lane, now) + way.seconds[is_smaller_[m]];
    arrivals.made[place(to, m)] = now;
    arrivals.came[place(to, m)] = lane;
    ++(forwards ? stage_[to].activations : stage_[to].gradients);
    int& awaits = rank_[way.receiver].awaits;
    if (awaits != awaited(to, forwards)) return;
    awaits = nobody;
    ready_.push_back(way.receiver);
    // By the visit its next pass has come: else an eighth of the time goes into waiting for memory.
    __builtin_prefetch(rank_[way.receiver].next);
  }

  const plan::PipelineOutline& outline_;
  const TimeModel& time_;
  const std::vector<RankSeconds>& seconds_;
  int micro_batches_;
  Recompute recomputes_;
  std::vector<StageState> stage_;
  std::vector<int> owner_;                ///< of each stage
  std::vector<std::vector<int>> stages_;  ///< [rank][chunk]
  std::vector<RankState> rank_;
  std::vector<char> is_smaller_;  ///< by micro-batch
  std::vector<double> lane_free_;
  std::vector<MessageLane> lanes_;
  std::vector<int> ready_;  ///< ranks that may go on
};

/// Whether all went on by the same time.
bool is_shifted(const std::vector<double>& before, const std::vector<double>& after, double completed) {
  const double apart = after.front() - before.front();
  for (std::size_t i = 0; i < after.size(); ++i)
    if (std::abs(after[i] - before[i] - apart) > 1e-12 * completed) return false;
  return true;
}

}  // namespace

bool is_smaller(const plan::Plan& plan, int m) { return plan.pieces.front()[m] < plan.pieces.front().front(); }

bool runs_again(Recompute which, int m, int micro_batches) {
  return which == Recompute::all || (which == Recompute::except_last && m + 1 < micro_batches);
}

SweptPipeline sweep(const plan::PipelineOutline& outline, const TimeModel& time, const plan::Window& asked) {
  SweptPipeline swept{.steps = {}, .period = {}, .discarded = asked.discarded, .seconds = {}, .lanes = {}};
  for (int rank = 0; rank < std::ssize(outline.orders); ++rank)
    swept.seconds.push_back(seconds_of(outline, time, Rank(rank)));
  Sweep pipeline(outline, time, swept.seconds);
  std::vector<double> before;
  for (int step = 0; step < asked.steps(); ++step) {
    const bool reuses = step > 0 && step <= asked.discarded;
    swept.steps.push_back(pipeline.step(reuses ? &swept.steps.back() : nullptr));
    std::vector<double> after = pipeline.state();
    if (step > 0 && step <= asked.discarded && is_shifted(before, after, swept.steps.back().completed)) {
      swept.discarded = step;
      break;
    }
    before = std::move(after);
    if (step > 0 || asked.discarded == 0) continue;
    swept.period = pipeline.period(swept.steps.front());
    if (swept.period) {
      swept.discarded = 0;
      break;
    }
  }
  swept.lanes = pipeline.take_lanes();
  return swept;
}

}  // namespace parabench::analytic
