// Writes records; record_read.cpp is the inverse.
#include "results/record_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/breakdown_json.h"
#include "base/canary_json.h"
#include "base/case_json.h"
#include "base/case_text.h"
#include "base/json_null.h"

namespace parabench::results {
namespace {

using nlohmann::json;

json to_json(const MemoryUsage& memory) {
  json out;
  for (const MemoryCategory category : enum_values<MemoryCategory>) {
    out[std::string(to_text(category))] = memory[category];
  }
  out["total_counted"] = memory.total_counted();
  out["resident"] = null_if_zero(memory.resident);
  out["reserved"] = null_if_zero(memory.reserved);
  out["device_used"] = null_if_zero(memory.device_used);
  return out;
}

json to_json(const StepTime& time) {
  return {
      {"samples", time.samples}, {"median", time.median}, {"p10", time.p10}, {"p90", time.p90}, {"ci95", time.ci95}};
}

json to_json(const std::optional<StepTimeline>& timeline) {
  if (!timeline) return nullptr;
  json ranks = json::array();
  for (const auto& rank : timeline->ranks) {
    json one{{"actions", json::array()}, {"begin_s", json::array()}, {"end_s", json::array()}};
    for (const TimedAction& action : rank) {
      one["actions"].push_back(action.action);
      one["begin_s"].push_back(action.begin_s);
      one["end_s"].push_back(action.end_s);
    }
    ranks.push_back(std::move(one));
  }
  return {{"first_step", timeline->first_step}, {"last_step", timeline->last_step}, {"ranks", std::move(ranks)}};
}

json to_json(const LastOperation& last) {
  return {{"rank", last.rank.value}, {"host", last.host}, {"operation", null_if_empty(last.operation)}};
}

json to_json(const std::optional<Baseline>& baseline) {
  if (!baseline) return nullptr;
  return {{"id", baseline->id}, {"speedup", baseline->speedup}, {"efficiency", baseline->efficiency}};
}

json to_json(const RankPredicted& rank) {
  return {{"rank", rank.rank.value},
          {"peak_memory_bytes", to_json(rank.peak_memory)},
          {"breakdown_s", parabench::to_json(rank.breakdown_s)}};
}

json to_json(const StepParts& parts) {
  json out{{"rank", parts.rank.value}};
  for (const auto& [name, part] : time_part_fields) out[std::string(name)] = parts.seconds.*part;
  return out;
}

json to_json(const Term& term) {
  return {{"name", term.name},
          {"value", term.value},
          {"unit", term.unit},
          {"formula", term.formula},
          {"source", term.source},
          {"cost_source", term.cost_source},
          {"date", null_if_empty(term.date)}};
}

json to_json(const Arithmetic& arithmetic) {
  const auto name = [](const std::optional<Precision>& precision) {
    return precision ? json(to_text(*precision)) : json();
  };
  return {{"parameters", name(arithmetic.parameters)},
          {"autocast", name(arithmetic.autocast)},
          {"matmul", to_text(arithmetic.matmul)},
          {"convolution", to_text(arithmetic.convolution)},
          {"note", null_if_empty(arithmetic.note)}};
}

json to_json(const PredictionError& error) {
  json breakdown;
  for (const auto& [name, field] : breakdown_fields) {
    json& per_rank = breakdown[std::string(name)] = json::array();
    for (const Breakdown& rank : error.breakdown_s) per_rank.push_back(rank.*field);
  }
  const auto& floor = error.noise_floor;
  const auto& adjusted = error.adjusted;
  return {{"step_time_relative", error.step_time_relative},
          {"adjusted_step_time_relative", adjusted ? json(adjusted->relative) : json()},
          {"adjusted_exponent", adjusted ? json(adjusted->exponent) : json()},
          {"paired_step_time_relative", null_if_absent(error.paired_step_time_relative)},
          {"noise_floor_relative", floor ? json(floor->relative) : json()},
          {"noise_floor_of", floor ? json(floor->of_launches ? "launches" : "calibration") : json()},
          {"peak_memory_relative", error.peak_memory_relative},
          {"resident_memory_relative", error.resident_memory_relative},
          {"breakdown_s", std::move(breakdown)}};
}

template <class T>
json list(const std::vector<T>& items) {
  json out = json::array();
  for (const T& item : items) out.push_back(to_json(item));
  return out;
}

/// Nulls every number that is not finite and names their places: ", /measured/losses/3".
void null_non_finite(json& value, const json::json_pointer& at, std::string& places) {
  if (value.is_structured()) {
    for (const auto& item : value.items()) {
      null_non_finite(item.value(), value.is_array() ? at / std::stoul(item.key()) : at / item.key(), places);
    }
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    value = nullptr;
    places += ", " + at.to_string();
  }
}

}  // namespace

json to_json(const Equivalence& equivalence) {
  const auto& batch = equivalence.reference_batch;
  return {{"status", to_text(equivalence.status)},
          {"reason", null_if_empty(equivalence.reason)},
          {"reference", equivalence.reference},
          {"reference_batch", batch ? json(to_text(*batch)) : json()},
          {"steps", equivalence.steps},
          {"every", null_if_absent(equivalence.every)},
          {"max_relative_update_difference", null_if_absent(equivalence.max_relative_update_difference)},
          {"tolerance", equivalence.tolerance},
          {"tensors_left_out", equivalence.tensors_left_out},
          {"worst_parameter", null_if_empty(equivalence.worst_parameter)},
          {"max_relative_buffer_difference", null_if_absent(equivalence.max_relative_buffer_difference)},
          {"loss_agrees", null_if_absent(equivalence.loss_agrees)},
          {"loss_tolerance", equivalence.loss_tolerance},
          {"reference_losses", equivalence.reference_losses}};
}

json to_json(const FiredTasks& tasks) {
  return {{"per_step", tasks.per_step},
          {"median_s", tasks.median_s},
          {"empty_s", tasks.empty_s},
          {"early_share", tasks.early_share}};
}

json to_json(const WorkerSteps& steps) { return {{"taken_share", steps.taken}, {"too_late_share", steps.too_late}}; }

json to_json(const RankMeasured& rank) {
  json out{{"rank", rank.rank.value},
           {"host", rank.host},
           {"device", rank.device},
           {"cpuset", rank.cpuset},
           {"peak_memory_bytes", to_json(rank.peak_memory)},
           {"breakdown_s", rank.breakdown_s ? parabench::to_json(*rank.breakdown_s) : json()},
           {"bytes_sent", rank.bytes_sent},
           {"bytes_received", rank.bytes_received},
           {"bus_bandwidth_bytes_per_s", null_if_absent(rank.bus_bandwidth_bytes_per_s)},
           {"steps", rank.steps ? to_json(*rank.steps) : json()},
           {"tasks", rank.tasks ? to_json(*rank.tasks) : json()}};
  if (rank.arithmetic) out["arithmetic"] = to_json(*rank.arithmetic);
  return out;
}

json to_json(const PairedRound& round) {
  json out = {{"predicted_step_time_s", round.predicted_step_time_s},
              {"measured_step_time_s", round.measured_step_time_s}};
  if (round.breakdown_s) {
    out["predicted_breakdown_s"] = parabench::to_json(round.breakdown_s->predicted);
    out["measured_breakdown_s"] = parabench::to_json(round.breakdown_s->measured);
  }
  return out;
}

json to_json(const Measured& measured) {
  const auto& isolated = measured.isolated_step_time_s;
  return {{"step_time_s", to_json(measured.step_time_s)},
          {"isolated_step_time_s", isolated ? to_json(*isolated) : json()},
          {"throughput_samples_per_s", measured.throughput_samples_per_s},
          {"achieved_flops_per_s", measured.achieved_flops_per_s},
          {"losses", measured.losses},
          {"sync", false},  // no barrier stands between the steps of step_time_s
          {"warmup_steps", measured.warmup_steps},
          {"reduction", null_if_empty(measured.reduction)},
          {"mpi_settings", null_if_empty(measured.mpi_settings)},
          {"stopped_by", measured.stopped_by ? json(to_text(*measured.stopped_by)) : json()},
          {"baseline", to_json(measured.baseline)},
          {"ranks", list(measured.ranks)},
          {"canary", parabench::to_json(measured.canaries)},
          {"timeline", to_json(measured.timeline)}};
}

json to_json(const LaunchesBehind& behind) {
  return {{"launches", behind.launches},
          {"first_date", behind.first_date},
          {"last_date", behind.last_date},
          {"spread_relative", null_if_absent(behind.spread)}};
}

json to_json(const Predicted& predicted) {
  return {{"step_time_s", predicted.step_time_s},
          {"isolated_step_time_s", null_if_absent(predicted.isolated_step_time_s)},
          {"throughput_samples_per_s", predicted.throughput_samples_per_s},
          {"interval_s", predicted.interval_s},
          {"ranks", list(predicted.ranks)},
          {"step_parts_s", predicted.step_parts ? to_json(*predicted.step_parts) : json()},
          {"terms", list(predicted.terms)},
          {"canary_matrix_product_s", null_if_absent(predicted.canary_matrix_product_s)},
          {"calibrated_by", predicted.calibrated_by ? to_json(*predicted.calibrated_by) : json()},
          {"method", "simulated"},  // closed forms are second opinions
          {"second_opinion_step_time_s", predicted.second_opinion_step_time_s},
          {"broken_assumptions", predicted.broken_assumptions},
          {"timeline", to_json(predicted.timeline)}};
}

json to_json(const Record& record) {
  json out{{"id", record.id},
           {"parameters", parameters_json(record.parameters)},
           {"plan", nullptr},
           {"status", to_text(record.status)},
           {"reason", nullptr},
           {"equivalence", to_json(record.equivalence)},
           {"measured", record.measured ? to_json(*record.measured) : json()},
           {"predicted", record.predicted ? to_json(*record.predicted) : json()},
           {"error", record.error ? to_json(*record.error) : json()},
           {"paired", list(record.paired)},
           {"paired_canary", record.paired_canary ? parabench::to_json(*record.paired_canary) : json()},
           {"earlier_failures", record.earlier_failures},
           {"last_operations", list(record.last_operations)},
           {"emulate", null_if_empty(record.emulate)},
           {"launch", null_if_empty(record.launch)},
           {"reproduce", record.reproduce}};
  if (record.plan) {
    out["plan"] = {{"hash", record.plan->hash}, {"partition", record.plan->partition}};
    if (!record.plan->replicas.empty()) out["plan"]["replicas"] = record.plan->replicas;
  }
  std::string places;
  null_non_finite(out, json::json_pointer(), places);
  std::string reason = record.reason;
  // A record that was read back has its nulls explained already.
  if (!places.empty() && reason.find("not finite") == std::string::npos) {
    reason += (reason.empty() ? "not finite: " : "; not finite: ") + places.substr(2);
  }
  out["reason"] = null_if_empty(reason);
  return out;
}

}  // namespace parabench::results
