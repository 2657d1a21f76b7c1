#include "results/report/timeline.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace parabench::results {
namespace {

using nlohmann::json;

/// ["0F0", begin, end] with 0 <= begin <= end.
std::optional<Span> span_of(const json& value) {
  if (!value.is_array() || value.size() != 3 || !value[0].is_string() || !value[1].is_number() ||
      !value[2].is_number()) {
    return std::nullopt;
  }
  Span span{value[0].get<std::string>(), value[1].get<double>(), value[2].get<double>()};
  if (!std::isfinite(span.end_s) || !(0 <= span.begin_s && span.begin_s <= span.end_s)) return std::nullopt;
  return span;
}

std::optional<Timeline> timeline_of(const json& value) {
  if (!value.is_object() || !value.contains("steps") || !value.contains("ranks")) return std::nullopt;
  const json &steps = value["steps"], &ranks = value["ranks"];
  if (!steps.is_array() || steps.size() != 2 || !steps[0].is_number_integer() || !steps[1].is_number_integer() ||
      !ranks.is_array() || ranks.empty()) {
    return std::nullopt;
  }
  Timeline timeline{steps[0].get<int>(), steps[1].get<int>(), {}};
  for (const json& rank : ranks) {
    if (!rank.is_array()) return std::nullopt;
    std::vector<Span>& spans = timeline.ranks.emplace_back();
    for (const json& item : rank) {
      std::optional<Span> span = span_of(item);
      if (!span) return std::nullopt;
      spans.push_back(std::move(*span));
    }
  }
  return timeline;
}

std::optional<Timeline> take_timeline(json& record, const char* half) {
  if (!record.is_object() || !record.contains(half) || !record[half].is_object()) return std::nullopt;
  json& holder = record[half];
  const auto found = holder.find("timeline");
  if (found == holder.end()) return std::nullopt;
  std::optional<Timeline> timeline = timeline_of(*found);
  holder.erase(found);
  return timeline;
}

}  // namespace

double Timeline::end_s() const {
  double end = 0;
  for (const auto& spans : ranks)
    for (const Span& span : spans) end = std::max(end, span.end_s);
  return end;
}

std::vector<Timelines> take_timelines(json& document) {
  std::vector<Timelines> out;
  if (!document.is_object() || !document.contains("records") || !document["records"].is_array()) return out;
  for (json& record : document["records"]) {
    out.push_back({take_timeline(record, "predicted"), take_timeline(record, "measured")});
  }
  return out;
}

}  // namespace parabench::results
