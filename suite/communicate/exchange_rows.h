// The exchanges that a command line asks for, as rows of a table that is still to be filled.
#pragma once

#include <span>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "base/placement.h"
#include "results/exchange_record.h"
#include "suite/communicate/options.h"
#include "suite/protocol/exchange_work.h"

namespace parabench::suite {

/// By kind, group, size and algorithm, the last one changing fastest. Messages have a row for each size alone, of
/// `auto`. An algorithm that the communicator does not have is skipped with the reason.
std::vector<results::ExchangeRecord> exchange_rows(const CommunicateOptions& options);

/// Fills in what a plan with these exchanges would be predicted to take, or why nobody knows, but for skipped rows.
/// nullptr: never calibrated. `placement`: of the ranks.
void predict(std::span<results::ExchangeRecord> rows, const analytic::Calibration* calibration,
             const Placement& placement = {});

/// Adds one launch's answer to the rows, of which `indices` were its work, in their order; a row with a wrong value
/// fails and has no time. Throws usage_error where the answer is not about them.
void take_timings(std::span<results::ExchangeRecord> rows, std::span<const std::size_t> indices,
                  const protocol::ExchangeTimings& timings, int iterations);

}  // namespace parabench::suite
