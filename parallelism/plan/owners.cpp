#include "parallelism/plan/owners.h"

namespace parabench {

PieceOwners::PieceOwners(const Plan& plan)
    : replicas_(plan.replicas),
      steps_(plan.steps),
      micro_batches_(micro_batches(plan)),
      owners_(static_cast<std::size_t>(plan.stages) * plan.replicas) {
  const auto place = [&](const Holding& h) { return h.stage.value * replicas_ + h.replica; };
  std::vector<int> sharers(owners_.size(), 0);
  for (const RankProgram& rank : plan.ranks) {
    for (const Holding& h : rank.holds) ++sharers[place(h)];
  }
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    for (const Holding& h : plan.ranks[r].holds) {
      auto& owners = owners_[place(h)];
      if (sharers[place(h)] == 1) {
        owners = {Rank(r)};
        continue;
      }
      if (owners.empty()) owners.assign(static_cast<std::size_t>(steps_) * micro_batches_, Rank(-1));
      const SegmentId entry = segments_of(plan, h.stage).first;
      for (const Op& op : plan.ranks[r].compute()) {
        if (op.kind == OpKind::forward && op.segment == entry) {
          owners[static_cast<std::size_t>(op.step) * micro_batches_ + op.micro_batch.value] = Rank(r);
        }
      }
    }
  }
}

Rank PieceOwners::of(StageId stage, int replica, MicroBatchId m, int step) const {
  const auto& owners = owners_[static_cast<std::size_t>(stage.value) * replicas_ + replica];
  if (owners.empty()) return Rank(-1);
  return owners.size() == 1 ? owners.front()
                            : owners[static_cast<std::size_t>(step % steps_) * micro_batches_ + m.value];
}

}  // namespace parabench
