#include "base/canary_json.h"

#include <nlohmann/json.hpp>

#include "base/json_null.h"

namespace parabench {
namespace {

double time(const JsonReader& reader, std::string_view key) {
  const double seconds = reader.get<double>(key);
  if (!(seconds > 0)) throw reader.at(key).error("a time above 0");
  return seconds;
}

std::optional<double> spread(const JsonReader& reader) {
  constexpr auto key = "matrix_product_spread";
  return reader.has(key) ? std::optional(reader.get_at_least(key, 1.0)) : std::nullopt;
}

}  // namespace

nlohmann::json to_json(const Canary& canary) {
  return {{"matrix_product_s", canary.matrix_product_s},
          {"triad_s", canary.triad_s},
          {"steal_share", null_if_absent(canary.steal_share)},
          {"involuntary_switches", canary.involuntary_switches},
          {"matrix_product_spread", null_if_absent(canary.matrix_product_spread)}};
}

nlohmann::json to_json(const std::vector<Canary>& canaries) {
  nlohmann::json list = nlohmann::json::array();
  for (const Canary& canary : canaries) list.push_back(to_json(canary));
  return list;
}

Canary canary_from_json(const JsonReader& reader) {
  return {.matrix_product_s = time(reader, "matrix_product_s"),
          .triad_s = time(reader, "triad_s"),
          .steal_share = reader.find<double>("steal_share"),
          .involuntary_switches = reader.get_at_least("involuntary_switches", std::int64_t{0}),
          .matrix_product_spread = spread(reader)};
}

std::vector<Canary> canaries_in(const JsonReader& object) {
  std::vector<Canary> canaries;
  if (!object.has("canary")) return canaries;
  for (const JsonReader& canary : object.at("canary").items()) canaries.push_back(canary_from_json(canary));
  return canaries;
}

}  // namespace parabench
