// Judgements for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "analytic/validation/judge.h"

namespace parabench::analytic {

/// A line of figures for each judgement, and below them the constants that were fitted, with their rows.
std::string judgements_text(std::span<const Judgement> judgements);

/// A list of objects with the members of Judgement; null for what is not known.
nlohmann::json judgements_json(std::span<const Judgement> judgements);

}  // namespace parabench::analytic
