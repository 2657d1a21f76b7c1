// The groups of rules behind validate(). Each appends what it finds.
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/validate.h"

namespace parabench::plan {

using Violations = std::vector<Violation>;

/// Segments, ranks, pieces and every operation's fields lie in their ranges. All other groups need a plan without such
/// violations.
void check_fields(const Plan& plan, Violations& found);
/// Compute lanes: placement, exactly once, order, versions, gradients, what is in flight.
void check_compute(const Plan& plan, Violations& found);
/// From gradients to the next weights: every segment of a rank is summed among its holders, updated, whole or in the
/// share that the sum left there, and complete again; before that the two ranks of a replica that have a tied tensor
/// sum its gradients. Activations are summed over the shards of their stage.
void check_collectives(const Plan& plan, Violations& found);
/// Messages: each once, between the holders of neighbouring segments, or of the two that a skip joins, which goes once
/// to each rank that takes it; paired in order.
void check_messages(const Plan& plan, Violations& found);
/// Dependencies exist and come first; lanes get to their end under rendezvous and under buffered sends.
void check_progress(const Plan& plan, Violations& found);

}  // namespace parabench::plan
