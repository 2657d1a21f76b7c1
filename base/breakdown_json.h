// Where steps go as JSON, as results and answers of ranks hold it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "base/measures.h"

namespace parabench {

nlohmann::json to_json(const Breakdown& breakdown);
/// null is a part that is not finite. Throws usage_error naming the place.
Breakdown breakdown_from_json(const JsonReader& reader);

}  // namespace parabench
