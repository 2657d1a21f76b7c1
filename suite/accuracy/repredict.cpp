#include "suite/accuracy/repredict.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/calibration/hold_out.h"
#include "analytic/costs/costs.h"
#include "analytic/simulate/predict.h"
#include "base/error.h"
#include "base/statistics.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "results/accuracy.h"
#include "results/summary.h"
#include "suite/protocol/command.h"
#include "suite/run/forecast.h"
#include "suite/run/pair.h"

namespace parabench::suite {
namespace {

bool can_be_predicted(const Case& spec) {
  return !plan::is_peer(spec) && !is_emulated(spec) && !plan::find_strategy(spec.strategy.name).from_file;
}

/// On the hosts that it ran on.
Knowledge knowledge_of(const results::Record& record, const analytic::Calibration& calibration) {
  Knowledge knowledge{.machine = calibration.machine, .calibration = &calibration};
  knowledge.placements[record.parameters.np] = results::placement_of(*record.measured);
  return knowledge;
}

bool is_plan_of(const results::Record& record, const plan::Plan& plan) {
  if (!record.plan || record.plan->partition != plan::partition(plan)) return false;
  return record.plan->replicas.empty() || record.plan->replicas == plan::stage_widths(plan);
}

double work_of_the_busiest(const Predicted& predicted) {
  double most = 0;
  for (const RankPredicted& rank : predicted.ranks) {
    const Breakdown& parts = rank.breakdown_s;
    double work = -parts.bubble - parts.communication_exposed - parts.data_wait;
    for (const auto& [name, part] : breakdown_fields) work += parts.*part;
    most = std::max(most, work);
  }
  return most;
}

/// Of the plan that ran; nullopt where this program has another one, or no costs of it.
std::optional<Forecast> forecast_again(const results::Record& record, const Subject& subject, const Sources& from) {
  Forecast forecast =
      make_forecast(subject, knowledge_of(record, from.calibration), protocol::default_warmup, protocol::default_steps);
  if (forecast.cost_source != "calibrated" || !is_plan_of(record, forecast.plan)) return std::nullopt;
  return forecast;
}

/// What `of` returns; nullopt where a calibration lacks something.
template <class Of>
auto where_measured(Of of) -> std::optional<decltype(of())> {
  try {
    return of();
  } catch (const Error& error) {
    if (error.code() != ExitCode::environment) throw;
    return std::nullopt;
  }
}

/// The plan of one case over as many steps as it was run, predicted by other costs.
class Again {
 public:
  Again(const plan::Plan& plan, const analytic::Sizes& sizes, int warmup, int steps)
      : plan_(plan), sizes_(sizes), warmup_(warmup), steps_(steps) {}

  Predicted by(const analytic::TimeModel& time, const analytic::MemoryModel& memory) const {
    return analytic::predict(plan_, sizes_, time, memory, warmup_, steps_);
  }

  /// nullopt where the calibration lacks something.
  std::optional<double> error_from(const analytic::Calibration& calibration, double measured_s) const {
    return where_measured([&] {
      const analytic::Costs costs = analytic::calibrated_costs(calibration, sizes_);
      return by(*costs.time, *costs.memory).step_time_s / measured_s - 1;
    });
  }

 private:
  const plan::Plan& plan_;
  const analytic::Sizes& sizes_;
  int warmup_, steps_;
};

/// With all terms, and without each: of predictions of one case from as many calibrations.
struct AblatedErrors {
  std::vector<double> whole, of_chains, waiting;
  std::array<std::vector<double>, enum_values<analytic::AblatedTerm>.size()> terms;

  /// Nothing where a calibration lacks something.
  template <class MakeCosts>
  void add(const Again& again, MakeCosts make_costs, double measured_s, bool ablate) {
    const auto costs = where_measured(make_costs);
    if (!costs) return;
    const auto predicted = where_measured([&] { return again.by(*costs->time, *costs->memory); });
    if (!predicted) return;
    whole.push_back(predicted->step_time_s / measured_s - 1);
    if (!ablate) return;
    for (const analytic::AblatedTerm term : enum_values<analytic::AblatedTerm>) {
      const auto time = analytic::without(term, *costs->time);
      terms[static_cast<std::size_t>(term)].push_back(again.by(*time, *costs->memory).step_time_s / measured_s - 1);
    }
    waiting.push_back(work_of_the_busiest(*predicted) / measured_s - 1);
  }
};

Repredicted::Ablated medians_of(const AblatedErrors& errors) {
  Repredicted::Ablated ablated{
      .terms = {}, .rehearsal = median_of(errors.of_chains), .waiting = median_of(errors.waiting)};
  for (std::size_t term = 0; term < errors.terms.size(); ++term) ablated.terms[term] = median_of(errors.terms[term]);
  return ablated;
}

}  // namespace

std::optional<double> median_of(const std::vector<double>& errors) {
  return errors.empty() ? std::nullopt : std::optional(median(errors));
}

std::optional<Repredicted> repredict(const results::Record& record, const Sources& from, bool ablate) {
  if (!can_be_predicted(record.parameters)) return std::nullopt;
  const Subject subject = look_up(record.parameters);
  const std::optional<Forecast> forecast = forecast_again(record, subject, from);
  if (!forecast) return std::nullopt;
  const analytic::Sizes sizes(subject.model);
  const Again again(forecast->plan, sizes, protocol::default_warmup, protocol::default_steps);
  const double measured_s = record.measured->step_time_s.median;
  AblatedErrors forecasts, rounds;
  const auto of_forecast = [&] { return analytic::calibrated_costs(from.calibration, sizes); };
  forecasts.add(again, of_forecast, measured_s, ablate);
  if (ablate) forecasts.of_chains = forecasts.whole;
  if (from.rounds) {
    const Again paired(forecast->plan, sizes, protocol::paired_warmup, protocol::paired_steps);
    for (const protocol::PairedRound& round : from.rounds->rounds) {
      const auto of_round = [&] { return costs_of(round, sizes, forecast->plan); };
      const double round_s = median(round.step_s);
      rounds.add(paired, of_round, round_s, ablate);
      if (!ablate) continue;
      if (const auto error = paired.error_from(round.calibration, round_s)) rounds.of_chains.push_back(*error);
    }
  }
  Repredicted all{.whole = median(forecasts.whole),
                  .held_out = {},
                  .stale = {},
                  .paired = median_of(rounds.whole),
                  .ddlbench = {},
                  .ablated = medians_of(forecasts),
                  .ablated_paired = medians_of(rounds)};
  if (const auto left = analytic::without_own_samples(from.calibration, sizes, forecast->plan))
    all.held_out = again.error_from(*left, measured_s);
  if (from.older) all.stale = again.error_from(*from.older, measured_s);
  if (const auto step_s = results::ddlbench_step_time(forecast->predicted)) all.ddlbench = *step_s / measured_s - 1;
  return all;
}

void pair_again(results::Record& record, const Sources& from) {
  if (!from.rounds || record.paired.empty() || !record.error || !can_be_predicted(record.parameters)) return;
  const Subject subject = look_up(record.parameters);
  const std::optional<Forecast> forecast = forecast_again(record, subject, from);
  if (!forecast) return;
  const auto rounds = where_measured([&] { return pair_rounds(*from.rounds, subject, forecast->plan); });
  if (!rounds) return;
  record.paired = *rounds;
  record.error->paired_step_time_relative =
      results::compare(*record.predicted, *record.measured, record.paired).paired_step_time_relative;
}

}  // namespace parabench::suite
