// One case from its verification to its record.
#pragma once

#include "results/record.h"
#include "suite/launch/workplace.h"
#include "suite/run/run_plan.h"

namespace parabench::suite {

struct CaseResult {
  results::Record record;
  /// Of a failed record: whether it means bad input or a lacking environment rather than a failed case.
  protocol::FailureKind failure = protocol::FailureKind::failure;
  bool interrupted = false;  ///< the record was cut short; it keeps the launches that were measured, and never counts
};

/// Does the launches that are planned for a case (run_plan.h) and further ones until the stopping rule is content; a
/// failed launch ends the case, or its attempt where --retries allows another. A first Ctrl-C lets the case go on to
/// its end. `knowledge`: what the forecast was made from. `index`: 1-based place among the cases, for the progress
/// line. Precondition: `prepared` runs.
CaseResult run_case(const Prepared& prepared, const RunOptions& options, const Knowledge& knowledge, int index,
                    Workplace& workplace);

/// The record of a case of which nothing has run yet; of one that does not run, the whole record.
results::Record start_record(const Prepared& prepared, const RunOptions& options);

/// Seconds that the planned launches should take; 0 for a case that does not run.
double expected_seconds(const Prepared& prepared, const RunOptions& options);

}  // namespace parabench::suite
