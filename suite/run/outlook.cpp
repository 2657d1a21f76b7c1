#include "suite/run/outlook.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "analytic/calibration/profile.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/simulate/predict_copies.h"
#include "analytic/simulate/predict_outline.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/strategies/two_copies.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

constexpr int few_ranks = 128;
constexpr std::int64_t few_passes = 20'000;

bool is_large(const Case& spec) {
  const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
  return spec.np > few_ranks || std::int64_t{strategy.stages(spec)} * strategy.pieces(spec) > few_passes;
}

/// Without the whole plan; nullopt where there is no other way.
std::optional<Forecast> shortened(const Subject& subject, const Knowledge& knowledge) {
  const Case& spec = subject.spec;
  const analytic::Sizes sizes(subject.model);
  // What was measured among these ranks holds for ranks that share the cores of a host.
  if (knowledge.calibration && analytic::has_layers(*knowledge.calibration, sizes, spec)) return std::nullopt;
  Forecast forecast{.cost_source = is_emulated(spec) && knowledge.emulated.unit_s ? "unit" : "data-sheet"};
  const auto [time, memory] = make_costs(subject, knowledge, forecast.cost_source);
  if (time->cores() > 0 || spec.recompute == Recompute::automatic) return std::nullopt;
  if (knowledge.calibration) forecast.gap = "the data sheet predicts: so many ranks were not calibrated";
  const plan::Profile profile =
      analytic::make_profile(knowledge.calibration, knowledge.machine, sizes, spec, knowledge.emulated.link);
  constexpr int warmup = protocol::default_warmup, steps = protocol::default_steps;
  if (auto two = plan::plan_of_two_copies(spec, subject.model, profile, subject.given.get())) {
    forecast.plan = std::move(*two);
    forecast.predicted = analytic::predict_copies(forecast.plan, sizes, *time, *memory, warmup, steps);
  } else if (auto outline = plan::outline_of(spec, subject.model, profile)) {
    forecast.plan = outline->plan;
    forecast.predicted = analytic::predict_outline(std::move(*outline), sizes, *time, *memory, warmup, steps);
  } else {
    return std::nullopt;
  }
  require_memory(forecast.predicted, spec.memory);
  return forecast;
}

}  // namespace

Outlook make_outlook(const SelectedCase& chosen, const Knowledge& knowledge) {
  const Subject subject = look_up(chosen);
  if (is_large(subject.spec)) {
    if (auto forecast = shortened(subject, knowledge)) return {std::move(*forecast), false};
  }
  return {make_forecast(subject, knowledge, protocol::default_warmup, protocol::default_steps), true};
}

}  // namespace parabench::suite
