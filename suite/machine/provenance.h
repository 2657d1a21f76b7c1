// Where a results file comes from: program, machine, libraries, environment.
#pragma once

#include <string>
#include <vector>

#include "results/file.h"
#include "suite/launch/workplace.h"
#include "suite/machine/knowledge.h"

namespace parabench::suite {

/// A results file without records yet. Its hosts: this one, or none where a job is on others, which only ranks see.
results::ResultsFile describe_run(const Workplace& workplace, const protocol::Offer& capabilities,
                                  const CalibrationFile& calibration, const std::vector<std::string>& argv);

}  // namespace parabench::suite
