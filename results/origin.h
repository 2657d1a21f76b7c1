// Where a results file comes from: which program, on which kind of machine.
#pragma once

#include <optional>
#include <string>

#include "results/file.h"

namespace parabench::results {

struct OriginDifference {
  std::string what;  ///< "version", "build", "machine", "MPI" or "LibTorch"
  std::string first, second;
};

/// Why records of these two files cannot stand in one: another program, kind of machine or set of libraries; nullopt
/// where they can. A file without hosts, whose ranks never told theirs, is of any machine.
std::optional<OriginDifference> origin_difference(const ResultsFile& a, const ResultsFile& b);

}  // namespace parabench::results
