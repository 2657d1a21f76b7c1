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

class Sweep {
 public:
  Sweep(const plan::PipelineOutline& outline, const TimeModel& time, const std::vector<RankSeconds>& seconds)
      : outline_(outline),
        time_(time),
        seconds_(seconds),
        micro_batches_(plan::micro_batches(outline.plan)),
        recomputes_(outline.plan.spec.recompute),
        forward_(outline.plan.stages),
        back_(outline.plan.stages),
        owner_(outline.plan.stages),
        free_(outline.orders.size(), 0.0),
        next_(outline.orders.size()),
        awaits_(outline.orders.size()) {
    for (int rank = 0; rank < ranks(); ++rank) {
      auto& stages = stages_.emplace_back();
      for (int chunk = 0; chunk < std::ssize(outline.plan.ranks[rank].holds); ++chunk) {
        stages.push_back(plan::stage_of_chunk(outline.stages, ranks(), rank, chunk).value);
        owner_[stages.back()] = rank;
      }
    }
    for (int m = 0; m < micro_batches_; ++m) is_smaller_.push_back(is_smaller(outline.plan, m));
    find_ways();
  }

  /// `before`: a step that is not measured, whose room can be used.
  SweptStep step(SweptStep* before) {
    const std::size_t places = static_cast<std::size_t>(outline_.plan.stages) * micro_batches_;
    SweptStep step;
    for (const auto arrivals : {&SweptStep::activations, &SweptStep::gradients}) {
      (step.*arrivals).came.assign(places, unknown);
      if (before) (step.*arrivals).made = std::move((before->*arrivals).made);
      (step.*arrivals).made.resize(places);
    }
    std::ranges::fill(next_, 0);
    std::ranges::fill(awaits_, nullptr);
    for (int rank = ranks() - 1; rank >= 0; --rank) ready_.push_back(rank);
    int ended = 0;
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      ended += go_on(rank, step);
    }
    if (ended < ranks())
      throw std::logic_error("ranks of " + outline_.plan.spec.strategy.name + " wait for each other");
    step.completed = *std::ranges::max_element(free_);
    step.ended = free_;
    return step;
  }

  /// Behind the first step: how much later all of the next one will be, and so each one that follows; nullopt where it
  /// will not be the first one again. Ranks that wait for nobody begin it right after the first; no other one, and no
  /// lane, may then be busy still when it has something to do.
  std::optional<double> period(const SweptStep& first) const {
    std::optional<double> period;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (first_arrival(rank, first)) continue;
      if (period && *period != free_[rank]) return std::nullopt;
      period = free_[rank];
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      const double* came = first_arrival(rank, first);
      if (came && free_[rank] > *came + period.value()) return std::nullopt;
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
    std::vector<double> state = free_;
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
    return activation_comes_[stage] ? &step.activations.came[place(stage, pass.micro_batch)] : nullptr;
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
      forward_[stage] = way(stage, stage + 1);
      back_[stage] = way(stage, stage - 1);
    }
    lane_free_.assign(lanes.size(), 0.0);
    lanes_.resize(lanes.size());
    for (const auto& [ends, lane] : lanes) {
      lanes_[lane] = {ends[0], ends[1], ends[2] != 0, std::vector<int>(stages_[ends[0]].size(), -1)};
      for (std::size_t chunk = 0; chunk < stages_[ends[0]].size(); ++chunk) {
        const int stage = stages_[ends[0]][chunk];
        if ((ends[2] != 0 ? forward_ : back_)[stage].lane == lane) lanes_[lane].from_chunks[chunk] = stage;
      }
    }
    for (int stage = 0; stage < outline_.plan.stages; ++stage) {
      activation_comes_.push_back(stage > 0 && forward_[stage - 1].lane >= 0);
      gradient_comes_.push_back(stage + 1 < outline_.plan.stages && back_[stage + 1].lane >= 0);
    }
  }

  /// Runs the rank's passes until one has to wait for another rank; whether the rank has ended its step.
  bool go_on(int rank, SweptStep& step) {
    const plan::DeviceOrder& order = outline_.orders[rank];
    const RankSeconds& seconds = seconds_[rank];
    const int* const stages = stages_[rank].data();
    double free = free_[rank];
    for (int& next = next_[rank]; next < std::ssize(order); ++next) {
      const plan::StagePass& pass = order[next];
      const int stage = stages[pass.chunk], m = pass.micro_batch;
      const std::size_t here = place(stage, m);
      const bool forwards = pass.kind == plan::OpKind::forward, back = plan::makes_input_gradient(pass.kind);
      const bool smaller = is_smaller_[m];
      double since = 0;
      if (forwards ? activation_comes_[stage] : back && gradient_comes_[stage]) {
        const double& came = (forwards ? step.activations : step.gradients).came[here];
        if (std::isnan(came)) {
          awaits_[rank] = &came;
          free_[rank] = free;
          return false;
        }
        since = came;
      }
      if (back && runs_again(recomputes_, m, micro_batches_))
        free += seconds.of(plan::OpKind::recompute, pass.chunk, smaller, false);
      free = std::max(free, since) + seconds.of(pass.kind, pass.chunk, smaller, m > 0);
      if (forwards) send(forward_[stage], m, free, step.activations, here + micro_batches_);
      if (back) send(back_[stage], m, free, step.gradients, here - micro_batches_);
    }
    for (const double update : seconds.updates) free += update;
    free_[rank] = free;
    return true;
  }

  /// What was made at `now`: its message meets nobody who is not there, since receivers wait for nothing.
  void send(const Way& way, int m, double now, Arrivals& arrivals, std::size_t there) {
    if (way.lane < 0) return;
    double& lane = lane_free_[way.lane];
    lane = std::max(lane, now) + way.seconds[is_smaller_[m]];
    arrivals.made[there] = now;
    arrivals.came[there] = lane;
    if (awaits_[way.receiver] != &arrivals.came[there]) return;
    awaits_[way.receiver] = nullptr;
    ready_.push_back(way.receiver);
  }

  const plan::PipelineOutline& outline_;
  const TimeModel& time_;
  const std::vector<RankSeconds>& seconds_;
  int micro_batches_;
  Recompute recomputes_;
  std::vector<Way> forward_, back_;                      ///< of each stage
  std::vector<char> activation_comes_, gradient_comes_;  ///< from another rank, to each stage
  std::vector<int> owner_;                               ///< of each stage
  std::vector<std::vector<int>> stages_;                 ///< [rank][chunk]
  std::vector<char> is_smaller_;                         ///< by micro-batch
  std::vector<double> free_, lane_free_;
  std::vector<MessageLane> lanes_;
  std::vector<int> next_;              ///< pass of each rank
  std::vector<const double*> awaits_;  ///< the arrival that each rank waits for
  std::vector<int> ready_;
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
