// Records as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/record.h"

namespace parabench::results {

/// Exactly the shape of the schema's definitions. A number that is not finite becomes null; a record then says so in
/// `reason`.
nlohmann::json to_json(const Record& record);
nlohmann::json to_json(const Equivalence& equivalence);
nlohmann::json to_json(const RankMeasured& rank);
nlohmann::json to_json(const Measured& measured);
nlohmann::json to_json(const Predicted& predicted);

}  // namespace parabench::results
