#include "suite/run/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "analytic/calibration/launches_behind.h"
#include "analytic/calibration/measurements.h"
#include "analytic/calibration/profile.h"
#include "analytic/calibration/scope.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/costs/spread_times.h"
#include "analytic/costs/tensor_times.h"
#include "analytic/hardware/hardware.h"
#include "analytic/memory/fit_memory.h"
#include "analytic/simulate/predict.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/validate.h"
#include "suite/protocol/command.h"
#include "suite/run/hosts_option.h"

namespace parabench::suite {
namespace {

struct AskedSteps {
  int warmup, steps;
};

/// The case with all ranks that its own stand for.
Case all_ranks(const Subject& subject) {
  Case spec = subject.spec;
  spec.np *= subject.tensor;
  spec.tp = subject.tensor;
  return spec;
}

/// Of the subject's ranks as they are, on `machine`.
analytic::Costs costs_on(const analytic::MachineInfo& machine, const Subject& subject, const analytic::Sizes& sizes,
                         const Knowledge& knowledge, const std::string& cost_source,
                         const std::optional<analytic::WhatIf>& what_if) {
  const bool by_sheet = cost_source == "data-sheet";
  analytic::Costs costs;
  if (by_sheet) {
    const analytic::RateFactors faster = what_if ? what_if->device : analytic::RateFactors{};
    const bool placed =
        subject.spec.device == DeviceKind::cpu && subject.tensor == 1 && !is_spread(knowledge, subject.spec);
    costs = placed ? analytic::data_sheet_costs(machine, sizes, faster)
                   : analytic::data_sheet_costs_of(all_ranks(subject), machine, sizes, faster, knowledge.machine);
  } else {
    costs = cost_source == "unit" ? analytic::unit_costs(*knowledge.emulated.unit_s)
                                  : analytic::calibrated_costs(*knowledge.calibration, sizes);
  }
  if (is_emulated(subject.spec)) {
    costs.time = analytic::exclusive_times(std::move(costs.time));
    if (const auto& link = knowledge.emulated.link)
      costs.time = analytic::over_link(std::move(costs.time), *link, sizes);
  }
  if (what_if)
    costs.time =
        analytic::changed_times(std::move(costs.time), by_sheet ? analytic::links_alone(*what_if) : *what_if, sizes);
  return costs;
}

analytic::Costs make_costs_of(const Subject& subject, const analytic::Sizes& sizes, const Knowledge& knowledge,
                              const std::string& cost_source, const std::optional<analytic::WhatIf>& what_if = {}) {
  // The sheet itself is that of the other machine, but for its links.
  const analytic::MachineInfo machine =
      what_if ? analytic::changed_machine(*what_if, knowledge.machine) : knowledge.machine;
  const auto costs_by = [&](const analytic::MachineInfo& on) {
    return costs_on(on, subject, sizes, knowledge, cost_source, what_if);
  };
  if (subject.tensor == 1) return costs_by(machine);
  analytic::MachineInfo of_shards = machine;
  of_shards.tensor_ranks = subject.tensor;
  analytic::Costs costs = costs_by(of_shards);
  costs.time =
      analytic::tensor_times(std::move(costs.time), costs_by(machine).time, subject.spec, sizes, subject.tensor);
  return costs;
}

/// The plan with its stages cut by what is known best; recompute:auto is not decided yet.
plan::Plan make_plan_of(const Subject& subject, const analytic::Sizes& sizes, const Knowledge& knowledge,
                        const AskedSteps& asked) {
  plan::check_case(subject.spec, subject.model, subject.given.get());
  const Placement placement = placement_of(knowledge, subject.spec);
  const plan::Profile profile = profile_of(subject, sizes, knowledge);
  const auto plan_of = [&](int steps) {
    plan::Plan plan = plan::make_plan(subject.spec, subject.model, profile, steps, subject.given.get());
    plan.placement = placement;
    return plan;
  };
  const int window = plan::discarded_steps(subject.spec, asked.warmup) + asked.steps;
  plan::Plan plan = plan_of(window);
  if (!plan.asynchronous) return plan;
  // Its window holds whole rounds, and the steps that verify wants.
  const int needed = std::max(plan::window(plan, asked.warmup, asked.steps).steps(), plan::equivalence_steps(plan));
  return needed <= window ? plan : plan_of(needed);
}

/// What the calibration's launches tell of a prediction: the date of its calibrated terms, which are as old as the
/// newest launch behind the case's layers, and where that is not known as the newest of all. On this processor or GPU
/// also the interval that launches widen: as if the whole machine were slower, or faster, by 1.96 of the deviations
/// between them. What emulated devices sleep for is what the calibration says.
void add_launches_behind(Predicted& predicted, const Subject& subject, const analytic::Sizes& sizes,
                         const Knowledge& knowledge, const plan::Plan& plan) {
  const analytic::Calibration& calibration = *knowledge.calibration;
  const auto rows = analytic::layer_rows(calibration, sizes, plan);
  const std::optional<LaunchesBehind> behind = analytic::launches_behind(calibration, rows);
  for (Term& term : predicted.terms)
    if (term.cost_source == "calibrated") term.date = behind ? behind->last_date : calibration.date;
  if (is_emulated(subject.spec)) return;
  predicted.canary_matrix_product_s = analytic::calibrated_matrix_product(calibration, rows, plan.spec.np);
  predicted.calibrated_by = behind;
  if (!predicted.calibrated_by || !predicted.calibrated_by->spread) return;
  const double half = 1.96 * *predicted.calibrated_by->spread * predicted.step_time_s;
  auto& [low, high] = predicted.interval_s;
  low = std::max(0.0, std::min(low, predicted.step_time_s - half));
  high = std::max(high, predicted.step_time_s + half);
}

/// The segments whose forwards run again.
std::vector<bool> recomputed_segments(const plan::Plan& plan) {
  std::vector<bool> chosen(plan.segments.size());
  for (const plan::RankProgram& rank : plan.ranks) {
    for (const plan::Op& op : rank.compute())
      if (op.kind == plan::OpKind::recompute) chosen[op.segment.value] = true;
  }
  return chosen;
}

/// Which reductions were measured on other numbers of hosts alone; "" for none.
std::string derived_sums(const analytic::Calibration& calibration, const Case& spec,
                         const analytic::CalibrationScope& scope) {
  for (const GroupShape& shape : scope.groups) {
    if (analytic::find_reduction_curve(calibration, spec, shape)) continue;
    const auto similar = analytic::similar_shape(calibration, spec, shape);
    if (similar)
      return fmt::format("sums among {} were not measured: those among {} are scaled by their rounds and bytes",
                         to_text(shape), to_text(*similar));
  }
  return "";
}

/// Which collectives of shares half an all-reduce stands for; "" for none.
std::string halved_sums(const analytic::Calibration& calibration, const Case& spec,
                        const analytic::CalibrationScope& scope) {
  for (const auto& [collective, shape] : scope.shares)
    if (!analytic::find_share_curve(calibration, spec, collective, shape))
      return fmt::format("{} among {} were not measured: half an all-reduce stands for each",
                         collective == plan::OpKind::reduce_scatter ? "reduce-scatters" : "all-gathers",
                         to_text(shape));
  return "";
}

/// Which messages were measured among other numbers of ranks alone; "" for none. Emulated devices, which have no
/// communicator of their own, borrow all of theirs.
std::string borrowed_messages(const analytic::Calibration& calibration, const Case& spec,
                              const analytic::CalibrationScope& scope) {
  if (is_emulated(spec)) return "";
  for (const analytic::MessagePair& pair : scope.messages)
    if (!calibration.point_to_point.contains(analytic::message_key(spec, pair.between_hosts)))
      return fmt::format("messages {} among {} ranks were not measured: those among others stand in",
                         pair.between_hosts ? "between hosts" : "within a host", spec.np);
  return "";
}

/// What stands in for something that the calibration lacks, the first that there is; empty where it has all.
std::string gap_of(const analytic::Calibration& calibration, const analytic::Sizes& sizes, const plan::Plan& plan) {
  if (plan::uses(plan, plan::OpKind::backward_input) &&
      !analytic::has_split_layers(calibration, sizes, plan.spec, plan.placement))
    return "split backwards were not measured: their FLOPs divide the measured backward";
  if (!analytic::has_pass_bytes(calibration, sizes, plan))
    return "memory of passes that add to gradients, or of split backwards, was not measured: that of whole backwards "
           "that start gradients stands in, which is no less";
  const analytic::CalibrationScope scope = analytic::calibration_scope(plan);
  for (const auto& lack : {derived_sums, halved_sums, borrowed_messages})
    if (std::string text = lack(calibration, plan.spec, scope); !text.empty()) return text;
  return "";
}

}  // namespace

Placement placement_of(const Knowledge& knowledge, const Case& spec) {
  if (is_emulated(spec) || spec.comm == CommKind::threads) return {};
  const auto known = knowledge.placements.find(spec.np);
  if (known != knowledge.placements.end()) return known->second;
  if (knowledge.machine.sheet && analytic::measured_device(spec) == DeviceKind::cuda) return {};
  return in_blocks(spec.np, std::clamp(knowledge.hosts, 1, spec.np));
}

bool is_spread(const Knowledge& knowledge, const Case& spec) {
  const bool is_told = knowledge.hosts > 0 || spec.comm == CommKind::threads || knowledge.placements.contains(spec.np);
  return !is_told && analytic::hosts_of(knowledge.machine, spec) > 1;
}

void require_memory(const Predicted& predicted, const std::optional<Bytes>& limit, int ranks_of_each) {
  if (!limit) return;
  for (const RankPredicted& rank : predicted.ranks) {
    const std::int64_t bytes = analytic::limited_bytes(rank.peak_memory);
    if (bytes <= limit->value) continue;
    throw usage_error("memory", print_bytes(*limit),
                      "at least " + std::to_string(bytes) + " bytes, which rank " +
                          std::to_string(rank.rank.value * ranks_of_each) + " is predicted to need",
                      "try more ranks, smaller micro-batches or recompute:auto");
  }
}

plan::Profile profile_of(const Subject& subject, const analytic::Sizes& sizes, const Knowledge& knowledge) {
  const Placement placement = placement_of(knowledge, subject.spec);
  if (subject.tensor == 1)
    return analytic::make_profile(knowledge.calibration, knowledge.machine, sizes, subject.spec,
                                  knowledge.emulated.link, placement);
  const analytic::Costs costs = make_costs_of(subject, sizes, knowledge, "data-sheet");
  return analytic::make_profile(costs, costs, sizes, subject.spec, placement);
}

analytic::Costs make_costs(const Subject& subject, const Knowledge& knowledge, const std::string& cost_source,
                           const std::optional<analytic::WhatIf>& what_if) {
  return make_costs_of(subject, subject.model, knowledge, cost_source, what_if);
}

Predicted predict_what_if(const Subject& subject, const Knowledge& knowledge, const Forecast& forecast,
                          const analytic::WhatIf& what_if) {
  const analytic::Sizes sizes(subject.model);
  const auto [time, memory] = make_costs_of(subject, sizes, knowledge, forecast.cost_source, what_if);
  Predicted predicted =
      analytic::predict(forecast.plan, sizes, *time, *memory, protocol::default_warmup, protocol::default_steps);
  if (forecast.cost_source == "calibrated") add_launches_behind(predicted, subject, sizes, knowledge, forecast.plan);
  return predicted;
}

Forecast make_forecast(const Subject& subject, const Knowledge& knowledge, int warmup, int steps) {
  analytic::require_room(knowledge.machine, subject.spec);
  const analytic::Sizes sizes(subject.model);
  constexpr AskedSteps usual{protocol::default_warmup, protocol::default_steps};
  const bool fits = subject.spec.recompute == Recompute::automatic;
  Forecast forecast;
  const plan::Plan made = make_plan_of(subject, sizes, knowledge, usual);
  const int predicted_window = plan::window(made, usual.warmup, usual.steps).steps();
  const auto predict_from = [&](const char* source) {
    const auto [time, memory] = make_costs_of(subject, sizes, knowledge, source);
    forecast.plan = fits ? analytic::recompute_to_fit(made, sizes, *time, *memory, *subject.spec.memory,
                                                      predicted_window, subject.tensor)
                         : made;
    plan::require_valid(forecast.plan);
    forecast.predicted = analytic::predict(forecast.plan, sizes, *time, *memory, usual.warmup, usual.steps);
    if (source == std::string_view("calibrated"))
      add_launches_behind(forecast.predicted, subject, sizes, knowledge, forecast.plan);
    if (made.asynchronous && plan::window(made, warmup, steps).steps() != predicted_window) {
      plan::Plan executed = make_plan_of(subject, sizes, knowledge, {warmup, steps});
      forecast.plan =
          fits ? plan::add_recompute(std::move(executed), recomputed_segments(forecast.plan)) : std::move(executed);
      plan::require_valid(forecast.plan);
    }
    if (is_emulated(subject.spec)) forecast.durations = analytic::durations(forecast.plan, *time);
    forecast.cost_source = source;
  };
  if (is_emulated(subject.spec) && knowledge.emulated.unit_s) {
    predict_from("unit");
    return forecast;
  }
  try {
    predict_from(knowledge.calibration ? "calibrated" : "data-sheet");
  } catch (const Error& error) {
    // The calibration never measured something that this case needs.
    if (!knowledge.calibration || error.code() != ExitCode::environment) throw;
    predict_from("data-sheet");
    forecast.gap = std::string("the data sheet predicts, since the calibration lacks something: ") + error.what();
  }
  require_memory(forecast.predicted, subject.spec.memory, subject.tensor);
  if (forecast.cost_source == "data-sheet") forecast.network = unknown_network(knowledge, subject.spec);
  if (forecast.cost_source == "calibrated") forecast.gap = gap_of(*knowledge.calibration, sizes, forecast.plan);
  return forecast;
}

double longest_operation_s(const Subject& subject, const Knowledge& knowledge, const Forecast& forecast) {
  const analytic::Costs costs = make_costs(subject, knowledge, forecast.cost_source);
  const plan::Plan& plan = forecast.plan;
  // Transfers that share a link take as many times as long as others pass with them.
  double longest = costs.time->shares_links() ? forecast.predicted.step_time_s : 0;
  for (Rank r(0); r.value < std::ssize(plan.ranks); ++r)
    for (const plan::Lane& lane : plan.ranks[r.value].lanes)
      for (const plan::Op& op : lane.ops) longest = std::max(longest, costs.time->seconds(plan, r, op, plan.spec.np));
  return longest;
}

std::string calibrated_on(const Predicted& predicted) {
  for (const Term& term : predicted.terms)
    if (!term.date.empty()) return term.date;
  return "";
}

double total_bytes(const Predicted& predicted) {
  return std::accumulate(predicted.ranks.begin(), predicted.ranks.end(), 0.0,
                         [](double sum, const RankPredicted& rank) {
                           return sum + static_cast<double>(rank.peak_memory.total_counted());
                         });
}

std::int64_t largest_peak_bytes(const Predicted& predicted) {
  std::int64_t most = 0;
  for (const RankPredicted& rank : predicted.ranks) most = std::max(most, analytic::limited_bytes(rank.peak_memory));
  return most;
}

}  // namespace parabench::suite
