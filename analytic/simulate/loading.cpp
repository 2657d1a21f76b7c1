#include "analytic/simulate/loading.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analytic/simulate/step_parts.h"

namespace parabench::analytic {
namespace {

/// By rank, of a step.
std::vector<double> samples_read(const plan::Plan& plan) {
  std::map<std::pair<ReplicaId, int>, std::vector<Rank>> readers;  // by replica and shard
  for (const Rank rank : plan::holders(plan, StageId(0))) {
    if (plan::is_server(plan, rank)) continue;
    const plan::Holding& holding = *plan::find_holding(plan, rank, StageId(0));
    readers[{holding.replica, holding.shard}].push_back(rank);
  }
  std::vector<double> samples(plan.ranks.size());
  for (const auto& [of, ranks] : readers) {
    const std::vector<int>& pieces = plan.pieces[of.first.value];
    const double all = std::accumulate(pieces.begin(), pieces.end(), 0.0);
    for (const Rank rank : ranks) samples[rank.value] = all / static_cast<double>(ranks.size());
  }
  return samples;
}

/// Of the time for which a rank computes, what its loader cannot use.
double share_lost_to_computing(const Case& spec) {
  if (spec.device != DeviceKind::cpu) return 0;
  const double threads = spec.threads, loaders = spec.loader;
  return 1 - threads / (threads + loaders) / std::min(1.0, threads / loaders);
}

}  // namespace

std::vector<double> loading_s(const plan::Plan& plan, const TimeModel& time) {
  std::vector<double> seconds = samples_read(plan);
  std::vector<int> loading(host_count(plan.placement));
  for (Rank rank; rank.value < std::ssize(seconds); ++rank)
    if (seconds[rank.value] > 0) ++loading[host_of(plan.placement, rank)];
  for (Rank rank; rank.value < std::ssize(seconds); ++rank)
    if (double& s = seconds[rank.value]; s > 0)
      s *= time.load_s_per_sample(plan, loading[host_of(plan.placement, rank)]);
  return seconds;
}

void wait_for_samples(Predicted& predicted, const plan::Plan& plan, const TimeModel& time) {
  std::vector<double> loading = loading_s(plan, time);
  for (const RankPredicted& rank : predicted.ranks)
    if (double& s = loading[rank.rank.value]; s > 0)
      s += share_lost_to_computing(plan.spec) * computing_s(rank.breakdown_s);
  const double slowest = std::ranges::max(loading);
  const double wait = slowest - predicted.step_time_s;
  if (!(wait > 0)) return;
  predicted.step_time_s = slowest;
  predicted.throughput_samples_per_s = plan::trained_samples(plan) / slowest;
  predicted.interval_s.first = std::max(predicted.interval_s.first, slowest);
  predicted.interval_s.second = std::max(predicted.interval_s.second, slowest);
  for (RankPredicted& rank : predicted.ranks) {
    const bool loads_longest = loading[rank.rank.value] == slowest;
    (loads_longest ? rank.breakdown_s.data_wait : rank.breakdown_s.bubble) += wait;
  }
  predicted.timeline.reset();
}

}  // namespace parabench::analytic
