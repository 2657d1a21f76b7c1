// A comparison of two files as people and as programs read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "results/compare_files.h"

namespace parabench::results {

/// One side of a comparison, for its heading.
struct ComparedFile {
  std::string path;
  std::string date, git;  ///< of the run
};

/// The files; what else differs; the rules; one line per case, grouped under the model/dataset/ that ids share (of two
/// different cases the second on a line of its own): launches of A and of B, medians, ratio B / A, interval, p,
/// verdict, and below an UNCLEAR one why; rows that were left out; last the noise, how many cases have which
/// verdict, and how many are good in A alone.
std::string comparison_table(const FilesComparison& comparison, const CompareRules& rules, const ComparedFile& a,
                             const ComparedFile& b);

/// The same as data. SI units in names, shares and not per cent, null where there is no value.
nlohmann::json comparison_json(const FilesComparison& comparison, const CompareRules& rules, const ComparedFile& a,
                               const ComparedFile& b);

}  // namespace parabench::results
