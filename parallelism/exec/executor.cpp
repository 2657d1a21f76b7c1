#include "parallelism/exec/executor.h"

#include <fmt/format.h>

#include <cmath>

#include "parallelism/exec/graphed_work.h"
#include "parallelism/exec/reducer/reducer_training.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::exec {
namespace {

Execution run(const plan::Plan& plan, const plan::LocalDependencies& needs, comm::Communicator& comm,
              TrainingWork&& work, const plan::ExchangeSeconds* paces) {
  RankSpans spans = run_lanes(plan, needs, comm, work, paces);
  Execution result = work.take_result();
  result.spans = std::move(spans);
  return result;
}

}  // namespace

void require_finite(double loss, const plan::Op& op, double lr) {
  if (std::isfinite(loss)) return;
  throw NotANumber(
      fmt::format("loss of step {}, micro-batch {}: got {}, expected a finite number; try a smaller lr "
                  "(lr:{} now)",
                  op.step.value, op.micro_batch.value, loss, lr));
}

Execution execute(const plan::Plan& plan, const models::ModelSpec& model, StageState& state, comm::Communicator& comm,
                  RankInput& input, Device& device, std::optional<StepId> measure_from,
                  const plan::ExchangeSeconds* paces) {
  if (plan::sums_by_reducer(plan.spec)) return train_by_reducer(plan, model, state, comm, input, device, measure_from);
  plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
  if (paces) needs = plan::receiving_late(plan, comm.rank(), needs);
  if (plan.spec.graph)
    return run(plan, needs, comm, GraphedWork(plan, model, state, needs, comm, input, device, measure_from.has_value()),
               nullptr);
  return run(plan, needs, comm, TrainingWork(plan, model, state, needs, comm, input, device, measure_from), paces);
}

}  // namespace parabench::exec
