// A case as typed JSON, every key with its default included.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/case.h"
#include "base/json_reader.h"

namespace parabench {

/// Keys as in the id; numbers, booleans and strings by type; bucket and memory in bytes; warmup and memory null where
/// not given.
/// Model, dataset, strategy and optimizer are {"name", "parameters": {typed}, "text": as in the id}.
nlohmann::json parameters_json(const Case& spec);

/// The inverse; keys of later schemas than the first (case_key.h) may be missing. Throws usage_error naming the key
/// that is missing, foreign, of the wrong type or out of range, what stands there and what was expected.
Case case_from_json(const JsonReader& object);

}  // namespace parabench
