// The candidates for a question with layers whole, and divided among ranks.
#pragma once

#include <vector>

#include "suite/advise/candidates.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// The question `whole` and, of transformers on GPUs that nobody measured, what stands for it with every block divided
/// among 2, 4, ... GPUs of a host (tensor_subject()), as far as these divide its GPUs and the model. Such layers were
/// never measured, so that nothing measured could be compared with them. None of GPUs that nobody knows or that ranks
/// share, and none where ranks were divided among several hosts (Knowledge::hosts).
std::vector<Subject> divisions_of(const Subject& whole, const Knowledge& knowledge);

/// candidate_cases() of each of these, as cases of all ranks.
Candidates candidates_of(const std::vector<Subject>& divisions);

}  // namespace parabench::suite
