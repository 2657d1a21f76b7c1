#include "parallelism/plan/timeline.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "parallelism/plan/matching.h"

namespace parabench::plan {
namespace {

const Span& span_of(const Timeline& timeline, OpRef ref) { return timeline.ranks[ref.rank.value][ref.lane][ref.index]; }

/// Where the seconds of compute lanes went.
class Accounting {
 public:
  Accounting(const Plan& plan, const Timeline& timeline)
      : plan_(plan), timeline_(timeline), in_order_(!is_futurized(plan.spec)), matching_(twins(plan)) {
    for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
      local_.push_back(dependencies(plan, Rank(r)));
      auto& lanes = ends_.emplace_back();
      for (const Lane& lane : plan.ranks[r].lanes) lanes.emplace_back(lane.ops.size());
    }
  }

  Breakdown of(Rank rank, StepId first_step) {
    Breakdown sum;
    double free_since = timeline_.origin;
    const auto& ops = plan_.ranks[rank.value].compute();
    for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
      const OpRef ref{rank, compute_lane, i};
      if (ops[i].step >= first_step) {
        add_wait(sum, ref, in_order_ ? free_since : span_of(timeline_, ref).queued);
        add_work(sum, ops[i], span_of(timeline_, ref));
      }
      free_since = span_of(timeline_, ref).end;
    }
    if (operations_at_once(plan_.spec) > 1) sum.bubble += unused_s(sum, first_step);
    return per_step(sum, (plan_.steps - first_step.value) * operations_at_once(plan_.spec));
  }

 private:
  std::span<const OpRef> waits_for(OpRef ref) const { return local_[ref.rank.value].of(ref.lane, ref.index); }

  /// Latest end of the compute operations that `ref` stems from. A message stems from its sender's, a collective
  /// from all members'.
  double compute_end(OpRef ref) {
    if (ref.lane == compute_lane) return span_of(timeline_, ref).end;
    if (const auto& known = ends_[ref.rank.value][ref.lane][ref.index]) return *known;
    double latest = timeline_.origin;
    for (OpRef before : waits_for(ref)) latest = std::max(latest, compute_end(before));
    for (const LaneRef& partner : matching_[ref.rank.value][ref.lane]) {
      for (OpRef before : waits_for({partner.rank, partner.lane, ref.index}))
        latest = std::max(latest, compute_end(before));
    }
    // All that meet stem from the same: to look again for each member of a collective would take their number squared.
    ends_[ref.rank.value][ref.lane][ref.index] = latest;
    for (const LaneRef& partner : matching_[ref.rank.value][ref.lane])
      ends_[partner.rank.value][partner.lane][ref.index] = latest;
    return latest;
  }

  void add_wait(Breakdown& sum, OpRef ref, double free_since) {
    const Span& span = span_of(timeline_, ref);
    sum.other += span.queued - free_since;
    bool awaited = false;
    double split = span.queued;
    for (OpRef before : waits_for(ref)) {
      if ((in_order_ && before.lane == compute_lane) || span_of(timeline_, before).end <= span.queued) continue;
      if (plan_.taken > 0 && span_of(timeline_, before).end > span.start) continue;  // came too late
      awaited = true;
      split = std::max(split, compute_end(before));
    }
    if (!awaited) {
      sum.other += span.start - span.queued;
      return;
    }
    split = std::min(split, span.start);
    sum.bubble += split - span.queued;
    sum.communication_exposed += span.start - split;
  }

  static void add_work(Breakdown& sum, const Op& op, const Span& span) {
    const double work = span.work();
    sum.data_wait += span.data_wait;
    if (op.kind == OpKind::forward) sum.forward += work;
    if (makes_input_gradient(op.kind) || makes_weight_gradient(op.kind)) sum.backward += work;
    if (op.kind == OpKind::recompute) sum.recompute += work;
    const bool updates = op.kind == OpKind::update || op.kind == OpKind::norms || op.kind == OpKind::average ||
                         op.kind == OpKind::add || is_of_compression(op.kind);
    if (updates) sum.update += work;
  }

  /// Of workers that got nothing to do any more, or nothing at all.
  double unused_s(const Breakdown& sum, StepId first_step) {
    if (completions_.empty()) completions_ = step_completions(plan_, timeline_);
    const double begin = first_step == StepId(0) ? timeline_.origin : completions_[first_step.value - 1];
    double used = 0;
    for (const auto& [name, part] : breakdown_fields) used += sum.*part;
    return std::max(0.0, operations_at_once(plan_.spec) * (completions_.back() - begin) - used);
  }

  static Breakdown per_step(Breakdown sum, int steps) {
    for (double* part : {&sum.forward, &sum.backward, &sum.recompute, &sum.update, &sum.communication_exposed,
                         &sum.bubble, &sum.data_wait, &sum.other}) {
      *part /= steps;
    }
    return sum;
  }

  const Plan& plan_;
  const Timeline& timeline_;
  bool in_order_;  ///< else each operation was queued when its worker got free (queue_on_workers)
  Matching matching_;
  std::vector<LocalDependencies> local_;
  std::vector<double> completions_;                                    ///< of steps, once asked for
  std::vector<std::vector<std::vector<std::optional<double>>>> ends_;  ///< what compute_end() found
};

}  // namespace

void queue_on_workers(std::vector<Span>& lane, int workers, double since) {
  std::vector<int> by_start(lane.size());
  std::iota(by_start.begin(), by_start.end(), 0);
  std::ranges::stable_sort(by_start, {}, [&](int i) { return lane[i].start; });
  std::vector<double> free(workers, since);
  for (const int i : by_start) {
    // The one that got free last: the others have gone without work for longer.
    double* own = &free.front();
    for (double& other : free)
      if (other <= lane[i].start && (*own > lane[i].start || other > *own)) own = &other;
    lane[i].queued = std::min(*own, lane[i].start);
    *own = lane[i].end;
  }
}

double makespan(const Timeline& timeline) {
  double end = timeline.origin;
  for (const auto& rank : timeline.ranks) {
    for (const auto& lane : rank) {
      for (const Span& span : lane) end = std::max(end, span.end);
    }
  }
  return end - timeline.origin;
}

std::vector<double> step_completions(const Plan& plan, const Timeline& timeline) {
  std::vector<double> completions(plan.steps, timeline.origin);
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (std::size_t l = 0; l < plan.ranks[r].lanes.size(); ++l) {
      const auto& ops = plan.ranks[r].lanes[l].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        // Who comes too late for a step is not waited for.
        if (plan.taken > 0 && ops[i].kind != OpKind::update) continue;
        double& completion = completions[ops[i].step.value];
        completion = std::max(completion, timeline.ranks[r][l][i].end);
      }
    }
  }
  return completions;
}

std::vector<double> step_durations(const Plan& plan, const Timeline& timeline) {
  const int pattern = turns(plan);
  int round = plan.servers.empty() ? 1 : pattern;
  for (const VersionRule& rule : plan.versions) round = std::max(round, rule.steps_per_update);
  const std::vector<double> completions = step_completions(plan, timeline);
  const auto before = [&](int step) {
    if (step >= pattern) return step - pattern;
    return step + 1 < 2 * round ? -1 : round - 1;
  };
  std::vector<double> durations;
  for (int step = 0; step < plan.steps; ++step) {
    const int since = before(step);
    const double begin = since < 0 ? timeline.origin : completions[since];
    durations.push_back((completions[step] - begin) / (step - since));
  }
  return durations;
}

std::vector<double> step_samples(const Plan& plan, const Timeline& timeline, StepId first) {
  std::vector<double> durations = step_durations(plan, timeline);
  durations.erase(durations.begin(), durations.begin() + first.value);
  const int every = plan.averaging.every;
  if (every == 0) return durations;
  std::vector<double> means;
  for (auto round = durations.begin(); round != durations.end(); round += every)
    means.push_back(std::accumulate(round, round + every, 0.0) / every);
  return means;
}

double bubble_fraction(const Plan& plan, const Timeline& timeline) {
  double busy = 0;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const auto& ops = plan.ranks[r].compute();
    const auto& spans = timeline.ranks[r][compute_lane];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (is_pass(ops[i].kind)) busy += spans[i].end - spans[i].start;
    }
  }
  return std::max(0.0, 1.0 - busy / (computing_ranks(plan) * operations_at_once(plan.spec) * makespan(timeline)));
}

Breakdown breakdown(const Plan& plan, const Timeline& timeline, Rank rank, StepId first_step) {
  return Accounting(plan, timeline).of(rank, first_step);
}

std::vector<Breakdown> breakdowns(const Plan& plan, const Timeline& timeline, StepId first_step) {
  Accounting accounting(plan, timeline);
  std::vector<Breakdown> result;
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) result.push_back(accounting.of(Rank(r), first_step));
  return result;
}

}  // namespace parabench::plan
