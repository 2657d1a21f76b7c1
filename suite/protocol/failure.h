// Why a rank stopped.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "base/strong.h"

namespace parabench::protocol {

enum class FailureKind {
  usage,         ///< bad input
  environment,   ///< the machine lacks something
  failure,       ///< anything else
  not_a_number,  ///< the training diverged
  peer,          ///< another rank stopped, so that this one had to
};
constexpr std::array<std::string_view, 5> names_of(FailureKind) {
  return {"usage", "environment", "failure", "not_a_number", "peer"};
}

/// What a failed rank leaves.
struct RankError {
  Rank rank;
  FailureKind kind = FailureKind::failure;
  std::string message;
  bool operator==(const RankError&) const = default;
};
nlohmann::json to_json(const RankError& error);
/// Throws usage_error naming the place.
RankError rank_error_from_json(const JsonReader& reader);

}  // namespace parabench::protocol
