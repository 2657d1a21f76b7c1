// Reads what record_json.cpp writes. The schema is checked first: it knows more than types.
#include "results/record_read.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/breakdown_json.h"
#include "base/canary_json.h"
#include "base/case_json.h"
#include "base/case_text.h"
#include "results/validate.h"

namespace parabench::results {
namespace {

/// A number, or null for one that is not finite.
double real(const JsonReader& value) {
  return value.as<std::optional<double>>().value_or(std::numeric_limits<double>::quiet_NaN());
}

double real(const JsonReader& object, std::string_view key) { return real(object.at(key)); }

std::vector<double> reals(const JsonReader& values) {
  std::vector<double> out;
  for (const JsonReader& value : values.items()) out.push_back(real(value));
  return out;
}

std::pair<double, double> interval(const JsonReader& value) {
  const std::vector<double> ends = reals(value);
  return {ends.at(0), ends.at(1)};
}

/// A text; null is "".
std::string text(const JsonReader& object, std::string_view key) { return object.find<std::string>(key).value_or(""); }

template <class T, class Read>
std::vector<T> list(const JsonReader& values, Read read) {
  std::vector<T> out;
  for (const JsonReader& value : values.items()) out.push_back(read(value));
  return out;
}

MemoryUsage memory(const JsonReader& value) {
  MemoryUsage out;
  for (const MemoryCategory category : enum_values<MemoryCategory>) {
    out[category] = value.get<std::int64_t>(to_text(category));
  }
  // Files of schema 1.0 know no GPU.
  out.resident = value.find<std::int64_t>("resident").value_or(0);
  out.reserved = value.find<std::int64_t>("reserved").value_or(0);
  out.device_used = value.find<std::int64_t>("device_used").value_or(0);
  return out;
}

Equivalence equivalence(const JsonReader& value) {
  Equivalence out;
  out.status = value.get<EquivalenceStatus>("status");
  out.reason = text(value, "reason");
  out.reference = value.get<std::string>("reference");
  // Files of schema 1.5 and before do not know it.
  out.reference_batch = value.find<ReferenceBatch>("reference_batch");
  out.steps = value.get<int>("steps");
  out.every = value.find<int>("every");
  out.max_relative_update_difference = value.find<double>("max_relative_update_difference");
  out.tolerance = value.get<double>("tolerance");
  out.tensors_left_out = value.find<int>("tensors_left_out").value_or(0);
  out.worst_parameter = text(value, "worst_parameter");
  out.max_relative_buffer_difference = value.find<double>("max_relative_buffer_difference");
  out.loss_agrees = value.find<bool>("loss_agrees");
  out.loss_tolerance = value.get<double>("loss_tolerance");
  out.reference_losses = reals(value.at("reference_losses"));
  return out;
}

StepTime step_time(const JsonReader& value) {
  return {list<std::vector<double>>(value.at("samples"), reals), real(value, "median"), real(value, "p10"),
          real(value, "p90"), interval(value.at("ci95"))};
}

Arithmetic arithmetic(const JsonReader& value) {
  return {value.find<Precision>("parameters"), value.find<Precision>("autocast"), value.get<Precision>("matmul"),
          value.get<Precision>("convolution"), text(value, "note")};
}

/// Files of schema 1.6 and before have none.
std::optional<StepTimeline> timeline(const JsonReader& holder) {
  if (!holder.has("timeline")) return std::nullopt;
  const JsonReader value = holder.at("timeline");
  StepTimeline out{value.get<int>("first_step"), value.get<int>("last_step"), {}};
  for (const JsonReader& rank : value.at("ranks").items()) {
    const auto texts = rank.get<std::vector<std::string>>("actions");
    const auto begins = reals(rank.at("begin_s")), ends = reals(rank.at("end_s"));
    if (begins.size() != texts.size() || ends.size() != texts.size())
      throw rank.error("as many actions as begins and ends");
    auto& actions = out.ranks.emplace_back();
    for (std::size_t i = 0; i < texts.size(); ++i) actions.push_back({texts[i], begins[i], ends[i]});
  }
  return out;
}

LastOperation last_operation(const JsonReader& value) {
  return {value.get<Rank>("rank"), value.get<std::string>("host"), text(value, "operation")};
}

RankMeasured rank_measured(const JsonReader& value) {
  RankMeasured out;
  out.rank = value.get<Rank>("rank");
  out.host = value.get<std::string>("host");
  out.device = value.get<std::string>("device");
  out.cpuset = value.get<std::string>("cpuset");
  out.peak_memory = memory(value.at("peak_memory_bytes"));
  if (value.has("breakdown_s")) out.breakdown_s = breakdown_from_json(value.at("breakdown_s"));
  out.bytes_sent = value.get<std::int64_t>("bytes_sent");
  out.bytes_received = value.get<std::int64_t>("bytes_received");
  // Files of schema 1.1 and before know neither.
  out.bus_bandwidth_bytes_per_s = value.find<double>("bus_bandwidth_bytes_per_s");
  if (value.has("arithmetic")) out.arithmetic = arithmetic(value.at("arithmetic"));
  // Files of schema 1.10 and before do not know it.
  if (value.has("steps")) {
    const JsonReader steps = value.at("steps");
    out.steps = WorkerSteps{real(steps, "taken_share"), real(steps, "too_late_share")};
  }
  // Files of schema 1.9 and before do not know it.
  if (value.has("tasks")) {
    const JsonReader tasks = value.at("tasks");
    out.tasks = FiredTasks{real(tasks, "per_step"), real(tasks, "median_s"), real(tasks, "empty_s"),
                           real(tasks, "early_share")};
  }
  return out;
}

Measured measured(const JsonReader& value) {
  Measured out;
  out.step_time_s = step_time(value.at("step_time_s"));
  // Files of schema 1.2 and before do not know it.
  if (value.has("isolated_step_time_s")) out.isolated_step_time_s = step_time(value.at("isolated_step_time_s"));
  out.throughput_samples_per_s = real(value, "throughput_samples_per_s");
  out.achieved_flops_per_s = real(value, "achieved_flops_per_s");
  out.losses = reals(value.at("losses"));
  out.warmup_steps = value.get<int>("warmup_steps");
  if (value.has("baseline")) {
    const JsonReader base = value.at("baseline");
    out.baseline = Baseline{base.get<std::string>("id"), real(base, "speedup"), real(base, "efficiency")};
  }
  out.ranks = list<RankMeasured>(value.at("ranks"), rank_measured);
  // Files of schema 1.6 and before do not know it.
  out.stopped_by = value.find<StopReason>("stopped_by");
  out.reduction = text(value, "reduction");
  out.mpi_settings = text(value, "mpi_settings");
  out.timeline = timeline(value);
  // Files of schema 1.11 and before do not know it.
  out.canaries = canaries_in(value);
  return out;
}

RankPredicted rank_predicted(const JsonReader& value) {
  return {value.get<Rank>("rank"), memory(value.at("peak_memory_bytes")), breakdown_from_json(value.at("breakdown_s"))};
}

StepParts step_parts(const JsonReader& value) {
  StepParts out{value.get<Rank>("rank"), {}};
  for (const auto& [name, part] : time_part_fields) out.seconds.*part = real(value, name);
  return out;
}

Term term(const JsonReader& value) {
  return {value.get<std::string>("name"),
          real(value, "value"),
          value.get<std::string>("unit"),
          value.get<std::string>("formula"),
          value.get<std::string>("source"),
          value.get<std::string>("cost_source"),
          value.find<std::string>("date").value_or("")};  // unknown to files of schema 1.11
}

LaunchesBehind launches_behind(const JsonReader& value) {
  return {value.get<int>("launches"), value.get<std::string>("first_date"), value.get<std::string>("last_date"),
          value.find<double>("spread_relative")};
}

Predicted predicted(const JsonReader& value) {
  Predicted out;
  out.step_time_s = real(value, "step_time_s");
  out.isolated_step_time_s = value.find<double>("isolated_step_time_s");
  out.throughput_samples_per_s = real(value, "throughput_samples_per_s");
  out.interval_s = interval(value.at("interval_s"));
  out.ranks = list<RankPredicted>(value.at("ranks"), rank_predicted);
  // Files of schema 1.5 and before do not know it.
  if (value.has("step_parts_s")) out.step_parts = step_parts(value.at("step_parts_s"));
  out.terms = list<Term>(value.at("terms"), term);
  out.canary_matrix_product_s = value.find<double>("canary_matrix_product_s");  // unknown to files of schema 1.11
  if (value.has("calibrated_by")) out.calibrated_by = launches_behind(value.at("calibrated_by"));  // and of 1.12
  for (const auto& [name, seconds] : value.at("second_opinion_step_time_s").members()) {
    out.second_opinion_step_time_s[name] = real(seconds);
  }
  if (value.has("broken_assumptions"))  // unknown to files of schema 1.15
    out.broken_assumptions = value.get<std::map<std::string, std::vector<std::string>>>("broken_assumptions");
  out.timeline = timeline(value);
  return out;
}

PredictionError prediction_error(const JsonReader& value) {
  PredictionError out;
  out.step_time_relative = real(value, "step_time_relative");
  // Files of schema 1.11 and before know none of the three.
  if (value.has("adjusted_step_time_relative"))
    out.adjusted = AdjustedError{real(value, "adjusted_step_time_relative"), real(value, "adjusted_exponent")};
  out.paired_step_time_relative = value.find<double>("paired_step_time_relative");
  if (value.has("noise_floor_relative"))
    out.noise_floor = NoiseFloor{real(value, "noise_floor_relative"), text(value, "noise_floor_of") == "launches"};
  out.peak_memory_relative = reals(value.at("peak_memory_relative"));
  if (value.has("resident_memory_relative"))  // unknown to files of schema 1.13
    out.resident_memory_relative = reals(value.at("resident_memory_relative"));
  const JsonReader parts = value.at("breakdown_s");
  for (const auto& [name, field] : breakdown_fields) {
    const std::vector<double> per_rank = reals(parts.at(name));
    out.breakdown_s.resize(std::max(out.breakdown_s.size(), per_rank.size()));
    for (std::size_t rank = 0; rank < per_rank.size(); ++rank) out.breakdown_s[rank].*field = per_rank[rank];
  }
  return out;
}

PairedRound paired_round(const JsonReader& value) {
  PairedRound out{real(value, "predicted_step_time_s"), real(value, "measured_step_time_s")};
  // Files of schema 1.14 and before know neither.
  if (value.has("predicted_breakdown_s"))
    out.breakdown_s = {breakdown_from_json(value.at("predicted_breakdown_s")),
                       breakdown_from_json(value.at("measured_breakdown_s"))};
  return out;
}

PlanSummary plan_summary(const JsonReader& value) {
  return {value.get<std::string>("hash"), value.get<std::vector<int>>("partition"),
          value.find<std::vector<int>>("replicas").value_or(std::vector<int>())};
}

}  // namespace

Equivalence equivalence_from_json(const JsonReader& value) {
  require_valid(value, "equivalence");
  return equivalence(value);
}

RankMeasured rank_measured_from_json(const JsonReader& value) { return rank_measured(value); }

Measured measured_from_json(const JsonReader& value) {
  require_valid(value, "measured");
  return measured(value);
}

Predicted predicted_from_json(const JsonReader& value) {
  require_valid(value, "predicted");
  return predicted(value);
}

Record record_from_json(const JsonReader& value) {
  require_valid(value, "record");
  return record_from_valid_json(value);
}

Record record_from_valid_json(const JsonReader& value) {
  Record out;
  out.id = value.get<std::string>("id");
  out.parameters = case_from_json(value.at("parameters"));
  if (value.has("plan")) out.plan = plan_summary(value.at("plan"));
  out.status = value.get<Status>("status");
  out.reason = text(value, "reason");
  out.equivalence = equivalence(value.at("equivalence"));
  if (value.has("measured")) out.measured = measured(value.at("measured"));
  if (value.has("predicted")) out.predicted = predicted(value.at("predicted"));
  if (value.has("error")) out.error = prediction_error(value.at("error"));
  // Files of schema 1.11 and before know neither.
  if (value.has("paired")) out.paired = list<PairedRound>(value.at("paired"), paired_round);
  if (value.has("paired_canary")) out.paired_canary = canary_from_json(value.at("paired_canary"));
  // Files of schema 1.6 and before know none of the three.
  out.earlier_failures = value.find<std::vector<std::string>>("earlier_failures").value_or(std::vector<std::string>());
  if (value.has("last_operations"))
    out.last_operations = list<LastOperation>(value.at("last_operations"), last_operation);
  out.emulate = text(value, "emulate");
  out.launch = text(value, "launch");
  out.reproduce = value.get<std::string>("reproduce");
  return out;
}

}  // namespace parabench::results
