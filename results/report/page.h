// A report as one self-contained HTML page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "results/report/report.h"

namespace parabench::results {

/// The page of plots/page with its style and script inside: tables as HTML, what its drawings need as JSON. It loads
/// nothing, its content security policy lets no other script run, and what results files hold stays text.
std::string report_page(const Report& report);
/// The same with what figures_json() made of the report.
std::string report_page(const Report& report, const nlohmann::json& figures);

}  // namespace parabench::results
