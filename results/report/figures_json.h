// The rows that figures draw, as JSON: for the page, for plots/figures and for scripts of others.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "results/report/report.h"

namespace parabench::results {

/// {"schema", "files", "groups", "panels", "references", "summary", "breakdown_fields", "rows"}; rows name groups,
/// panels (what the points of one drawing of speed-ups have in common) and references (ids) by their place. SI units in
/// names, six significant digits (four of breakdowns), null for what is not known. Rows that do not count hold no
/// numbers. A page of 1,000 records has to stay small: of a record of many ranks some are kept (most_ranks, fewer in a
/// report of more than most_ranks_in_all), evenly spaced and with their numbers; timelines (in microseconds) are kept,
/// in order, as long as they fit into most_timeline_bytes in all, and "timeline_left_out" tells of others.
inline constexpr std::size_t most_ranks = 16, least_ranks = 4, most_ranks_in_all = 8800;
inline constexpr std::size_t most_timeline_bytes = 350'000;
nlohmann::json figures_json(const Report& report);

}  // namespace parabench::results
