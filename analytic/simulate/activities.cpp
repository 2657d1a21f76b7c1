#include "analytic/simulate/activities.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace parabench::analytic {
namespace {

constexpr double unknown = -1;

int demand(const Case& spec, const Activity& activity, bool computes) {
  if (spec.device == DeviceKind::cuda) return 0;
  return computes ? threads_of_operation(spec) : activity.ends;
}

bool streams(plan::OpKind kind) {
  return plan::lane_kind(kind) == plan::LaneKind::compute && !plan::is_pass(kind) && !plan::is_of_compression(kind);
}

}  // namespace

void SharingActivities::start(const Activity& activity, double now) {
  now_ = now;
  const bool computes = plan::lane_kind(activity.op->kind) == plan::LaneKind::compute;
  Running& running = running_.emplace_back(Running{.activity = activity,
                                                   .computes = computes,
                                                   .streams = streams(activity.op->kind),
                                                   .demand = demand(plan_.spec, activity, computes)});
  if (!spare_.empty()) {
    running.known_s = std::move(spare_.back());
    spare_.pop_back();
  }
  running.known_s.assign(plan_.spec.np + 1, unknown);
}

double SharingActivities::measured_s(Running& running, int busy_ranks) const {
  double& known = running.known_s[busy_ranks];
  if (known < 0) known = time_.seconds(plan_, running.activity.rank, *running.activity.op, busy_ranks);
  return known;
}

void SharingActivities::reload() {
  int busy = 0, streaming = 0, compute_demand = 0, all_demand = 0;
  for (const Running& r : running_) {
    all_demand += r.demand;
    if (r.streams) ++streaming;
    if (plan::is_collective(r.activity.op->kind)) streaming += r.activity.ends;
    if (!r.computes) continue;
    ++busy;
    compute_demand += r.demand;
  }
  // Two operations of one rank are as two ranks that compute, and so many were measured at most.
  busy = std::min(busy, plan_.spec.np);
  streaming = std::min(streaming, plan_.spec.np);
  const int cores = time_.cores();
  for (Running& r : running_) {
    const int measured_busy = r.streams ? streaming : r.computes ? busy : 1;
    if (r.measured_busy != measured_busy) {
      r.measured_busy = measured_busy;
      r.measured_s = measured_s(r, measured_busy);
    }
    const int measured_demand = r.computes ? compute_demand : r.demand;
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
      spare_.push_back(std::move(r.known_s));
    } else {
      r.remaining -= next / r.whole_s;
    }
  }
  std::erase_if(running_, [](const Running& r) { return r.remaining == 0; });
  return now_ += next;
}

}  // namespace parabench::analytic
