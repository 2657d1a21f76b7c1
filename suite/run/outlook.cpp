#include "suite/run/outlook.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "analytic/costs/layer_seconds.h"
#include "analytic/costs/tensor_times.h"
#include "analytic/hardware/hardware.h"
#include "analytic/simulate/predict_copies.h"
#include "analytic/simulate/predict_outline.h"
#include "base/error.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/strategies/two_copies.h"
#include "suite/protocol/command.h"
#include "suite/run/hosts_option.h"

namespace parabench::suite {
namespace {

constexpr int few_ranks = 128;
constexpr std::int64_t few_passes = 20'000;
constexpr int warmup = protocol::default_warmup, steps = protocol::default_steps;

bool is_large(const Subject& subject) {
  const Case& spec = subject.spec;
  const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
  return std::int64_t{spec.np} * subject.tensor > few_ranks ||
         std::int64_t{strategy.stages(spec)} * strategy.pieces(spec) > few_passes;
}

/// Times of so many passes take a gigabyte, predictions of so many ranks as much.
constexpr std::int64_t most_passes = 16'000'000;
constexpr int most_ranks = 1'000'000;

bool is_too_large(const Subject& subject) {
  const Case& spec = subject.spec;
  const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
  return std::int64_t{spec.np} * subject.tensor > most_ranks || strategy.pieces(spec) > most_passes ||
         std::int64_t{strategy.stages(spec)} * strategy.pieces(spec) / spec.dp > most_passes;
}

using OptionalWhatIf = std::optional<analytic::WhatIf>;

/// Without the whole plan; nullopt where there is no other way.
std::optional<Outlook> shortened(const Subject& subject, const Knowledge& knowledge, const OptionalWhatIf& what_if) {
  const Case& spec = subject.spec;
  if (is_too_large(subject)) return std::nullopt;
  const analytic::Sizes sizes(subject.model);
  const Placement placement = placement_of(knowledge, spec);
  // What was measured among these ranks holds for ranks that share the cores of a host.
  if (knowledge.calibration && analytic::has_layers(*knowledge.calibration, sizes, spec, placement))
    return std::nullopt;
  analytic::require_room(knowledge.machine, spec);
  Outlook out{.forecast = {}, .has_plan = false};
  Forecast& forecast = out.forecast;
  forecast.cost_source = is_emulated(spec) && knowledge.emulated.unit_s ? "unit" : "data-sheet";
  const analytic::Costs costs = make_costs(subject, knowledge, forecast.cost_source);
  if (costs.time->cores() > 0 || spec.recompute == Recompute::automatic) return std::nullopt;
  if (knowledge.calibration) forecast.gap = "the data sheet predicts: these ranks were not calibrated";
  forecast.network = unknown_network(knowledge, spec);
  const plan::Profile profile = profile_of(subject, sizes, knowledge);
  const auto predict_by = [&](const auto& predicted_by) {
    forecast.predicted = predicted_by(costs);
    if (what_if) out.changed = predicted_by(make_costs(subject, knowledge, forecast.cost_source, what_if));
  };
  if (auto two = plan::plan_of_two_copies(spec, subject.model, profile, subject.given.get())) {
    forecast.plan = std::move(*two);
    forecast.plan.placement = placement;
    predict_by([&](const analytic::Costs& by) {
      return analytic::predict_copies(forecast.plan, sizes, *by.time, *by.memory, warmup, steps);
    });
  } else if (auto outline = plan::outline_of(spec, subject.model, profile)) {
    outline->plan.placement = placement;
    forecast.plan = outline->plan;
    predict_by([&](const analytic::Costs& by) {
      return analytic::predict_outline(*outline, sizes, *by.time, *by.memory, warmup, steps);
    });
  } else {
    return std::nullopt;
  }
  require_memory(forecast.predicted, spec.memory, subject.tensor);
  return out;
}

Outlook outlook_of(const Subject& subject, const Knowledge& knowledge, const OptionalWhatIf& what_if) {
  if (const std::int64_t ranks = std::int64_t{subject.spec.np} * subject.tensor; ranks > most_ranks)
    throw usage_error("np", std::to_string(ranks), fmt::format("at most {}", most_ranks),
                      fmt::format("try np:{}", most_ranks));
  if (is_large(subject)) {
    if (auto outlook = shortened(subject, knowledge, what_if)) return std::move(*outlook);
  }
  Outlook outlook{make_forecast(subject, knowledge, warmup, steps)};
  if (what_if) outlook.changed = predict_what_if(subject, knowledge, outlook.forecast, *what_if);
  return outlook;
}

/// The number that begins at `at` in a text, if one does, times `ranks`.
void multiply(std::string& text, std::size_t at, int ranks) {
  const char* first = text.data() + at;
  int number = 0;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
  if (error == std::errc{}) text.replace(at, end - first, std::to_string(std::int64_t{number} * ranks));
}

/// A term of a shard's case says all ranks: behind the last "rank " of its name, and before the " busy ranks" of its
/// formula.
void tell_all_ranks(Term& term, int ranks) {
  constexpr std::string_view rank = "rank ", busy = " busy ranks";
  if (const auto found = term.name.rfind(rank); found != std::string::npos)
    multiply(term.name, found + rank.size(), ranks);
  if (const auto found = term.formula.find(busy); found != std::string::npos)
    multiply(term.formula, term.formula.find_last_not_of("0123456789", found - 1) + 1, ranks);
}

/// From what each rank of the shard's case is predicted to that of the `subject.spec.tp` ranks that it stands for.
void add_tensor_ranks(Predicted& predicted, const Subject& subject) {
  const int ranks = subject.spec.tp;
  std::vector<RankPredicted> all;
  all.reserve(predicted.ranks.size() * ranks);
  for (RankPredicted rank : predicted.ranks) {
    for (int place = 0; place < ranks; ++place) {
      rank.rank = Rank(static_cast<int>(all.size()));
      all.push_back(rank);
    }
  }
  predicted.ranks = std::move(all);
  predicted.step_parts->rank = Rank(predicted.step_parts->rank.value * ranks);
  predicted.timeline.reset();
  const double flops = models::training_flops(subject.model).value * subject.spec.batch;
  for (Term& term : predicted.terms) {
    tell_all_ranks(term, ranks);
    if (term.name == "flops_per_step") term.value = flops;
    if (term.name == "flops_per_s") term.value = flops / predicted.step_time_s;
  }
}

/// Of a case with the key tp, from what `outlook_of_shard` says of the case that stands for it, if anything.
template <class OutlookOfShard>
std::optional<Outlook> tensor_outlook(const Subject& subject, const Knowledge& knowledge, const OptionalWhatIf& what_if,
                                      OutlookOfShard outlook_of_shard) {
  const Subject shard = tensor_subject(subject);
  analytic::require_room(knowledge.machine, subject.spec);
  Knowledge unmeasured = knowledge;  // layers are measured whole
  unmeasured.calibration = nullptr;
  unmeasured.hosts = 1;  // where ranks are follows from all of them, not from the shard's
  std::optional<Outlook> outlook = outlook_of_shard(shard, unmeasured);
  if (!outlook) return std::nullopt;
  outlook->has_plan = false;
  Forecast& forecast = outlook->forecast;
  if (knowledge.calibration) forecast.gap = "the data sheet predicts: layers were measured whole";
  forecast.network = unknown_network(knowledge, subject.spec);
  const auto finish = [&](Predicted& predicted, const OptionalWhatIf& changes) {
    const auto [time, memory] = make_costs(shard, unmeasured, forecast.cost_source, changes);
    predicted.terms.push_back(analytic::tensor_term(*time, shard.spec, shard.model, shard.tensor));
    add_tensor_ranks(predicted, subject);
  };
  finish(forecast.predicted, {});
  if (what_if) finish(*outlook->changed, what_if);
  return outlook;
}

std::optional<Outlook> quick_outlook_of(const Subject& subject, const Knowledge& knowledge) {
  try {
    if (auto outlook = shortened(subject, knowledge, {})) return outlook;
  } catch (const Error& error) {
    // What stands for the plan may be too long as well.
    if (error.code() != ExitCode::usage) throw;
  }
  if (is_large(subject)) return std::nullopt;
  return outlook_of(subject, knowledge, {});
}

}  // namespace

Outlook make_outlook(const SelectedCase& chosen, const Knowledge& knowledge, const OptionalWhatIf& what_if) {
  const Subject subject = look_up(chosen);
  const auto of_whole = [&](const Subject& whole, const Knowledge& known) { return outlook_of(whole, known, what_if); };
  if (subject.spec.tp == 1) return of_whole(subject, knowledge);
  return tensor_outlook(subject, knowledge, what_if, of_whole).value();
}

std::optional<Outlook> quick_outlook(const SelectedCase& chosen, const Knowledge& knowledge) {
  const Subject subject = look_up(chosen);
  if (subject.spec.tp == 1) return quick_outlook_of(subject, knowledge);
  return tensor_outlook(subject, knowledge, {}, quick_outlook_of);
}

}  // namespace parabench::suite
