#include "parallelism/plan/rules/micro_batch_sums.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/passes/statistics.h"

namespace parabench::plan {
namespace {

/// The sums of activations, or of their gradients, on one lane.
class ShardSumCheck {
 public:
  ShardSumCheck(const Plan& plan, Rank rank, int lane, Violations& found)
      : plan_(plan), at_{rank, lane}, lane_(plan.ranks[rank.value].lanes[lane]), found_(found) {}

  void check() {
    std::map<std::pair<SegmentId, StepId>, std::map<MicroBatchId, int>> summed;
    for (at_.index = 0; at_.index < std::ssize(lane_.ops); ++at_.index) {
      const Op& op = lane_.ops[at_.index];
      const bool of_statistics = sums_statistics(plan_, op);
      if (of_statistics && !joins_holders(op)) complain(at_, "group", "does not join the holders of its stage");
      if (!of_statistics && !joins_shards(op)) complain(at_, "group", "does not join the shards of its stage");
      if (summed[{op.segment, op.step}][op.micro_batch]++ > 0) complain(at_, "exactly once", "sums a second time");
    }
    // Which segments end in parts of a sum is the layers' business; that all micro-batches are treated alike is not.
    const auto& compute = plan_.ranks[at_.rank.value].compute();
    for (int i = 0; i < std::ssize(compute); ++i) {
      const Op& op = compute[i];
      const bool makes =
          lane_.key.purpose == Payload::activation ? op.kind == OpKind::forward : makes_input_gradient(op.kind);
      const auto found = makes ? summed.find({op.segment, op.step}) : summed.end();
      if (found != summed.end() && !found->second.contains(op.micro_batch)) {
        complain({at_.rank, compute_lane, i}, "exactly once", "is not summed, unlike its neighbours");
      }
    }
  }

 private:
  void complain(OpRef where, std::string rule, const std::string& what) {
    found_.push_back({where, std::move(rule), describe(plan_, where) + ' ' + what});
  }

  /// The operations of a lane have one group, and most of them one stage.
  bool joins_holders(const Op& op) {
    const StageId stage = stage_of(plan_, op.segment);
    if (holders_of_ != stage) joined_ = plan_.groups[op.group.value].ranks == holders(plan_, stage);
    holders_of_ = stage;
    return joined_;
  }

  bool joins_shards(const Op& op) const {
    const StageId stage = stage_of(plan_, op.segment);
    std::vector<Rank> shards = holders(plan_, stage);
    const ReplicaId replica = replica_of(plan_, at_.rank, op.segment);
    std::erase_if(shards, [&](Rank r) { return find_holding(plan_, r, stage)->replica != replica; });
    return plan_.shards > 1 && plan_.groups[op.group.value].ranks == shards;
  }

  const Plan& plan_;
  OpRef at_;
  const Lane& lane_;
  Violations& found_;
  StageId holders_of_{-1};  ///< of which joined_ is known
  bool joined_ = false;
};

}  // namespace

void check_micro_batch_sums(const Plan& plan, Rank rank, Violations& found) {
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    const LaneKey& key = lanes[lane].key;
    if (key.kind == LaneKind::collectives && is_of_micro_batch(key.purpose))
      ShardSumCheck(plan, rank, lane, found).check();
  }
}

void check_statistics(const Plan& plan, Rank rank, Violations& found) {
  std::set<std::tuple<Payload, SegmentId, StepId, MicroBatchId>> summed;
  for (const Lane& lane : plan.ranks[rank.value].lanes)
    for (const Op& op : lane.ops)
      if (sums_statistics(plan, op)) summed.insert({op.payload, op.segment, op.step, op.micro_batch});
  std::set<StageId> of_several;
  for (const Holding& holding : plan.ranks[rank.value].holds)
    if (holders(plan, holding.stage).size() > 1) of_several.insert(holding.stage);
  const auto& compute = plan.ranks[rank.value].compute();
  for (int i = 0; i < std::ssize(compute); ++i) {
    const auto sum = sum_of_statistics(plan, compute[i], GroupId(-1));
    if (!sum || !of_several.contains(stage_of(plan, compute[i].segment))) continue;
    if (summed.contains({sum->payload, sum->segment, sum->step, sum->micro_batch})) continue;
    const OpRef ref{rank, compute_lane, i};
    found.push_back({ref, "exactly once", describe(plan, ref) + " lacks " + to_text(*sum) + ", the sum of statistics"});
  }
}

}  // namespace parabench::plan
