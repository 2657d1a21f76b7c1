// Judged predictions for people, for tables and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/accuracy.h"
#include "results/accuracy_figures.h"

namespace parabench::results {

/// A line of figures for each kind of error, then means by strategy and by model, and the `worst` cases that are
/// furthest off, with the part of their step that is.
std::string accuracy_text(std::span<const JudgedCase> cases, int worst = 5);
/// All cases, a row each, with signed errors.
std::string accuracy_csv(std::span<const JudgedCase> cases);
/// Of one kind of error.
nlohmann::json figures_json(const ErrorFigures& figures);
nlohmann::json accuracy_json(std::span<const JudgedCase> cases);

/// "2 cases in up to 3 passes; ...": what the figures are of.
std::string accuracy_heading(std::span<const JudgedCase> cases);
/// A table's cells: headings, then figures of each kind of error that is known.
std::vector<std::vector<std::string>> figure_rows(std::span<const JudgedCase> cases);
/// "1.2-3.4", of shares in percent; "-" without one.
std::string percent_interval(const std::optional<Interval>& ends);
/// What measurements of the case are apart, beside the forecast's error, and its rounds, beside the paired error: as
/// noise_percent() has it; "-" where that is not known.
std::string noise_text(const JudgedCase& one);
std::string paired_noise_text(const JudgedCase& one);

}  // namespace parabench::results
