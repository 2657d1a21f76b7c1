// Candidates by their closed forms.
#pragma once

#include <optional>
#include <vector>

#include "suite/advise/advise.h"

namespace parabench::suite {

/// The cases, each of one of these divisions (divisions_of()), with their closed forms, the fastest first; with a limit
/// those that exceed it last, the smallest of them first. By the calibration where there is one, else by the data
/// sheet; emulated devices with unit costs by these. Throws what these costs throw where something was never measured.
/// O(cases layers log layers).
std::vector<Candidate> ranked(const std::vector<Subject>& divisions, const std::vector<Case>& cases,
                              const Knowledge& knowledge, const std::optional<Bytes>& memory);

}  // namespace parabench::suite
