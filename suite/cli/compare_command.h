// Command compare: two results files case by case.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "base/error.h"
#include "results/compare_files.h"

namespace parabench::suite {

struct CompareOptions {
  std::string a, b;  ///< results files
  results::CompareRules rules;
  bool json = false;
};

/// "5%", "5 %" or "0.05", not below 0. Throws usage_error.
double read_share(std::string_view option, std::string_view text);

/// Prints the comparison. case_failed where a case became SLOWER, or is good in A and failed or became wrong in B;
/// nothing_matched where no case could be compared.
/// Throws usage_error for a file that is no results file, and for different work that the rules do not allow.
ExitCode compare_results(const CompareOptions& options, std::ostream& out);

}  // namespace parabench::suite
