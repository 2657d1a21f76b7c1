// The candidates for a question with layers whole, and divided among ranks.
#pragma once

#include <vector>

#include "suite/advise/candidates.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// The question `whole` and, of transformers on GPUs that nobody measured, what stands for it with every block divided
/// among 2, 4, ... GPUs of a host (tensor_subject()): such layers were never measured, so that nothing measured could
/// be compared with them.
std::vector<Subject> divisions_of(const Subject& whole, const Knowledge& knowledge);

/// candidate_cases() of each of these, as cases of all ranks.
Candidates candidates_of(const std::vector<Subject>& divisions);

}  // namespace parabench::suite
