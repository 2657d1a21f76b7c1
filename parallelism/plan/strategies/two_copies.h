// Cases of many copies that all do the same, told by two of them.
#pragma once

#include <optional>

#include "models/spec/model.h"
#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Ranks of each copy of the model that a case trains on ranks of its own; np where there is but one.
int ranks_of_copy(const Case& spec);

/// The plan of a case of which two copies are written, as copies are in the whole one: the ranks of copies 0 and 1, and
/// in groups of copies these two. Spec, replicas and pieces are the case's.
/// nullopt where copies differ or are at most two: micro-batches of unequal size; shares of weights, gradients or
/// states, which need not be of one size; sums that are no all-reduces; servers; windows that do not drain.
/// Throws what make_plan() throws of a plan that may be written, and what require_valid() throws.
std::optional<Plan> plan_of_two_copies(const Case& spec, const models::ModelSpec& model, const Profile& profile,
                                       const GivenSchedule* given = nullptr);

/// The same plan with all ranks and all members in its groups of copies, but without lanes: what tells how long a
/// collective takes. O(np).
Plan with_all_members(const Plan& two_copies);

}  // namespace parabench::plan
