// Collectives and messages as a calibration's curves have them: for the operations of plans, and for exchanges that are
// timed by themselves.
#pragma once

#include <cstdint>

#include "analytic/calibration/calibration.h"
#include "analytic/calibration/measurements.h"
#include "analytic/costs/time_model.h"
#include "base/exchange.h"
#include "base/time_parts.h"
#include "parallelism/plan/op.h"

namespace parabench::analytic {

/// What the curve of groups on other numbers of hosts (similar_shape) says of groups of this shape: its time for no
/// bytes by the ratio of rounds, what bytes add by the ratio of the bytes that the busiest rank sends, both of one rank
/// for each host by the case's algorithm for large buffers (algorithm_of and all_reduce_by, of the library's as of a
/// ring). Throws environment_error naming the curve that was never measured, where there is none.
Curve derived_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape);

/// Of all-reduces in a group of this shape, as ranks of the case do them: the measured one, else the derived_curve().
/// Throws environment_error naming the curve that was never measured.
Curve measured_or_derived_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape);

/// Of `bytes` in a group of this shape: the collective's own curve (find_share_curve), else the all-reduce's, of which
/// the others take a share (time_model.h); where they are by another algorithm, as the halves of reduce:double-tree
/// around a ring, a share of that, by the ratio of rounds and of the bytes that the busiest rank sends. Throws
/// likewise.
TimeParts collective_times(const Calibration& calibration, const Case& spec, plan::OpKind collective,
                           const GroupShape& shape, std::int64_t bytes);
/// What they and computing do to each other: by the points that tell it, at most as far as the curves reach; of a
/// collective whose own curve tells nothing, by the all-reduce's.
BesideComputing collective_beside_computing(const Calibration& calibration, const Case& spec, plan::OpKind collective,
                                            const GroupShape& shape, std::int64_t bytes);
BesideComputing message_beside_computing(const Calibration& calibration, const Case& spec, bool between_hosts,
                                         std::int64_t bytes);
/// Of one message. Throws likewise.
TimeParts message_times(const Calibration& calibration, const Case& spec, bool between_hosts, std::int64_t bytes);

/// What a plan with such an operation would be predicted to take for it, where ranks are on these hosts: of several
/// groups the one on most hosts, of several messages one between hosts counts. Throws likewise.
double exchange_seconds(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange,
                        const Placement& placement = {});
/// The curve that it comes from: of messages, of the collective itself or of all-reduces, of which it takes half then.
/// Throws likewise.
struct ExchangeCurve {
  Curve curve;
  bool is_halved = false;
};
ExchangeCurve exchange_curve(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange,
                             const Placement& placement = {});
/// The group of an exchange that is on most hosts; of messages those that send to each other.
GroupShape exchange_shape(const ExchangeSetting& setting, const Exchange& exchange, const Placement& placement);

}  // namespace parabench::analytic
