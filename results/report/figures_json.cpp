#include "results/report/figures_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_null.h"
#include "base/statistics.h"
#include "results/context_json.h"

namespace parabench::results {
namespace {

using nlohmann::json;

json number(double value, int digits = 6) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}
json number(const std::optional<double>& value) { return value ? number(*value) : json(); }
json interval(const std::pair<double, double>& ends) { return json::array({number(ends.first), number(ends.second)}); }

/// Which of `ranks` ranks are shown: all, or `most` of them, the first and the last included.
std::vector<std::size_t> shown_ranks(std::size_t ranks, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t shown = std::min(ranks, most);
  for (std::size_t i = 0; i < shown; ++i) out.push_back(shown == ranks ? i : i * (ranks - 1) / (shown - 1));
  return out;
}

json parts(const Breakdown& breakdown) {
  json out = json::array();
  for (const auto& [name, field] : breakdown_fields) out.push_back(number(breakdown.*field, 4));
  return out;
}

/// {"ranks": [numbers], "predicted": [[seconds of breakdown_fields] per rank] | null, "measured": likewise}.
json breakdown(const Record& record, std::size_t most) {
  const std::size_t ranks = record.measured ? record.measured->ranks.size() : 0;
  const bool measured = ranks > 0 && std::ranges::all_of(record.measured->ranks, [](const RankMeasured& rank) {
                          return rank.breakdown_s.has_value();
                        });
  if (!measured) return nullptr;
  json numbers = json::array(), in_run = json::array(), in_prediction = json::array();
  for (const std::size_t i : shown_ranks(ranks, most)) {
    const RankMeasured& rank = record.measured->ranks[i];
    numbers.push_back(rank.rank.value);
    in_run.push_back(parts(*rank.breakdown_s));
    if (record.predicted && i < record.predicted->ranks.size())
      in_prediction.push_back(parts(record.predicted->ranks[i].breakdown_s));
  }
  json out{{"ranks", numbers}, {"of", ranks}, {"measured", in_run}, {"predicted", nullptr}};
  if (in_prediction.size() == numbers.size()) out["predicted"] = in_prediction;
  return out;
}

/// [["0F0", begin, end, ...] per rank], in whole microseconds. A time that is none, or no time of a step, makes the
/// timeline none.
json spans(const std::optional<StepTimeline>& timeline) {
  if (!timeline) return nullptr;
  json ranks = json::array();
  for (const auto& rank : timeline->ranks) {
    json& row = ranks.emplace_back(json::array());
    for (const TimedAction& action : rank) {
      // Written so that a NaN is no time.
      if (!(0 <= action.begin_s && action.begin_s <= action.end_s && action.end_s < 1e9)) return nullptr;
      row.push_back(action.action);
      row.push_back(std::llround(action.begin_s * 1e6));
      row.push_back(std::llround(action.end_s * 1e6));
    }
  }
  return {{"steps", {timeline->first_step, timeline->last_step}}, {"ranks_us", std::move(ranks)}};
}

void add_timelines(json& row, const Record& record, std::size_t& bytes_left) {
  json both{{"predicted", record.predicted ? spans(record.predicted->timeline) : json()},
            {"measured", record.measured ? spans(record.measured->timeline) : json()}};
  if (both["predicted"].is_null() && both["measured"].is_null()) return;
  const std::size_t size = both.dump(-1, ' ', true, json::error_handler_t::replace).size();
  if (size > bytes_left) {
    row["timeline_left_out"] = true;
    return;
  }
  bytes_left -= size;
  row["timeline"] = std::move(both);
}

/// Texts that many rows share, each written once and named by its place.
class Texts {
 public:
  std::size_t place(const std::string& text) {
    const auto [found, is_new] = places_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::size_t> places_;
};

/// The interval of the efficiency is to that of the speed-up as the values are.
json scaling_json(const Scaling& scaling, std::size_t panel, std::size_t reference) {
  json out = {{"kind", to_text(scaling.kind)},
              {"panel", panel},
              {"reference", reference},
              {"speedup", number(scaling.speedup)},
              {"efficiency", number(scaling.efficiency)},
              {"predicted_speedup", number(scaling.predicted_speedup)},
              {"predicted_efficiency", number(scaling.predicted_efficiency)}};
  if (scaling.speedup_interval) out["speedup_interval"] = interval(*scaling.speedup_interval);
  return out;
}

/// What the points of one drawing have in common.
std::string panel(const Record& record, ScalingKind kind) {
  const Case& spec = record.parameters;
  switch (kind) {
    case ScalingKind::one_rank:
      return fmt::format("{}, batch {}: over one rank of as many threads", workload(record), spec.batch);
    case ScalingKind::batch_per_rank:
      return fmt::format("{}, batch {} per rank: over one rank of as many threads", workload(record),
                         spec.batch / spec.np);
    case ScalingKind::same_cores:
      return fmt::format("{}, batch {}: over sequential training on as many cores", workload(record), spec.batch);
  }
  return "";
}

/// What rows share: room, and texts.
struct Shared {
  std::size_t ranks_of_a_row, timeline_bytes = most_timeline_bytes;
  Texts panels, references;
};

json row_json(const Report& report, const ReportRow& row, Shared& shared) {
  const Record& record = report.record(row);
  const Case& spec = record.parameters;
  json out{{"file", row.file},
           {"id", record.id},
           {"label", short_id(record)},
           {"series", series(record)},
           {"strategy", spec.strategy.name},
           {"strategy_place", row.strategy_place},
           {"np", spec.np},
           {"batch", spec.batch},
           {"counts", row.counts},
           {"checked", is_checked(record)},
           {"emulated", is_emulated(spec)}};
  if (!row.counts) return out;
  if (record.predicted) {
    out["predicted_s"] = number(record.predicted->step_time_s);
    const auto ends = known_interval(*record.predicted);
    out["predicted_interval_s"] = ends ? interval(*ends) : json();
    out["predicted_bytes"] = null_if_zero(peak_bytes(*record.predicted));
  }
  if (record.measured) {
    out["measured_s"] = number(record.measured->step_time_s.median);
    out["measured_interval_s"] = interval(record.measured->step_time_s.ci95);
    out["measured_bytes"] = null_if_zero(peak_bytes(*record.measured));
    out["samples_per_s"] = number(record.measured->throughput_samples_per_s);
    out["breakdown"] = breakdown(record, shared.ranks_of_a_row);
  }
  if (row.error) {
    out["time_error"] = number(row.error->step_time);
    out["memory_error"] = number(row.error->peak_memory);
  }
  for (const Scaling& scaling : row.scalings) {
    out["scaling"].push_back(scaling_json(scaling, shared.panels.place(panel(record, scaling.kind)),
                                          shared.references.place(scaling.reference)));
  }
  if (row.group) {
    out["group"] = *row.group;
    out["front"] = {{"measured", row.on_measured_front}, {"predicted", row.on_predicted_front}};
  }
  add_timelines(out, record, shared.timeline_bytes);
  return out;
}

json mean_json(const MeanError& mean) {
  return {{"kind", kind_of(mean)},
          {"cases", mean.cases},
          {"time_error", number(mean.step_time)},
          {"memory_error", number(mean.peak_memory)}};
}

json summary_json(const Report& report) {
  json out{{"records", report.rows.size()},
           {"counting", std::ranges::count(report.rows, true, &ReportRow::counts)},
           {"mean_absolute_errors", json::array()},
           {"strategies", json::array()}};
  for (const MeanError& mean : report.means) out["mean_absolute_errors"].push_back(mean_json(mean));
  for (const StrategyErrors& errors : report.strategies) {
    json one = mean_json(errors.mean);
    one["strategy"] = errors.strategy;
    out["strategies"].push_back(std::move(one));
  }
  return out;
}

json file_json(const ReportFile& file) {
  return {{"label", file.label},
          {"program", to_json(file.results.program)},
          {"context", to_json(file.results.context)},
          {"calibration", to_json(file.results.calibration)}};
}

}  // namespace

json figures_json(const Report& report) {
  json out{{"schema", "parabench-figures-1"},   {"files", json::array()},
           {"groups", report.groups},           {"summary", summary_json(report)},
           {"breakdown_fields", json::array()}, {"rows", json::array()}};
  for (const ReportFile& file : report.files) out["files"].push_back(file_json(file));
  for (const auto& [name, field] : breakdown_fields) out["breakdown_fields"].push_back(name);
  Shared shared{std::clamp(most_ranks_in_all / std::max<std::size_t>(1, report.rows.size()), least_ranks, most_ranks)};
  for (const ReportRow& row : report.rows) out["rows"].push_back(row_json(report, row, shared));
  out["panels"] = shared.panels.all();
  out["references"] = shared.references.all();
  return out;
}

}  // namespace parabench::results
