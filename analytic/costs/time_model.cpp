#include "analytic/costs/time_model.h"

#include <algorithm>
#include <limits>

namespace parabench::analytic {

double share_of_all_reduce(plan::OpKind collective) { return collective == plan::OpKind::all_reduce ? 1 : 0.5; }

int link_sharers(const plan::Plan& plan, const plan::Op& message) {
  if (!plan::is_over_run(message) || plan.servers.empty()) return 1;
  // On the processor messages share its cores, which the simulation sees to.
  if (plan.spec.device == DeviceKind::cpu) return 1;
  // A server's: the workers of one update; a worker's: the servers that share a run.
  const auto servers = plan::served_in_shares(plan) ? std::ssize(plan.servers) : 1;
  return std::max(plan.replicas, static_cast<int>(servers));
}

double TimeModel::seconds(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const {
  return parts(plan, rank, op, busy_ranks).total();
}

double TimeModel::deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const { return 0; }

BesideComputing TimeModel::beside_computing(const plan::Plan&, Rank, const plan::Op&) const { return {}; }

double TimeModel::load_s_per_sample(const plan::Plan&, int) const { return 0; }

Link TimeModel::link(const plan::Plan&) const { return {.bytes_per_s = std::numeric_limits<double>::infinity()}; }

std::string TimeModel::link_source() const { return source(); }

std::string TimeModel::assumption(const plan::Plan&) const { return ""; }

std::string TimeModel::link_assumption(const plan::Plan& plan, Rank, const plan::Op&) const { return assumption(plan); }

}  // namespace parabench::analytic
