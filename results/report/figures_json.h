// The rows that figures draw, as JSON: for the page, for plots/figures.py and for scripts of others.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/report/report.h"

namespace parabench::results {

/// {"schema", "files", "groups", "summary", "breakdown_fields", "rows"}. SI units in names, six significant digits (four
/// of breakdowns), null for what is not known. Of a record of more than `most_ranks` ranks as many are kept, evenly
/// spaced and with their numbers; timelines (in microseconds) are kept as long as they fit into `most_timeline_bytes`
/// in all, in order, and "timeline_left_out" tells of others.
inline constexpr int most_ranks = 16;
inline constexpr std::size_t most_timeline_bytes = 600'000;
nlohmann::json figures_json(const Report& report);

}  // namespace parabench::results
