#include "analytic/costs/time_model.h"

#include <limits>

namespace parabench {

double share_of_all_reduce(OpKind collective) { return collective == OpKind::all_reduce ? 1 : 0.5; }

double TimeModel::seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const {
  return parts(plan, rank, op, busy_ranks).total();
}

double TimeModel::deviation_s(const Plan&, Rank, const Op&, int) const { return 0; }

Link TimeModel::link(const Plan&) const { return {.bytes_per_s = std::numeric_limits<double>::infinity()}; }

std::string TimeModel::assumption(const Plan&) const { return ""; }

}  // namespace parabench
