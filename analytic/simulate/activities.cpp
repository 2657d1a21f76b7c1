#include "analytic/simulate/activities.h"

#include <algorithm>
#include <limits>

namespace parabench::analytic {
namespace {

bool computes(const Activity& activity) { return plan::lane_kind(activity.op->kind) == plan::LaneKind::compute; }

}  // namespace

int SharingActivities::demand(const Activity& activity) const {
  if (plan_.spec.device == DeviceKind::cuda) return 0;
  return computes(activity) ? threads_of_operation(plan_.spec) : activity.ends;
}

void SharingActivities::start(const Activity& activity, double now) {
  now_ = now;
  running_.push_back({.activity = activity});
}

void SharingActivities::reload() {
  int busy = 0, compute_demand = 0, all_demand = 0;
  for (const Running& r : running_) {
    all_demand += demand(r.activity);
    if (!computes(r.activity)) continue;
    ++busy;
    compute_demand += demand(r.activity);
  }
  // Two operations of one rank are as two ranks that compute, and so many were measured at most.
  busy = std::min(busy, plan_.spec.np);
  const int cores = time_.cores();
  for (Running& r : running_) {
    const int measured_busy = computes(r.activity) ? busy : 1;
    if (r.measured_busy != measured_busy) {
      r.measured_busy = measured_busy;
      r.measured_s = time_.seconds(plan_, r.activity.rank, *r.activity.op, measured_busy);
    }
    const int measured_demand = computes(r.activity) ? compute_demand : demand(r.activity);
    r.whole_s = r.measured_s * std::max(cores, all_demand) / std::max(cores, measured_demand);
  }
}

double SharingActivities::finish(std::vector<int>& ended) {
  reload();
  double next = std::numeric_limits<double>::infinity();
  for (const Running& r : running_) next = std::min(next, r.remaining * r.whole_s);
  // What ends within a rounding error of the first ends with it; else equal operations would part by an ulp.
  const double together = next * (1 + 1e-9);
  for (Running& r : running_) {
    if (r.remaining * r.whole_s <= together) {
      ended.push_back(r.activity.lane);
      r.remaining = 0;
    } else {
      r.remaining -= next / r.whole_s;
    }
  }
  std::erase_if(running_, [](const Running& r) { return r.remaining == 0; });
  return now_ += next;
}

}  // namespace parabench::analytic
