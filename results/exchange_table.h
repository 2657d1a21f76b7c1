// The table that `communicate` prints.
#pragma once

#include <span>
#include <string>

#include "results/exchange_record.h"

namespace parabench::results {

/// One line per record, grouped under what is done among how many ranks: size, algorithm (with what `auto` and others
/// became), median and quartiles of the time, algorithm and bus bandwidth of the median in GB/s (1e9), predicted time
/// and its error. A reason stands on a line of its own below its record. Last lines say where the predictions come
/// from, or why there are none. Plain text, columns aligned, each line ended by a newline; "-" where there is no value.
std::string exchange_table(std::span<const ExchangeRecord> records);

}  // namespace parabench::results
