// The files of a report.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/report/report.h"

namespace parabench::results {

/// Names and texts: report.html, results.csv, table.tex, numbers.tex, figures.json. The same for the same report.
std::vector<std::pair<std::string_view, std::string>> report_texts(const Report& report);

/// Writes them into a folder, which is made where it is not there, each file at once; what else lies in it is left
/// alone. Throws as require_writable_folder() does (base/writable.h).
void write_report(const std::filesystem::path& folder, const Report& report);

}  // namespace parabench::results
