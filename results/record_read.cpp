// Reads what record_json.cpp writes. The schema is checked first, so every field below is there with its type.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/case_json.h"
#include "base/case_text.h"
#include "results/record.h"
#include "results/validate.h"

namespace parabench {
namespace {

using nlohmann::json;

double real(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<double> reals(const json& values) {
  std::vector<double> out;
  for (const json& value : values) out.push_back(real(value));
  return out;
}

std::pair<double, double> interval(const json& value) { return {real(value[0]), real(value[1])}; }

std::string text(const json& value) { return value.is_null() ? "" : value.get<std::string>(); }

template <class T>
std::optional<T> optional(const json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

template <class T, class Read>
std::vector<T> list(const json& values, Read read) {
  std::vector<T> out;
  for (const json& value : values) out.push_back(read(value));
  return out;
}

Breakdown breakdown(const json& value) {
  Breakdown out;
  for (const auto& [name, field] : breakdown_fields) out.*field = real(value[std::string(name)]);
  return out;
}

MemoryUsage memory(const json& value) {
  MemoryUsage out;
  for (int i = 0; i < memory_category_count; ++i) {
    out[static_cast<MemoryCategory>(i)] = value[std::string(memory_category_names[i])].get<std::int64_t>();
  }
  // Files of schema 1.0 know no GPU.
  const auto figure = [&](const char* name) { return optional<std::int64_t>(value.value(name, json())).value_or(0); };
  out.resident = figure("resident");
  out.reserved = figure("reserved");
  out.device_used = figure("device_used");
  return out;
}

Equivalence equivalence(const json& value) {
  Equivalence out;
  out.status = parse_enum<EquivalenceStatus>("status", value["status"].get<std::string>());
  out.reason = text(value["reason"]);
  out.reference = value["reference"];
  // Files of schema 1.5 and before do not know it.
  if (const json batch = value.value("reference_batch", json()); !batch.is_null())
    out.reference_batch = parse_enum<ReferenceBatch>("reference_batch", batch.get<std::string>());
  out.steps = value["steps"];
  out.max_relative_update_difference = optional<double>(value["max_relative_update_difference"]);
  out.tolerance = value["tolerance"];
  out.worst_parameter = text(value["worst_parameter"]);
  out.max_relative_buffer_difference = optional<double>(value["max_relative_buffer_difference"]);
  out.loss_agrees = optional<bool>(value["loss_agrees"]);
  out.loss_tolerance = value["loss_tolerance"];
  out.reference_losses = reals(value["reference_losses"]);
  return out;
}

StepTime step_time(const json& value) {
  return {list<std::vector<double>>(value["samples"], reals), real(value["median"]), real(value["p10"]),
          real(value["p90"]), interval(value["ci95"])};
}

Precision precision(const json& value) { return parse_enum<Precision>("precision", value.get<std::string>()); }

Arithmetic arithmetic(const json& value) {
  const auto or_none = [](const json& name) { return name.is_null() ? std::nullopt : std::optional(precision(name)); };
  return {or_none(value["parameters"]), or_none(value["autocast"]), precision(value["matmul"]),
          precision(value["convolution"]), text(value["note"])};
}

RankMeasured rank_measured(const json& value) {
  RankMeasured out{
      value["rank"], value["host"],       value["device"],        value["cpuset"], memory(value["peak_memory_bytes"]),
      std::nullopt,  value["bytes_sent"], value["bytes_received"]};
  if (const json& parts = value["breakdown_s"]; !parts.is_null()) out.breakdown_s = breakdown(parts);
  // Files of schema 1.1 and before know neither.
  if (value.contains("bus_bandwidth_bytes_per_s"))
    out.bus_bandwidth_bytes_per_s = optional<double>(value["bus_bandwidth_bytes_per_s"]);
  if (value.contains("arithmetic")) out.arithmetic = arithmetic(value["arithmetic"]);
  return out;
}

Measured measured(const json& value) {
  Measured out;
  out.step_time_s = step_time(value["step_time_s"]);
  // Files of schema 1.2 and before do not know it.
  if (value.contains("isolated_step_time_s") && !value["isolated_step_time_s"].is_null())
    out.isolated_step_time_s = step_time(value["isolated_step_time_s"]);
  out.throughput_samples_per_s = real(value["throughput_samples_per_s"]);
  out.achieved_flops_per_s = real(value["achieved_flops_per_s"]);
  out.losses = reals(value["losses"]);
  out.warmup_steps = value["warmup_steps"];
  if (const json& base = value["baseline"]; !base.is_null()) {
    out.baseline = Baseline{base["id"], real(base["speedup"]), real(base["efficiency"])};
  }
  out.ranks = list<RankMeasured>(value["ranks"], rank_measured);
  return out;
}

RankPredicted rank_predicted(const json& value) {
  return {value["rank"], memory(value["peak_memory_bytes"]), breakdown(value["breakdown_s"])};
}

Term term(const json& value) {
  return {value["name"], real(value["value"]), value["unit"], value["formula"], value["source"], value["cost_source"]};
}

Predicted predicted(const json& value) {
  Predicted out;
  out.step_time_s = real(value["step_time_s"]);
  if (value.contains("isolated_step_time_s"))
    out.isolated_step_time_s = optional<double>(value["isolated_step_time_s"]);
  out.throughput_samples_per_s = real(value["throughput_samples_per_s"]);
  out.interval_s = interval(value["interval_s"]);
  out.ranks = list<RankPredicted>(value["ranks"], rank_predicted);
  out.terms = list<Term>(value["terms"], term);
  for (const auto& [name, seconds] : value["second_opinion_step_time_s"].items()) {
    out.second_opinion_step_time_s[name] = real(seconds);
  }
  return out;
}

PredictionError prediction_error(const json& value) {
  PredictionError out{real(value["step_time_relative"]), reals(value["peak_memory_relative"]), {}};
  for (const auto& [name, field] : breakdown_fields) {
    const std::vector<double> per_rank = reals(value["breakdown_s"][std::string(name)]);
    out.breakdown_s.resize(std::max(out.breakdown_s.size(), per_rank.size()));
    for (std::size_t rank = 0; rank < per_rank.size(); ++rank) out.breakdown_s[rank].*field = per_rank[rank];
  }
  return out;
}

}  // namespace

Arithmetic arithmetic_from_json(const json& value) {
  require_valid("arithmetic", value, "arithmetic");
  return arithmetic(value);
}

Equivalence equivalence_from_json(const json& value) {
  require_valid("equivalence", value, "equivalence");
  return equivalence(value);
}

Measured measured_from_json(const json& value) {
  require_valid("measured", value, "measured");
  return measured(value);
}

Predicted predicted_from_json(const json& value) {
  require_valid("predicted", value, "predicted");
  return predicted(value);
}

Record record_from_json(const json& value) {
  require_valid("record", value, "record");
  Record out;
  out.id = value["id"];
  out.parameters = case_from_json(value["parameters"]);
  if (const json& plan = value["plan"]; !plan.is_null()) {
    out.plan = PlanSummary{plan["hash"], plan["partition"], plan.value("replicas", std::vector<int>())};
  }
  out.status = parse_enum<Status>("status", value["status"].get<std::string>());
  out.reason = text(value["reason"]);
  out.equivalence = equivalence(value["equivalence"]);
  if (!value["measured"].is_null()) out.measured = measured(value["measured"]);
  if (!value["predicted"].is_null()) out.predicted = predicted(value["predicted"]);
  if (!value["error"].is_null()) out.error = prediction_error(value["error"]);
  out.reproduce = value["reproduce"];
  return out;
}

}  // namespace parabench
