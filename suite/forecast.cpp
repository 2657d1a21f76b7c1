#include "suite/forecast.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "parallelism/plan/strategies.h"
#include "parallelism/plan/validate.h"

namespace parabench {
namespace {

/// The plan with its stages cut by the best known times. They are wanted at the size of a piece, which the strategy
/// decides: a plan cut as if all layers took equally long has the same pieces.
Plan make_plan_of(const Subject& subject, const Knowledge& knowledge, int window) {
  std::vector<double> seconds(subject.model.layers.size(), 1.0);
  if (subject.spec.partition == PartitionRule::time) {
    const Plan pieces = make_plan(subject.spec, subject.model, seconds, window);
    seconds = layer_seconds(knowledge.calibration, knowledge.machine, subject.model, subject.spec,
                            pieces.pieces.front().front());
  }
  Plan plan = make_plan(subject.spec, subject.model, seconds, window);
  // An asynchronous plan's window also holds the steps that verify wants.
  if (plan.asynchronous && equivalence_steps(plan) > window) {
    plan = make_plan(subject.spec, subject.model, seconds, equivalence_steps(plan));
  }
  require_valid(plan);
  return plan;
}

}  // namespace

Subject look_up(const Case& spec) {
  Subject subject{spec, make_dataset(spec.dataset), {}};
  subject.model = make_model(spec.model, subject.dataset.sample, subject.dataset.classes, subject.dataset.small_stem);
  return subject;
}

Subject make_subject(const Case& spec) {
  Subject subject = look_up(spec);
  check_case(spec, subject.model);
  return subject;
}

double step_flops(const Subject& subject) { return training_flops(subject.model).value * subject.spec.batch; }

std::unique_ptr<CostModel> make_costs(const Subject& subject, const Knowledge& knowledge,
                                      const std::string& cost_source) {
  return cost_source == "calibrated" ? calibrated_costs(*knowledge.calibration, subject.model)
                                     : data_sheet_costs(knowledge.machine, subject.model);
}

Forecast make_forecast(const Subject& subject, const Knowledge& knowledge, int warmup, int steps) {
  Forecast forecast;
  forecast.plan = make_plan_of(subject, knowledge, warmup + steps);
  const auto predict_from = [&](const char* source) {
    forecast.predicted = predict(forecast.plan, subject.model, *make_costs(subject, knowledge, source), warmup, steps);
    forecast.cost_source = source;
  };
  try {
    predict_from(knowledge.calibration ? "calibrated" : "data-sheet");
  } catch (const Error& error) {
    // The calibration never measured something that this case needs.
    if (!knowledge.calibration || error.code() != ExitCode::environment) throw;
    predict_from("data-sheet");
    forecast.gap = std::string("the data sheet predicts: ") + error.what();
  }
  if (forecast.cost_source == "calibrated" && uses(forecast.plan, OpKind::backward_input) &&
      !has_split_layers(*knowledge.calibration, subject.model, subject.spec)) {
    forecast.gap = "split backwards were not measured: their FLOPs divide the measured backward";
  }
  return forecast;
}

double total_bytes(const Predicted& predicted) {
  return std::accumulate(predicted.ranks.begin(), predicted.ranks.end(), 0.0,
                         [](double sum, const RankPredicted& rank) {
                           return sum + static_cast<double>(rank.peak_memory.total_counted());
                         });
}

}  // namespace parabench
