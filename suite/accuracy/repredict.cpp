#include "suite/accuracy/repredict.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analytic/calibration/hold_out.h"
#include "analytic/simulate/predict.h"
#include "base/error.h"
#include "base/placement.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/protocol/command.h"
#include "suite/run/forecast.h"

namespace parabench::suite {
namespace {

bool can_be_predicted(const Case& spec) {
  return !plan::is_peer(spec) && !is_emulated(spec) && !plan::find_strategy(spec.strategy.name).from_file;
}

/// Where the ranks of a run were.
Placement placement_in(const results::Measured& measured) {
  std::vector<std::string> hosts;
  for (const results::RankMeasured& rank : measured.ranks) hosts.push_back(rank.host);
  return placement_by_names(hosts);
}

bool is_plan_of(const results::Record& record, const plan::Plan& plan) {
  if (!record.plan || record.plan->partition != plan::partition(plan)) return false;
  return record.plan->replicas.empty() || record.plan->replicas == plan::stage_widths(plan);
}

/// The plan of one case, predicted by other costs.
class Again {
 public:
  Again(const plan::Plan& plan, const models::ModelSpec& model) : plan_(plan), sizes_(model) {}
  const analytic::Sizes& sizes() const { return sizes_; }

  Predicted by(const analytic::TimeModel& time, const analytic::MemoryModel& memory) const {
    return analytic::predict(plan_, sizes_, time, memory, protocol::default_warmup, protocol::default_steps);
  }
  /// nullopt where the calibration lacks something.
  std::optional<double> from(const analytic::Calibration& calibration) const {
    try {
      const analytic::Costs costs = analytic::calibrated_costs(calibration, sizes_);
      return by(*costs.time, *costs.memory).step_time_s;
    } catch (const Error& error) {
      if (error.code() != ExitCode::environment) throw;
      return std::nullopt;
    }
  }
  double without(analytic::AblatedTerm term, const analytic::Calibration& calibration) const {
    analytic::Costs costs = analytic::calibrated_costs(calibration, sizes_);
    costs.time = analytic::without(term, std::move(costs.time));
    return by(*costs.time, *costs.memory).step_time_s;
  }

 private:
  const plan::Plan& plan_;
  analytic::Sizes sizes_;
};

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

}  // namespace

std::optional<Repredicted> repredict(const results::Record& record, const analytic::Calibration& calibration,
                                     const analytic::Calibration* older, bool ablate) {
  if (!can_be_predicted(record.parameters)) return std::nullopt;
  const Subject subject = look_up(record.parameters);
  const Knowledge knowledge{.machine = calibration.machine,
                            .calibration = &calibration,
                            .placements = {{record.parameters.np, placement_in(*record.measured)}}};
  const Forecast forecast = make_forecast(subject, knowledge, protocol::default_warmup, protocol::default_steps);
  if (forecast.cost_source != "calibrated" || !is_plan_of(record, forecast.plan)) return std::nullopt;
  const Again again(forecast.plan, subject.model);
  Repredicted all{.whole_s = forecast.predicted.step_time_s};
  if (const auto left = analytic::without_own_samples(calibration, again.sizes(), forecast.plan))
    all.held_out_s = again.from(*left);
  if (older) all.stale_s = again.from(*older);
  if (!ablate) return all;
  for (const analytic::AblatedTerm term : enum_values<analytic::AblatedTerm>)
    all.ablated_s[static_cast<std::size_t>(term)] = again.without(term, calibration);
  all.without_waiting_s = work_of_the_busiest(forecast.predicted);
  return all;
}

}  // namespace parabench::suite
