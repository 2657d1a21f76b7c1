// Records from JSON.
#pragma once

#include "base/json_reader.h"
#include "results/record.h"

namespace parabench::results {

/// The inverses of to_json (record_json.h); null reads as NaN where a number is meant. Throw usage_error naming the
/// value and, with a JSON pointer, what of it does not fit the schema.
Record record_from_json(const JsonReader& reader);
/// The same of a record in a document that was found to fit the schema.
Record record_from_valid_json(const JsonReader& reader);
Equivalence equivalence_from_json(const JsonReader& reader);
RankMeasured rank_measured_from_json(const JsonReader& reader);
Measured measured_from_json(const JsonReader& reader);
Predicted predicted_from_json(const JsonReader& reader);

}  // namespace parabench::results
