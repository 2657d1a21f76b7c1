// When every operation of a plan ran: the common result of simulation and execution.
#pragma once

#include <vector>

#include "base/measures.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// One operation on one clock, in seconds: `queued` when its lane came to it, `start` when its dependencies had ended,
/// `end`.
struct Span {
  double queued = 0, start = 0, end = 0;
  double data_wait = 0;  ///< part of start..end spent waiting for the input batch
  double work() const { return end - start - data_wait; }
  bool operator==(const Span&) const = default;
};

/// Spans in the order of the plan's lanes: [rank][lane][index].
struct Timeline {
  std::vector<std::vector<std::vector<Span>>> ranks;
  double origin = 0;  ///< the clock when the first rank entered the window
};

/// Notes when each operation of a compute lane was queued whose workers take them in any order: when the worker that
/// took it had ended the one before. All are free from `since` on. O(n log n).
void queue_on_workers(std::vector<Span>& lane, int workers, double since);

double makespan(const Timeline& timeline);

/// Completion of each step: the latest end of its operations over all ranks; of its updates where some come too late
/// for it (Plan::taken).
std::vector<double> step_completions(const Plan& plan, const Timeline& timeline);

/// Seconds of each step: from the completion before to its own, the first step's from the origin. Where replicas share
/// the mini-batches of a stage, several complete at once, in a pattern that repeats after the least common multiple of
/// the widths: the mean over as many steps up to this one. Steps before have the mean since the end of the widest
/// stage's first round, which fills the pipeline; those of its first two rounds the mean since the origin.
std::vector<double> step_durations(const Plan& plan, const Timeline& timeline);
/// What tells how long a step takes, from step `first` on: the durations, or, where only some steps average weights,
/// their mean over each round. Precondition: the steps from `first` on are whole rounds.
std::vector<double> step_samples(const Plan& plan, const Timeline& timeline, StepId first);

/// 1 - busy / (ranks that compute * makespan), busy being the compute lanes' passes; where a rank computes several
/// operations at a time, each of its workers counts as a rank.
double bubble_fraction(const Plan& plan, const Timeline& timeline);

/// A rank's seconds per step, averaged over the steps [first_step, plan.steps). A wait of the compute lane for another
/// lane is split at the moment when the last compute operation it stems from ended (on whichever rank): before it,
/// bubble; after it, exposed communication. Time between two operations that no dependency explains is `other`. Each
/// operation and the wait before it count for the operation's step. Where a rank computes several operations at a time,
/// the mean over its workers, whose time without work is bubble. Precondition: the plan has such a step.
Breakdown breakdown(const Plan& plan, const Timeline& timeline, Rank rank, StepId first_step);
/// The same for every rank, in O(operations) altogether.
std::vector<Breakdown> breakdowns(const Plan& plan, const Timeline& timeline, StepId first_step);

}  // namespace parabench::plan
