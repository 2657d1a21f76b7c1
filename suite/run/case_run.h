// One case from its verification to its record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record.h"
#include "suite/launch/workplace.h"
#include "suite/run/run_plan.h"

namespace parabench::suite {

/// Does the launches that are planned for a case (run_plan.h), and stops at the first failure.
class CaseRun {
 public:
  /// `index`: 1-based place among the cases, for the progress line. `prepared` runs, and outlives this.
  CaseRun(const Prepared& prepared, const RunOptions& options, int index, Workplace& workplace);

  /// The verify launch, where one is planned. False when it failed or found a difference; the record says why.
  bool verify();
  /// The next measure launch: its step times, or nullopt when the case has failed. Precondition: one is planned.
  std::optional<std::vector<double>> measure();
  /// The record of what has happened so far.
  const results::Record& record() const { return record_; }
  /// Whether a rank's failure means bad input or a lacking environment rather than a failed case.
  protocol::FailureKind failure_kind() const { return failure_kind_; }

 private:
  /// Takes the next launch from the plan, if it is of this phase.
  std::optional<PlannedLaunch> next(protocol::Phase phase);
  std::optional<protocol::Reply> run_phase(protocol::Phase phase, LaunchRequest request, std::string what);
  void fail(std::string reason, protocol::FailureKind kind);

  const Prepared& prepared_;
  const RunOptions& options_;
  int index_;
  Workplace& workplace_;
  results::Record record_;
  std::vector<PlannedLaunch> planned_;  ///< those still to come
  std::vector<results::Measured> launches_;
  protocol::FailureKind failure_kind_ = protocol::FailureKind::failure;
};

/// The record of a case before anything ran: identity, plan, prediction, the command that repeats it. Skipped where
/// the case does not run.
results::Record start_record(const Prepared& prepared, const RunOptions& options);

/// Expected seconds of all launches of a case.
double expected_seconds(const Prepared& prepared, const RunOptions& options);

}  // namespace parabench::suite
