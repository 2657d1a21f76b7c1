// Collectives and messages as a calibration's curves have them: for the operations of plans, and for exchanges that are
// timed by themselves.
#pragma once

#include <cstdint>

#include "analytic/calibration/calibration.h"
#include "base/exchange.h"
#include "base/time_parts.h"
#include "parallelism/plan/op.h"

namespace parabench::analytic {

/// Of `bytes` among so many members, as ranks of the case do it: the all-reduce's curve, of which the others take a
/// share (time_model.h). Throws environment_error naming the curve that was never measured.
TimeParts collective_times(const Calibration& calibration, const Case& spec, plan::OpKind collective, int members,
                           std::int64_t bytes);
/// Of one message, likewise.
TimeParts message_times(const Calibration& calibration, const Case& spec, std::int64_t bytes);

/// What a plan with such an operation would be predicted to take for it. Throws likewise.
double exchange_seconds(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange);
/// The curve that it comes from, of messages or of all-reduces. Throws likewise.
const Curve& exchange_curve(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange);

}  // namespace parabench::analytic
