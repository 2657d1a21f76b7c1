#include "parallelism/plan/formats/print_csv.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/formats/actions.h"
#include "parallelism/plan/rules/progress.h"

namespace parabench::plan {
namespace {

/// Actions of one rank in torch.distributed.pipelining's spelling.
class CsvRow {
 public:
  CsvRow(const Plan& plan, Rank rank) : plan_(plan), action_(plan.ranks[rank.value].compute().size(), nullptr) {
    actions_ = actions(plan, rank);
    for (const Action& action : actions_) {
      // Forwards that are recomputed segment by segment cut a backward into several.
      const SegmentRange stage = segments_of(plan, stage_of(plan, action.op.segment));
      const SegmentId first = action.op.kind == OpKind::forward ? stage.first : stage.last;
      if (action.op.segment == first) action_[action.first] = &action;
    }
  }

  void add(const OpRef& ref) {
    const Op& op = at(plan_, ref);
    if (is_over_run(op) || is_collective(op.kind) || op.kind == OpKind::recompute) return;
    if (op.port != 0) return;  // the format knows messages between neighbouring stages alone
    if (ref.lane == compute_lane) {
      if (action_[ref.index]) add_pass(*action_[ref.index]);
    } else if (op.kind == OpKind::send && !open_pair_.empty()) {
      sent_by_pair_.push_back(text(op));
    } else {
      append(text(op));
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text(const Op& op) const {
    return std::to_string(stage_of(plan_, op.segment).value) + name(op) + std::to_string(number(plan_, op));
  }
  void append(const std::string& cell) {
    if (!text_.empty()) text_ += ',';
    text_ += cell;
  }
  /// A pair is one cell: its second pass receives before it, its first one sends after it.
  void add_pass(const Action& action) {
    if (action.overlaps_next) {
      open_pair_ = text(action.op);
      return;
    }
    if (open_pair_.empty()) return append(text(action.op));
    append('(' + open_pair_ + ';' + text(action.op) + ")OVERLAP_F_B");
    for (const std::string& send : sent_by_pair_) append(send);
    open_pair_.clear();
    sent_by_pair_.clear();
  }

  const Plan& plan_;
  std::vector<Action> actions_;
  std::vector<const Action*> action_;  ///< by index on the compute lane: that begins there
  std::string open_pair_, text_;
  std::vector<std::string> sent_by_pair_;
};

/// The ranks of the first copy: the format has no replicas, and all copies do the same.
std::vector<Rank> first_copy(const Plan& plan) {
  std::vector<Rank> ranks;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    const auto& holds = plan.ranks[r].holds;
    if (std::ranges::any_of(holds, [&](const Holding& h) { return h.replica != holds[0].replica; })) {
      throw usage_error("format", "csv", "a plan of one pipeline: the format names stage and micro-batch alone",
                        "try --format json");
    }
    if (holds[0].replica == ReplicaId(0)) ranks.push_back(Rank(r));
  }
  return ranks;
}

}  // namespace

std::string to_csv(const Plan& plan) {
  const std::vector<Rank> printed = first_copy(plan);
  std::vector<LocalDependencies> local;
  std::vector<CsvRow> rows;
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    local.push_back(dependencies(plan, Rank(r)));
    rows.emplace_back(plan, Rank(r));
  }
  const LaneRun progress = run_lanes(plan, local, match(plan), Delivery::rendezvous);
  if (!progress.stuck.empty()) {
    throw usage_error("plan", describe(plan, progress.stuck.front()), "a plan without dead-lock");
  }
  for (OpRef ref : progress.order) rows[ref.rank.value].add(ref);
  std::string text;
  for (Rank r : printed) text += rows[r.value].text() + '\n';
  return text;
}

}  // namespace parabench::plan
