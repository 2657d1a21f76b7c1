// Judged predictions for people, for tables and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "results/accuracy.h"

namespace parabench::results {

/// A line of figures for each kind of error, then means by strategy and by model, and the `worst` cases that are
/// furthest off, with the part of their step that is.
std::string accuracy_text(std::span<const JudgedCase> cases, int worst = 5);
/// All cases, a row each, with signed errors.
std::string accuracy_csv(std::span<const JudgedCase> cases);
/// Of one kind of error.
nlohmann::json figures_json(const ErrorFigures& figures);
nlohmann::json accuracy_json(std::span<const JudgedCase> cases);

}  // namespace parabench::results
