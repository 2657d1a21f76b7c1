// A report's rows as CSV.
#pragma once

#include <string>

#include "results/report/report.h"

namespace parabench::results {

/// One line per record, also of those that do not count, which say why; the header names columns with units. Every key
/// of the case is a column. Empty cells are values that are not known.
std::string report_csv(const Report& report);

}  // namespace parabench::results
