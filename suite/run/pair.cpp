#include "suite/run/pair.h"

#include "analytic/costs/costs.h"
#include "analytic/simulate/predict.h"
#include "base/statistics.h"

namespace parabench::suite {

std::vector<results::PairedRound> pair_rounds(const protocol::PairedRounds& answer, const Subject& subject,
                                              const plan::Plan& plan) {
  const analytic::Sizes sizes(subject.model);
  std::vector<results::PairedRound> rounds;
  for (const protocol::PairedRound& round : answer.rounds) {
    const analytic::Costs costs = analytic::calibrated_costs(round.calibration, sizes);
    const Predicted predicted =
        analytic::predict(plan, sizes, *costs.time, *costs.memory, protocol::paired_warmup, protocol::paired_steps);
    rounds.push_back({predicted.step_time_s, median(round.step_s)});
  }
  return rounds;
}

}  // namespace parabench::suite
