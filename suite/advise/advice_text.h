// An advice for people, for tables and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "suite/advise/advise.h"

namespace parabench::suite {

/// The `rows` fastest that train as sequential training does, and what else is on the front of time and memory; then
/// the fastest that train otherwise.
std::string advice_text(const Question& question, const Advice& advice, int rows);
/// All of them, a row each.
std::string advice_csv(const Advice& advice);
nlohmann::json advice_json(const Question& question, const Advice& advice);

}  // namespace parabench::suite
