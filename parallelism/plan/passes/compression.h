// Compressed sums of gradients (base/compression.h) in the place of whole ones.
#pragma once

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Pass over plans of one step that sum gradients by all_reduce: as the case's key compress says, each sum becomes an
/// encode as soon as the last of its gradients is there, a collective of what it made, and a decode before its update;
/// of PowerSGD a project and a second collective between them. A project waits for its collective: it comes after the
/// next run's encode, so that this one's backward hides it. O(operations).
Plan compress_sums(Plan plan);

}  // namespace parabench::plan
