#include "parallelism/exec/executor.h"

#include "parallelism/exec/graphed_work.h"

namespace parabench {
namespace {

Execution run(const Plan& plan, const LocalDependencies& needs, Communicator& comm, TrainingWork&& work) {
  RankSpans spans = run_lanes(plan, needs, comm, work);
  Execution result = work.take_result();
  result.spans = std::move(spans);
  return result;
}

}  // namespace

Execution execute(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, RankInput& input,
                  Device& device, std::optional<int> measure_from) {
  const LocalDependencies needs = dependencies(plan, comm.rank());
  if (plan.spec.graph)
    return run(plan, needs, comm,
               GraphedWork(plan, model, state, needs, comm, input, device, measure_from.has_value()));
  return run(plan, needs, comm, TrainingWork(plan, model, state, needs, comm, input, device, measure_from));
}

}  // namespace parabench
