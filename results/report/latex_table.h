// A report's rows that count as a table for LaTeX.
#pragma once

#include <string>

#include "results/report/report.h"

namespace parabench::results {

/// A tabular of the package booktabs, of longtable where it has more rows than fit on a page: predicted and measured
/// step time and peak memory with their errors, the noise, marked where the error is_within() it, and the speed-up over
/// sequential training on as many cores. Rows that do not count are left out; a comment in the text says how many.
std::string report_latex_table(const Report& report);

}  // namespace parabench::results
