// The table that `run` and `quick` print.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "results/record.h"

namespace parabench::results {

/// One line per record, grouped under the model/dataset/ that their ids share: the rest of the id, status, step time
/// predicted and measured (median) with the error, peak counted memory of the rank that needs most likewise, verdict of
/// the equivalence check, samples per second, speed-up over sequential training on as many cores. A reason stands on a
/// line of its own below its record, as does the loss of one that by definition trains something else than SGD. Last
/// lines give the mean absolute errors of the rows that count (summary.h), those
/// that were checked apart from the others, and how many do not. Plain text, columns aligned, each line ended by a
/// newline; "-" where there is no value.
std::string results_table(std::span<const Record> records);

/// "+3.2 %" of 0.032; "-" for what is not finite.
std::string signed_percent(double ratio);
/// Three significant digits or the whole number, without a unit: "0.631", "1892"; "-" for what is none.
std::string plain_number(double value);

/// "model/dataset/", the part of an id that a group of rows shares.
std::string_view id_group(std::string_view id);

}  // namespace parabench::results
