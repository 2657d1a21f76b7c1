#include "analytic/simulate/activities.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace parabench::analytic {
namespace {

constexpr double unknown = -1;
/// Of an exchange that computing does not slow down: it takes its cores first.
constexpr double most_weight = 20;

/// Of a host, or of a rack.
int way_out(int place) { return 2 * place; }
int way_in(int place) { return 2 * place + 1; }

/// Cores that it would use on each rank that takes part.
int demand_of_a_rank(const Case& spec, bool computes) {
  if (spec.device == DeviceKind::cuda) return 0;
  return computes ? threads_of_operation(spec) : 1;
}

std::vector<Rank> ranks_of(const plan::Plan& plan, const Activity& activity) {
  if (plan::is_collective(activity.op->kind)) return plan.groups[activity.op->group.value].ranks;
  if (plan::is_message(activity.op->kind)) return {activity.rank, activity.op->peer};
  return {activity.rank};
}

bool streams(plan::OpKind kind) {
  return plan::lane_kind(kind) == plan::LaneKind::compute && !plan::is_pass(kind) && !plan::is_of_compression(kind);
}

}  // namespace

SharingActivities::SharingActivities(const plan::Plan& plan, const TimeModel& time)
    : plan_(plan), time_(time), ranks_of_host_(host_count(plan.placement)), uplinks_(time.uplinks()) {
  for (Rank rank; rank.value < plan.spec.np; ++rank) ++ranks_of_host_[host_of(plan.placement, rank)];
}

void SharingActivities::start(const Activity& activity, double now) {
  now_ = now;
  const bool computes = plan::lane_kind(activity.op->kind) == plan::LaneKind::compute;
  Running& running =
      running_.emplace_back(Running{.activity = activity,
                                    .computes = computes,
                                    .streams = streams(activity.op->kind),
                                    .demand = demand_of_a_rank(plan_.spec, computes) * (computes ? 1 : activity.ends)});
  if (ranks_of_host_.size() > 1) place(running);
  if (!computes) running.weight = weight_of(running);
  if (!spare_.empty()) {
    running.known_s = std::move(spare_.back());
    spare_.pop_back();
  }
  running.known_s.assign(plan_.spec.np + 1, unknown);
}

void SharingActivities::place(Running& running) const {
  const Activity& activity = running.activity;
  running.host = host_of(plan_.placement, activity.rank);
  running.on_host.resize(ranks_of_host_.size());
  const std::vector<Rank> ranks = ranks_of(plan_, activity);
  for (const Rank rank : ranks)
    running.on_host[host_of(plan_.placement, rank)] += demand_of_a_rank(plan_.spec, running.computes);
  if (group_shape(plan_.placement, ranks).hosts == 1) return;
  if (plan::is_message(activity.op->kind)) {
    running.ports = {way_out(running.host), way_in(host_of(plan_.placement, activity.op->peer))};
  } else {
    for (const Rank rank : ranks) {
      const int host = host_of(plan_.placement, rank);
      for (const int port : {way_out(host), way_in(host)})
        if (std::ranges::find(running.ports, port) == running.ports.end()) running.ports.push_back(port);
    }
  }
  const TimeParts parts = time_.parts(plan_, activity.rank, *activity.op, 1);
  running.on_link = parts.total() > 0 ? parts.transfer / parts.total() : 0;
  running.sharers = plan::is_message(activity.op->kind) ? link_sharers(plan_, *activity.op) : 1;
  if (uplinks_.hosts_per_rack > 0) place_in_racks(running, ranks);
}

int SharingActivities::ends_on(const Running& running, std::size_t host) const {
  return running.on_host.empty() ? running.demand : running.on_host[host];
}

/// Alone it gets all cores that it can use; while every rank of its fullest host computes on one thread, a share of
/// that, by how much longer it then takes.
double SharingActivities::weight_of(const Running& running) const {
  const Activity& activity = running.activity;
  const double slowdown = time_.slowdown_beside_computing(plan_, activity.rank, *activity.op);
  std::size_t host = 0;
  for (std::size_t other = 1; other < ranks_of_host_.size(); ++other)
    if (ends_on(running, other) > ends_on(running, host)) host = other;
  const int cores = time_.cores(), ends = ends_on(running, host), computing = ranks_of_host_[host];
  if (slowdown <= 0 || ends == 0 || computing + ends <= cores) return 1;
  const double share = std::min(1.0, static_cast<double>(cores) / ends) / slowdown;
  const double left = cores - share * ends;  // to those that compute
  return left > 0 ? std::min(most_weight, share * computing / left) : most_weight;
}

void SharingActivities::place_in_racks(Running& running, const std::vector<Rank>& ranks) const {
  std::map<int, std::set<int>> hosts;  // by rack
  for (const Rank rank : ranks) {
    const int host = host_of(plan_.placement, rank);
    hosts[host / uplinks_.hosts_per_rack].insert(host);
  }
  if (hosts.size() == 1) return;
  running.links_up = 1;
  if (plan::is_message(running.activity.op->kind)) {
    const int to = host_of(plan_.placement, running.activity.op->peer);
    running.uplinks = {way_out(running.host / uplinks_.hosts_per_rack), way_in(to / uplinks_.hosts_per_rack)};
    return;
  }
  const bool whole = running.activity.op->kind == plan::OpKind::all_reduce;
  constexpr std::int64_t large = std::numeric_limits<std::int64_t>::max();
  const bool all = sends_at_once(algorithm_of(plan_.spec.reduce, group_shape(plan_.placement, ranks), whole, large));
  for (const auto& [rack, own] : hosts) {
    running.uplinks.insert(running.uplinks.end(), {way_out(rack), way_in(rack)});
    if (all) running.links_up = std::max(running.links_up, static_cast<double>(own.size()));
  }
}

/// Of the rate that it has alone on the links of its hosts.
double SharingActivities::share_of_links(const Running& running) const {
  int fullest = running.sharers;
  for (const int port : running.ports) fullest = std::max(fullest, load_.passing[port]);
  return static_cast<double>(running.sharers) / fullest;
}

/// Of what the links of its hosts let through.
double SharingActivities::share_of_uplinks(const Running& running) const {
  double share = 1;
  for (const int port : running.uplinks) share = std::min(share, uplinks_.links / load_.up[port]);
  return share;
}

double SharingActivities::measured_s(Running& running, int busy_ranks) const {
  double& known = running.known_s[busy_ranks];
  if (known < 0) known = time_.seconds(plan_, running.activity.rank, *running.activity.op, busy_ranks);
  return known;
}

void SharingActivities::count_load() {
  const std::size_t hosts = ranks_of_host_.size();
  for (std::vector<int>* counts : {&load_.busy, &load_.streaming, &load_.computing, &load_.cores})
    counts->assign(hosts, 0);
  load_.weights.assign(hosts, 0);
  load_.exchanges.assign(hosts, 0);
  load_.passing.assign(2 * hosts, 0);
  if (uplinks_.hosts_per_rack > 0) load_.up.assign(2 * hosts, 0);
  for (const Running& r : running_) {
    for (std::size_t host = 0; host < hosts; ++host) {
      const int ends = ends_on(r, host);
      load_.cores[host] += ends;
      load_.weights[host] += r.weight * ends;
      if (plan::is_collective(r.activity.op->kind)) load_.streaming[host] += ends;
    }
    for (const int port : r.ports) ++load_.passing[port];
    if (r.streams) ++load_.streaming[r.host];
    if (!r.computes) continue;
    ++load_.busy[r.host];
    load_.computing[r.host] += r.demand;
  }
  for (const Running& r : running_) {
    if (r.computes) continue;
    for (std::size_t host = 0; host < hosts; ++host)
      load_.exchanges[host] += ends_on(r, host) * share_of_cores(r, host);
  }
  for (const Running& r : running_)
    for (const int port : r.uplinks) load_.up[port] += r.links_up * share_of_links(r);
}

/// Of a core, for each thread of it on a host: by weight among all that run there. What messages and collectives leave
/// is divided among those that compute.
double SharingActivities::share_of_cores(const Running& running, std::size_t host) const {
  const int cores = time_.cores();
  if (load_.cores[host] <= cores) return 1;
  if (!running.computes) return std::min(1.0, cores * running.weight / load_.weights[host]);
  return std::min(1.0, (cores - load_.exchanges[host]) / load_.computing[host]);
}

/// What it takes where its hosts' cores, and the links between them, are as loaded as they are.
double SharingActivities::stretched_s(const Running& running) const {
  double stretch = 1;  // on the host that holds it up most
  for (std::size_t host = 0; host < ranks_of_host_.size(); ++host) {
    const int own = ends_on(running, host);
    if (own == 0) continue;
    const double measured = static_cast<double>(time_.cores()) / (running.computes ? load_.computing[host] : own);
    stretch = std::max(stretch, std::min(1.0, measured) / share_of_cores(running, host));
  }
  double seconds = running.measured_s * stretch;
  const double alone = running.uplinks.empty() ? 1 : std::min(1.0, uplinks_.links / running.links_up);
  const double rate = share_of_links(running) * share_of_uplinks(running);
  if (rate < alone) seconds *= 1 + running.on_link * (alone / rate - 1);
  return seconds;
}

void SharingActivities::reload() {
  count_load();
  for (Running& r : running_) {
    // Two operations of one rank are as two ranks that compute, and so many were measured at most.
    const int beside = r.streams ? load_.streaming[r.host] : load_.busy[r.host];
    const int busy = r.computes ? std::min(beside, ranks_of_host_[r.host]) : 1;
    if (r.measured_busy != busy) {
      r.measured_busy = busy;
      r.measured_s = measured_s(r, busy);
    }
    r.whole_s = stretched_s(r);
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
