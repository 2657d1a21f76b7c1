#include "parallelism/plan/strategies/csv_plan.h"

#include <algorithm>
#include <utility>

#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/strategies/pipeline.h"

namespace parabench::plan {

// Device p of every copy does what row p of the file says.
Plan csv_plan(const StrategyInput& input) {
  const Case& spec = input.spec;
  const GivenSchedule& given = *input.given;
  const int devices = static_cast<int>(given.ranks.size());
  Plan plan = cut_model(input, {.count = given.stages}, spec.dp > 1 ? Grain::layer : Grain::stage, spec.dp,
                        given.micro_batches);
  plan.in_order = given.in_order;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    RankProgram& rank = plan.ranks[r];
    for (const GivenPass& pass : given.ranks[r % devices]) {
      const Holding holding{pass.stage, ReplicaId(r / devices)};
      if (std::ranges::find(rank.holds, holding) == rank.holds.end()) rank.holds.push_back(holding);
      pass_stage(plan, rank, pass.kind, pass.stage, pass.micro_batch, StepId(0), VersionId(0));
      rank.compute().back().overlaps_next = pass.overlaps_next;
    }
    std::ranges::sort(rank.holds, {}, &Holding::stage);
  }
  return finish_step(std::move(plan), input);
}

}  // namespace parabench::plan
