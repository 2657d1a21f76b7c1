#include "analytic/simulate/activities.h"

#include <algorithm>
#include <cmath>
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
constexpr double most_lost = most_weight / (1 + most_weight);  ///< of the cores, to all exchanges together
constexpr std::int64_t weight_unit = 1 << 20;                  ///< a computing thread's; whole parts add up exactly

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

CorePools core_pools(const plan::Plan& plan, const TimeModel& time, const std::vector<int>& ranks_of_host) {
  const std::int64_t own = time.cores_of_rank(plan.spec);
  CorePools pools;
  std::vector<int> of_host(ranks_of_host.size(), -1);
  const auto add = [&](int cores, int host) {
    pools.cores.push_back(cores);
    pools.ranks.push_back(0);
    pools.hosts.push_back(host);
    return static_cast<int>(pools.cores.size()) - 1;
  };
  for (Rank rank; rank.value < plan.spec.np; ++rank) {
    const int host = host_of(plan.placement, rank);
    if (plan.spec.device == DeviceKind::cpu && ranks_of_host[host] * own <= time.cores()) {
      pools.of_rank.push_back(add(static_cast<int>(own), host));
    } else {
      if (of_host[host] < 0) of_host[host] = add(time.cores(), host);
      pools.of_rank.push_back(of_host[host]);
    }
    ++pools.ranks[pools.of_rank.back()];
  }
  return pools;
}

std::vector<int> count_ranks(const plan::Plan& plan) {
  std::vector<int> ranks(host_count(plan.placement));
  for (Rank rank; rank.value < plan.spec.np; ++rank) ++ranks[host_of(plan.placement, rank)];
  return ranks;
}

}  // namespace

SharingActivities::SharingActivities(const plan::Plan& plan, const TimeModel& time)
    : plan_(plan),
      time_(time),
      ranks_of_host_(count_ranks(plan)),
      uplinks_(time.uplinks()),
      cores_(time.cores()),
      pools_(core_pools(plan, time, ranks_of_host_)),
      crowd_(crowd_of(plan, cores_)) {
  const std::size_t hosts = ranks_of_host_.size(), pools = pools_.cores.size();
  for (std::vector<int>* counts : {&load_.busy, &load_.streaming}) counts->assign(hosts, 0);
  for (std::vector<int>* counts : {&load_.computing, &load_.cores}) counts->assign(pools, 0);
  load_.weights.assign(pools, 0);
  load_.lost.assign(pools, 0);
  load_.passing.assign(2 * hosts, 0);
}

void SharingActivities::start(const Activity& activity, double now) {
  now_ = now;
  if (unused_.empty()) {
    unused_.push_back(static_cast<int>(places_.size()));
    places_.emplace_back();
    said_s_.resize(places_.size() * says());
  }
  const int number = unused_.back();
  unused_.pop_back();
  Running& running = places_[number];
  const bool computes = plan::lane_kind(activity.op->kind) == plan::LaneKind::compute;
  running = {
      .activity = activity,
      .computes = computes,
      .streams = streams(activity.op->kind),
      .demand = demand_of_a_rank(plan_.spec, computes) * (computes ? 1 : activity.ends),
  };
  if (pools_.cores.size() > 1) place(running);
  running.weight = weight_unit;
  if (!computes) weigh(running);
  std::fill_n(&said_s_[number * says()], says(), unknown);
  count(running, 1);
  running_.push_back(number);
  contended_.emplace_back();
  measured_s_.push_back(0);
  shape_.push_back(shape_of(running));
  remaining_.push_back(1);
  whole_s_.push_back(0);
}

void SharingActivities::place(Running& running) const {
  const Activity& activity = running.activity;
  running.host = host_of(plan_.placement, activity.rank);
  if (running.computes) return;
  const std::vector<Rank> ranks = ranks_of(plan_, activity);
  std::vector<int> pools;
  for (const Rank rank : ranks) pools.push_back(pools_.of_rank[rank.value]);
  std::ranges::sort(pools);
  for (const int pool : pools) {
    if (running.used.empty() || running.used.back().pool != pool) running.used.push_back({pool});
    running.used.back().cores += demand_of_a_rank(plan_.spec, /*computes=*/false);
  }
  if (ranks_of_host_.size() == 1 || group_shape(plan_.placement, ranks).hosts == 1) return;
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

/// Alone it gets all cores that it can use; while every rank of its fullest pool computes on one thread, a share of
/// that, by how much longer it then takes.
void SharingActivities::weigh(Running& running) const {
  int fullest = 0, ends = 0;
  for_each_pool(running, [&](int pool, int here) {
    if (here <= ends) return;
    fullest = pool;
    ends = here;
  });
  const int computing = pools_.ranks[fullest], cores = pools_.cores[fullest];
  if (ends == 0 || computing + ends <= cores) return;
  const BesideComputing beside = time_.beside_computing(plan_, running.activity.rank, *running.activity.op);
  if (beside.slowdown <= 0) return;
  const double share = std::min(1.0, static_cast<double>(cores) / ends) / beside.slowdown;
  const double left = cores - share * ends;  // to those that compute
  const double weight = left > 0 ? std::min(most_weight, share * computing / left) : most_weight;
  running.weight = std::max<std::int64_t>(1, std::llround(weight * weight_unit));
  if (!beside.lost_share) return;
  const double has = std::min(1.0, static_cast<double>(cores) / computing);  // of a core, a rank that computes
  running.lost = std::llround(*beside.lost_share * has * weight_unit);
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

int SharingActivities::busy_ranks(const Shape& shape) const {
  // Two operations of one rank are as two ranks that compute, and so many were measured at most.
  const int beside = shape.streams ? load_.streaming[shape.host] : load_.busy[shape.host];
  return shape.computes ? std::min(beside, ranks_of_host_[shape.host]) : 1;
}

double SharingActivities::said_s(int number, int busy) {
  double& said = said_s_[number * says() + busy];
  if (said < 0) {
    const Activity& activity = places_[number].activity;
    said = time_.seconds(plan_, activity.rank, *activity.op, busy);
  }
  return said;
}

void SharingActivities::measure() {
  busy_.clear();
  for (const Shape& shape : shapes_) busy_.push_back(busy_ranks(shape));
  for (; measured_ < running_.size(); ++measured_) {
    const int number = running_[measured_], busy = busy_[shape_[measured_]];
    const Running& running = places_[number];
    const double crowded_s = said_s(number, busy);
    contended_[measured_] = {.by_cores_s = crowded_s};
    if (busy == 1 || !shares_memory(running)) continue;
    contended_[measured_] = contended(said_s(number, 1), crowded_s, crowd_, busy);
  }
}

/// Passes that run beside each other may need more of the memory, or less, than those beside which each was measured.
/// What else computes, such as an update, counts as the like of each, and keeps what it takes itself.
void SharingActivities::mix() {
  excess_.assign(ranks_of_host_.size(), 0);
  passes_.assign(ranks_of_host_.size(), 0);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const Running& running = places_[running_[i]];
    if (!shares_memory(running)) continue;
    excess_[running.host] += contended_[i].excess;
    ++passes_[running.host];
  }
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const Running& running = places_[running_[i]];
    const Contended& own = contended_[i];
    measured_s_[i] = own.by_cores_s;
    if (!shares_memory(running) || excess_[running.host] == 0) continue;
    const int computing = load_.busy[running.host];
    // Without its own; each that is no pass counts as its like.
    const double others = excess_[running.host] + (computing - passes_[running.host] - 1) * own.excess;
    const double at_once =
        std::clamp(static_cast<double>(cores_) / running.demand, 1.0, static_cast<double>(computing));
    measured_s_[i] = seconds_beside(own, others / std::max(1, computing - 1), at_once);
  }
}

int SharingActivities::shape_of(const Running& running) {
  const Shape shape{running.computes, running.streams, running.host, running.demand, running.weight};
  const auto found = std::ranges::find(shapes_, shape);
  if (found != shapes_.end()) return static_cast<int>(found - shapes_.begin());
  shapes_.push_back(shape);
  return static_cast<int>(shapes_.size()) - 1;
}

void SharingActivities::count(const Running& running, int times) {
  for_each_pool(running, [&](int pool, int cores) {
    const int ends = times * cores;
    load_.cores[pool] += ends;
    load_.weights[pool] += running.weight * ends;
    load_.lost[pool] += running.lost.value_or(0) * ends;
    if (plan::is_collective(running.activity.op->kind)) load_.streaming[pools_.hosts[pool]] += ends;
    if (running.computes) load_.computing[pool] += ends;
  });
  for (const int port : running.ports) load_.passing[port] += times;
  if (running.streams) load_.streaming[running.host] += times;
  if (running.weight != weight_unit || running.lost) weighted_ += times;
  if (running.computes) load_.busy[running.host] += times;
}

void SharingActivities::count_uplinks() {
  load_.up.assign(2 * ranks_of_host_.size(), 0);
  for (const int number : running_) {
    const Running& running = places_[number];
    for (const int port : running.uplinks) load_.up[port] += running.links_up * share_of_links(running);
  }
}

/// What is known, and where it is not, what each thread of theirs gets by its weight among all that run in the pool,
/// one at most.
void SharingActivities::count_exchanges() {
  exchanges_.assign(pools_.cores.size(), 0);
  for (const int number : running_) {
    const Running& running = places_[number];
    if (running.computes || running.lost) continue;
    for_each_pool(running, [&](int pool, int ends) {
      if (ends == 0) return;
      const auto weight = static_cast<double>(running.weight), all = static_cast<double>(load_.weights[pool]);
      exchanges_[pool] += ends * std::min(1.0, pools_.cores[pool] * weight / all);
    });
  }
  for (std::size_t pool = 0; pool < exchanges_.size(); ++pool) {
    exchanges_[pool] += static_cast<double>(load_.lost[pool]) / weight_unit;
    exchanges_[pool] = std::min(exchanges_[pool], most_lost * pools_.cores[pool]);
  }
}

/// What messages and collectives leave is divided among those that compute.
SharingActivities::Stretch SharingActivities::stretch_in(int pool, const Shape& shape) const {
  // Passes were measured while as many ranks computed as do now; updates, while as many updated.
  const int ranks = shape.computes ? std::min(busy_ranks(shape), pools_.ranks[pool]) : 1;
  const double cores = pools_.cores[pool], before = std::max(pools_.cores[pool], ranks * shape.demand);
  double here = std::max(pools_.cores[pool], load_.cores[pool]);
  if (weighted_ > 0 && load_.cores[pool] > pools_.cores[pool]) {
    here = shape.computes
               ? cores * load_.computing[pool] / (cores - exchanges_[pool])
               : std::max(cores, static_cast<double>(load_.weights[pool]) / static_cast<double>(shape.weight));
  }
  if (shape.demand == 0 || here <= before) return {cores, cores};
  return {here, before};
}

/// What it takes where its cores, and the links between its hosts, are as loaded as they are.
double SharingActivities::stretched_s(const Running& running, double measured_s) const {
  Stretch most;  // in the pool that holds it up most
  for_each_pool(running, [&](int pool, int cores) {
    const Stretch here = stretch_in(pool, {.computes = running.computes,
                                           .streams = running.streams,
                                           .host = running.host,
                                           .demand = cores,
                                           .weight = running.weight});
    if (here.wanted * most.measured > most.wanted * here.measured) most = here;
  });
  const double by_cores = most.wanted / most.measured;
  const double alone = running.uplinks.empty() ? 1 : std::min(1.0, uplinks_.links / running.links_up);
  const double rate = share_of_links(running) * share_of_uplinks(running);
  const double by_links = rate < alone ? 1 + running.on_link * (alone / rate - 1) : 1;
  // What waits for one of them needs less of the other meanwhile.
  return measured_s * std::max(by_cores, by_links);
}

void SharingActivities::reload() {
  if (uplinks_.hosts_per_rack > 0) count_uplinks();
  if (load_ != before_) {
    if (load_.busy != before_.busy || load_.streaming != before_.streaming) measured_ = 0;
    known_ = 0;
    if (weighted_ > 0) count_exchanges();
  }
  before_ = load_;
  const std::size_t size = running_.size();
  if (measured_ < size) {
    measure();
    mix();
    known_ = 0;
  }
  if (pools_.cores.size() > 1) {
    for (; known_ < size; ++known_) whole_s_[known_] = stretched_s(places_[running_[known_]], measured_s_[known_]);
    return;
  }
  stretches_.clear();
  for (const Shape& shape : shapes_) stretches_.push_back(stretch_in(0, shape));
  for (; known_ < size; ++known_) {
    const Stretch& stretch = stretches_[shape_[known_]];
    whole_s_[known_] = measured_s_[known_] * stretch.wanted / stretch.measured;
  }
}

void SharingActivities::remove_ended(double together, std::vector<int>& ended) {
  ended_.clear();
  for (std::size_t i = 0; i < left_s_.size(); ++i)
    if (left_s_[i] <= together) ended_.push_back(static_cast<int>(i));
  for (const int i : ended_) {
    const Running& running = places_[running_[i]];
    ended.push_back(running.activity.lane);
    count(running, -1);
    unused_.push_back(running_[i]);
  }
  // From the back, few at a time: the others move as blocks of memory.
  for (auto i = ended_.rbegin(); i != ended_.rend(); ++i) {
    for (std::vector<int>* of : {&running_, &shape_}) of->erase(of->begin() + *i);
    for (std::vector<double>* of : {&measured_s_, &remaining_, &whole_s_}) of->erase(of->begin() + *i);
    contended_.erase(contended_.begin() + *i);
  }
  measured_ = known_ = running_.size();
}

double SharingActivities::finish(std::vector<int>& ended) {
  reload();
  const std::size_t size = running_.size();
  left_s_.resize(size);
  for (std::size_t i = 0; i < size; ++i) left_s_[i] = remaining_[i] * whole_s_[i];
  const double next = *std::ranges::min_element(left_s_);
  for (std::size_t i = 0; i < size; ++i) remaining_[i] -= next / whole_s_[i];
  // What ends within a rounding error of the first ends with it; else equal operations would part by an ulp.
  remove_ended(next * (1 + 1e-9), ended);
  return now_ += next;
}

}  // namespace parabench::analytic
