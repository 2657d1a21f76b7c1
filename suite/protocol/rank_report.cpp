#include "suite/protocol/rank_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "results/record_json.h"
#include "results/record_read.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;

plan::Span span_from_json(const JsonReader& reader) {
  const auto times = reader.as<std::vector<double>>();
  if (times.size() != 4) throw reader.error("four times: queued, start, end, data wait");
  return {times[0], times[1], times[2], times[3]};
}

RankReport::Interval interval_from_json(const JsonReader& reader) {
  const auto times = reader.as<std::vector<double>>();
  if (times.size() != 2) throw reader.error("two times: begin, end");
  return {times[0], times[1]};
}

}  // namespace

json to_json(const RankReport& report) {
  json spans = json::array(), isolated = json::array();
  for (const auto& lane : report.spans) {
    json& list = spans.emplace_back(json::array());
    for (const plan::Span& s : lane) list.push_back({s.queued, s.start, s.end, s.data_wait});
  }
  for (const auto& [begin, end] : report.isolated) isolated.push_back({begin, end});
  return {{"measured", results::to_json(report.measured)},
          {"spans", std::move(spans)},
          {"isolated", std::move(isolated)},
          {"losses", report.losses},
          {"ranks_on_device", report.ranks_on_device}};
}

RankReport rank_report_from_json(const JsonReader& reader) {
  RankReport report;
  report.measured = results::rank_measured_from_json(reader.at("measured"));
  for (const JsonReader& list : reader.at("spans").items()) {
    auto& lane = report.spans.emplace_back();
    for (const JsonReader& span : list.items()) lane.push_back(span_from_json(span));
  }
  for (const JsonReader& step : reader.at("isolated").items()) report.isolated.push_back(interval_from_json(step));
  report.losses = reader.get<std::vector<double>>("losses");
  report.ranks_on_device = reader.get_at_least("ranks_on_device", 1);
  return report;
}

}  // namespace parabench::protocol
