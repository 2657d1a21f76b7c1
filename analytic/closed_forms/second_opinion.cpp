#include "analytic/closed_forms/second_opinion.h"

#include <utility>

#include "analytic/closed_forms/copy_opinions.h"
#include "analytic/closed_forms/pipeline_opinions.h"

namespace parabench::analytic {
namespace {

bool shares_cores(const plan::Plan& plan, const TimeModel& time) {
  if (time.cores() == 0 || plan.spec.device == DeviceKind::cuda) return false;
  const int ranks = ranks_on_fullest_host(plan.placement, plan.spec.np);
  return ranks * threads_of_operation(plan.spec) > time.cores();
}

}  // namespace

std::map<std::string, double> second_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  std::map<std::string, double> opinions;
  if (plan.ranks.size() == 1) {
    double& sum = opinions["sum_of_operations"];
    for (const plan::Op& op : plan.ranks[0].compute()) sum += time.seconds(plan, Rank(0), op, 1) / plan.steps;
  } else if (!plan.servers.empty()) {
    opinions["parameter_server"] = server_opinion(plan, sizes, time);
  } else if (plan.asynchronous) {
    opinions["pipedream_planner"] = planner_period(plan, sizes, time).seconds;
  } else if (plan.averaging.every > 0) {
    opinions["local_steps"] = local_opinion(plan, time);
  } else if (plan::uses(plan, plan::OpKind::encode)) {
    opinions["compressed_sums"] = overlapped_opinion(plan, time);
  } else if (plan.stages == 1) {
    add_copy_opinions(plan, sizes, time, opinions);
  } else {
    add_pipeline_opinions(plan, time, opinions);
  }
  return opinions;
}

std::map<std::string, std::vector<std::string>> broken_assumptions(const plan::Plan& plan, const TimeModel& time,
                                                                   const std::map<std::string, double>& opinions) {
  std::map<std::string, std::vector<std::string>> broken;
  for (const auto& [name, seconds] : opinions) {
    std::vector<std::string> clauses;
    if (shares_cores(plan, time) && (name == "unequal_stages" || name == "schedule_formula"))
      broken.emplace(name, std::vector<std::string>{"ranks that share cores are taken to share them all the time"});
    if (!name.starts_with("ddlbench")) continue;
    if (plan::uses(plan, plan::OpKind::recompute)) clauses.emplace_back("the forwards that run again are not counted");
    if (!plan.statistics.empty()) clauses.emplace_back("the sums of batch norms' statistics are not counted");
    if (shares_cores(plan, time)) clauses.emplace_back("ranks that share cores are taken to have theirs to themselves");
    if (plan.stages == 1 && !backward_hides(plan, time))
      clauses.emplace_back("the backward does not hide all collectives but the last");
    if (!clauses.empty()) broken.emplace(name, std::move(clauses));
  }
  return broken;
}

}  // namespace parabench::analytic
