// Results files as tests use them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/file.h"

namespace parabench::results {

/// A measured and predicted record of `id`; `throughput` scales its times.
Record ok_record(const std::string& id, double throughput_samples_per_s);
/// A record that never ran.
Record skipped_record(const std::string& id, const std::string& reason);

/// Measured with and without a prediction, in groups, messages, skipped, failed.
std::vector<ExchangeRecord> sample_exchanges();

/// Every shape that a file may take: full, without calibration and records, with skipped and failed records, with
/// numbers that were not finite, with exchanges.
std::vector<ResultsFile> sample_files();

/// `good` with one thing changed, once per change: each value (of a list: the first) in turn removed, nulled, replaced
/// by one of another type, by -1, 1.0 and 0.5, by empty text or an empty list, and each object given an unknown field.
/// Some stay valid.
std::vector<nlohmann::json> mutations(const nlohmann::json& good);

}  // namespace parabench::results
