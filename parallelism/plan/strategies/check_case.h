// Whether a case is possible in itself.
#pragma once

#include "base/case.h"
#include "base/case_key.h"
#include "models/spec/model.h"
#include "parallelism/plan/formats/given_schedule.h"

namespace parabench::plan {

/// Throws usage_error if the case is impossible in itself: unknown strategy, more stages than layers, fewer samples
/// than pieces, np that the strategy cannot use, keys that it does not know, values that this version does not offer;
/// strategy csv without a schedule or with one of other ranks, micro-batches or hash; more ranks or passes than a plan
/// can list.
void check_case(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given = nullptr);

/// The same of a case whose plan is not written: it may have more ranks and passes than a plan can list.
void check_meaning(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given = nullptr);

/// A key that the case gives another value than its default, and its strategy does not read; nullptr: there is none.
const CaseKey* unused_key(const Case& spec);

}  // namespace parabench::plan
