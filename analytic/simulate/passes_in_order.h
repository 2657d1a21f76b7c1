// What passes take in the order in which a plan's ranks have them.
#pragma once

#include <memory>
#include <vector>

#include "analytic/costs/time_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// Of a rank's passes of one kind over one segment, in steps in which ranks hand nothing on: seconds of one, in the
/// mean over those of a step, the median over steps.
struct PassSeconds {
  Rank rank;
  SegmentId segment;
  plan::OpKind kind = plan::OpKind::forward;
  double seconds = 0;
  bool operator==(const PassSeconds&) const = default;
};

/// From step `first` of the plan (unrolled) on, without waiting for samples. By rank, segment and kind.
std::vector<PassSeconds> pass_seconds(const plan::Plan& plan, const plan::Timeline& timeline, StepId first);

/// Another model's times, which are those of passes of a chain of segments. What passes find in the caches depends on
/// what their rank did before, so that each kind of a rank's passes over a segment takes as much longer or shorter here
/// as it was `measured` to in silent steps of `plan` (unrolled), beside what the other model says of these from step
/// `first` on (simulate_silent(), whose precondition is this one's). Passes that `measured` does not have stay as they
/// are.
std::unique_ptr<const TimeModel> times_in_order(std::unique_ptr<const TimeModel> of_chain, const plan::Plan& plan,
                                                StepId first, const std::vector<PassSeconds>& measured);

}  // namespace parabench::analytic
