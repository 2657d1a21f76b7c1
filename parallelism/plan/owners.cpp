#include "parallelism/plan/owners.h"

namespace parabench::plan {

PieceOwners::PieceOwners(const Plan& plan)
    : replicas_(plan.replicas),
      shards_(plan.shards),
      steps_(plan.steps),
      micro_batches_(micro_batches(plan)),
      owners_(static_cast<std::size_t>(plan.stages) * plan.replicas * plan.shards) {
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
          owners[static_cast<std::size_t>(op.step.value) * micro_batches_ + op.micro_batch.value] = Rank(r);
        }
      }
    }
  }
}

std::size_t PieceOwners::place(const Holding& h) const {
  return (static_cast<std::size_t>(h.stage.value) * replicas_ + h.replica.value) * shards_ + h.shard;
}

Rank PieceOwners::of(const Holding& holding, MicroBatchId m, StepId step) const {
  const auto& owners = owners_[place(holding)];
  if (owners.empty()) return Rank(-1);
  return owners.size() == 1 ? owners.front()
                            : owners[static_cast<std::size_t>(step.value % steps_) * micro_batches_ + m.value];
}

}  // namespace parabench::plan
