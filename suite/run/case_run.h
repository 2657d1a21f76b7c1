// One case from its verification to its record.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suite/run/attempt.h"

namespace parabench::suite {

/// The attempts at a case (attempt.h), further ones where --retries allows, in turns that may be far apart: each does
/// the launches up to the next that measures. A first Ctrl-C ends no turn; what the constructor is given outlives it.
class CaseRun {
 public:
  /// `knowledge`: what the forecast was made from. `index`: 1-based place among the cases, for the progress line.
  /// `measured`: launches of an earlier run to go on with, as launch() gave them. Precondition: `prepared` runs.
  CaseRun(const Prepared& prepared, const RunOptions& options, const Knowledge& knowledge, int index,
          Workplace& workplace, const std::vector<results::Record>& measured);

  bool is_done() const { return attempt_->is_done(); }
  // Precondition of the next three: it is not done.
  /// Seconds that the next turn should take.
  double next_turn_seconds() const { return attempt_->next_turn_seconds(); }
  /// Whether all its launches did what they should.
  bool take_turn();
  void cut_short() { attempt_->cut_short(); }

  /// Launches of the present attempt that are measured so far.
  int measured() const { return attempt_->measured(); }
  /// What to keep of the last of them. Precondition: there is one.
  results::Record launch() const { return with_failures(attempt_->launch_record()); }
  /// Its record, final once it is done.
  CaseResult result() const;

 private:
  std::unique_ptr<Attempt> next_attempt() const;
  results::Record with_failures(results::Record record) const;

  const Prepared& prepared_;
  const RunOptions& options_;
  const Knowledge& knowledge_;
  int index_;
  Workplace& workplace_;
  std::unique_ptr<Attempt> attempt_;
  std::vector<std::string> earlier_failures_;
};

/// Seconds that the planned launches should take; 0 for a case that does not run, and for one of another product, whose
/// time nothing predicts.
double expected_seconds(const Prepared& prepared, const RunOptions& options);

}  // namespace parabench::suite
