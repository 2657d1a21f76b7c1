// Results as a tidy table for R, pandas and spreadsheets.
#pragma once

#include <string>

#include "results/file.h"

namespace parabench::results {

/// A line of headings and one per record, by commas, quoted where needed (RFC 4180, but lines end with a newline
/// alone): id, model, data set, strategy and every key of the case as text, status, reason, equivalence, whether the
/// row counts (summary.h), the plan's hash, the main numbers with their units in the headings (main_numbers.h), and of
/// the file date, version, commit and launcher, so that several files can be joined. Empty where there is no value.
/// Rows that do not count are there: filter by `counts`.
std::string results_csv(const ResultsFile& file);

}  // namespace parabench::results
