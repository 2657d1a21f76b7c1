// Passes over what one rank does, which passes over plans (passes.h) are made of.
#pragma once

#include <functional>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// mark_accumulation() of one of the plan's ranks, or of one that is not in it.
void mark_accumulation(const Plan& plan, RankProgram& rank);

/// Forwards for which `again` is true keep their input alone and run again directly before their backward. It is asked
/// for every pass of a piece through a segment; is_last: the piece is the segment's last of its step.
void recompute_where(RankProgram& rank, const std::function<bool(const Op& pass, bool is_last)>& again);

/// recompute_where() of what a value of the key says; nothing of `automatic`.
void add_recompute(RankProgram& rank, Recompute which);

}  // namespace parabench::plan
