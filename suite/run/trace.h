// The measured timeline of a launch beside its prediction, for trace viewers.
#pragma once

#include <filesystem>

#include "suite/run/forecast.h"

namespace parabench::suite {

/// Adds the prediction to a trace file of a launch that parabench-rank wrote (print_trace.h): the same window of steps,
/// simulated with the costs of the forecast, as processes "predicted rank 0", ... after the measured ones. Both begin
/// at
/// 0. Throws usage_error where the file is no such trace.
void add_prediction(const std::filesystem::path& trace, const Subject& subject, const Forecast& forecast,
                    const Knowledge& knowledge, int steps);

}  // namespace parabench::suite
