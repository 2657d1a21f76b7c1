// The head of a results file as JSON, in the shape of its schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/json_reader.h"
#include "results/file.h"

namespace parabench::results {

nlohmann::json to_json(const Program& program);
nlohmann::json to_json(const Context& context);
nlohmann::json to_json(const HostGpu& gpu);
nlohmann::json to_json(const std::optional<CalibrationOrigin>& calibration);

/// The inverses. Throw usage_error naming the place.
Program program_from_json(const JsonReader& reader);
Context context_from_json(const JsonReader& reader);
HostGpu host_gpu_from_json(const JsonReader& reader);
std::optional<CalibrationOrigin> calibration_origin_from_json(const JsonReader& reader);

}  // namespace parabench::results
