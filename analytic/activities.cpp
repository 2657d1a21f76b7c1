#include "analytic/activities.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace parabench {
namespace {

const Op& op_of(const Plan& plan, const Activity& a) { return plan.ranks[a.rank].lane(a.lane)[a.index]; }

}  // namespace

void IndependentActivities::start(const Activity& activity, double now) {
  heap_.push_back({now + cost_.seconds(plan_, Rank(activity.rank), op_of(plan_, activity), 1), activity});
  std::ranges::push_heap(heap_, std::greater());
}

double IndependentActivities::finish(std::vector<Activity>& ended) {
  const double now = heap_.front().end;
  while (!heap_.empty() && heap_.front().end == now) {
    std::ranges::pop_heap(heap_, std::greater());
    ended.push_back(heap_.back().activity);
    heap_.pop_back();
  }
  return now;
}

int SharingActivities::demand(const Activity& activity) const {
  if (plan_.spec.device == DeviceKind::cuda) return 0;
  return activity.lane == Lane::compute ? plan_.spec.threads : activity.ends;
}

void SharingActivities::start(const Activity& activity, double now) {
  now_ = now;
  running_.push_back({.activity = activity});
}

void SharingActivities::reload() {
  int busy = 0, compute_demand = 0, all_demand = 0;
  for (const Running& r : running_) {
    all_demand += demand(r.activity);
    if (r.activity.lane != Lane::compute) continue;
    ++busy;
    compute_demand += demand(r.activity);
  }
  const int cores = cost_.cores();
  for (Running& r : running_) {
    const bool computes = r.activity.lane == Lane::compute;
    const int measured_busy = computes ? busy : 1;
    if (r.measured_busy != measured_busy) {
      r.measured_busy = measured_busy;
      r.measured_s = cost_.seconds(plan_, Rank(r.activity.rank), op_of(plan_, r.activity), measured_busy);
    }
    const int measured_demand = computes ? compute_demand : demand(r.activity);
    r.whole_s = r.measured_s * std::max(cores, all_demand) / std::max(cores, measured_demand);
  }
}

double SharingActivities::finish(std::vector<Activity>& ended) {
  reload();
  double next = std::numeric_limits<double>::infinity();
  for (const Running& r : running_) next = std::min(next, r.remaining * r.whole_s);
  // What ends within a rounding error of the first ends with it; else equal operations would part by an ulp.
  const double together = next * (1 + 1e-9);
  for (Running& r : running_) {
    if (r.remaining * r.whole_s <= together) {
      ended.push_back(r.activity);
      r.remaining = 0;
    } else {
      r.remaining -= next / r.whole_s;
    }
  }
  std::erase_if(running_, [](const Running& r) { return r.remaining == 0; });
  std::ranges::sort(ended);
  return now_ += next;
}

}  // namespace parabench
