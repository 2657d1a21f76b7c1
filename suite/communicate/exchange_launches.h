// The launches that time exchanges.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "results/exchange_record.h"
#include "suite/communicate/options.h"
#include "suite/launch/workplace.h"

namespace parabench::suite {

/// One launch, again and again: of one algorithm, with what is asked of it.
struct ExchangeLaunch {
  protocol::ExchangeWork work;
  std::vector<std::size_t> rows;  ///< of the table, in the order of the work
};

/// Those that the rows want which have neither failed nor been skipped: one for each algorithm, in the order of the
/// rows.
std::vector<ExchangeLaunch> exchange_launches(std::span<const results::ExchangeRecord> rows,
                                              const CommunicateOptions& options);

/// Seconds that a launch should take when all is well, start-up included: by the rows' predictions, and 100 MB/s where
/// there are none.
double expected_seconds(const ExchangeLaunch& launch, std::span<const results::ExchangeRecord> rows);

/// Launches all, `repetitions` times by turns, and fills in the rows. False where it was interrupted: what was measured
/// before stays.
bool launch_exchanges(std::span<results::ExchangeRecord> rows, const CommunicateOptions& options, Workplace& workplace);

}  // namespace parabench::suite
