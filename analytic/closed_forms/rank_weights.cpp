#include "analytic/closed_forms/rank_weights.h"

namespace parabench::analytic {

Sharing sharing_of(const plan::Plan& plan, Rank rank) {
  Sharing sharing;
  const StageId stage = plan.ranks[rank.value].holds.front().stage;
  sharing.replicas = static_cast<int>(plan::holders(plan, stage).size());
  for (const plan::Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind != plan::OpKind::update || op.group.value < 0) continue;
    sharing.members = static_cast<int>(plan.groups[op.group.value].ranks.size());
    sharing.what = plan.room.weights > 0                             ? Sharded::parameters
                   : plan.room.gradients > 0 || plan.scatters_pieces ? Sharded::gradients
                                                                     : Sharded::optimizer;
    break;
  }
  sharing.drops = sharing.what == Sharded::parameters && plan.spec.reshard;
  return sharing;
}

double weight_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  double bytes = 0;
  for (const plan::Holding& held : plan.ranks[rank.value].holds) {
    const auto [first, last] = plan::segments_of(plan, held.stage);
    bytes += static_cast<double>(sizes.parameter_bytes(plan, first, last.value - first.value + 1));
  }
  const bool has_share_alone = plan::served_in_shares(plan) && plan::is_server(plan, rank);
  return has_share_alone ? bytes / static_cast<double>(plan.servers.size()) : bytes;
}

}  // namespace parabench::analytic
