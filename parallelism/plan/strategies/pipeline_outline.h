// What a pipeline does in a step without its plan, which lists every pass of every micro-batch with its messages.
#pragma once

#include <optional>
#include <vector>

#include "parallelism/plan/schedules/schedule.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

struct PipelineOutline {
  /// What ranks hold, and the sizes of all micro-batches. Of the passes that a rank has in the plan the first of each
  /// kind and stage, with their messages, and its updates.
  Plan plan;
  std::vector<DeviceOrder> orders;  ///< of each rank: all of its passes
  StageOrder stages = StageOrder::looped;
};

/// Whether a case has one: a synchronous pipeline of several ranks in one copy and one direction, whose recomputed
/// segments are known, with a segment to each stage, on ranks that keep the plan's order.
bool has_outline(const Case& spec);

/// nullopt where !has_outline(), or where the model has tensors that skip segments or that layers share. Throws what
/// make_plan() throws of a plan that may be written. O(stages log stages + passes).
std::optional<PipelineOutline> outline_of(const Case& spec, const models::ModelSpec& model, const Profile& profile);

/// What the rank has in the plan of the case, lane by lane. O(passes of the rank and of those it exchanges messages
/// with).
RankProgram written_program(const PipelineOutline& outline, Rank rank);

/// Of all ranks the passes of these micro-batches, ascending.
std::vector<DeviceOrder> passes_of(const PipelineOutline& outline, const std::vector<int>& micro_batches);
/// Of written_program() the operations of these micro-batches, ascending, of which the first has to be 0, and the
/// updates. `passes`: passes_of() these and maybe others.
RankProgram written_program(const PipelineOutline& outline, Rank rank, const std::vector<int>& micro_batches,
                            const std::vector<DeviceOrder>& passes);

}  // namespace parabench::plan
