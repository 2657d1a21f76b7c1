#include "analytic/closed_forms/second_opinion.h"

#include "analytic/closed_forms/copy_opinions.h"
#include "analytic/closed_forms/pipeline_opinions.h"

namespace parabench::analytic {

std::map<std::string, double> second_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  std::map<std::string, double> opinions;
  if (plan.ranks.size() == 1) {
    double& sum = opinions["sum_of_operations"];
    for (const plan::Op& op : plan.ranks[0].compute()) sum += time.seconds(plan, Rank(0), op, 1) / plan.steps;
  } else if (!plan.servers.empty()) {
    opinions["parameter_server"] = server_opinion(plan, sizes, time);
  } else if (plan.asynchronous) {
    opinions["pipedream_planner"] = planner_period(plan, sizes, time);
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

}  // namespace parabench::analytic
