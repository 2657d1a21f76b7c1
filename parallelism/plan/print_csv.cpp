#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/actions.h"
#include "parallelism/plan/print.h"
#include "parallelism/plan/progress.h"

namespace parabench {
namespace {

/// Actions of one rank in torch.distributed.pipelining's spelling.
class CsvRow {
 public:
  CsvRow(const Plan& plan, Rank rank) : plan_(plan), starts_action_(plan.ranks[rank.value].compute().size(), 0) {
    for (const Action& action : actions(plan, rank)) starts_action_[action.first] = 1;
  }

  void add(const OpRef& ref) {
    const Op& op = at(plan_, ref);
    if (is_over_run(op.kind) || op.kind == OpKind::recompute) return;
    if (ref.lane == compute_lane && !starts_action_[ref.index]) return;
    const std::string action = std::to_string(stage_of(plan_, op.segment).value) + std::string(name(op.kind)) +
                               std::to_string(number(plan_, op));
    if (!text_.empty()) text_ += ',';
    text_ += action;
  }
  const std::string& text() const { return text_; }

 private:
  const Plan& plan_;
  std::vector<char> starts_action_;  ///< by index on the compute lane
  std::string text_;
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
    if (holds[0].replica == 0) ranks.push_back(Rank(r));
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

}  // namespace parabench
