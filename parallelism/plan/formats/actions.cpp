#include "parallelism/plan/formats/actions.h"

#include <algorithm>

namespace parabench::plan {
namespace {

bool continues(const Plan& plan, const Op& before, const Op& op) {
  return before.kind == op.kind && before.step == op.step && before.micro_batch == op.micro_batch &&
         stage_of(plan, before.segment) == stage_of(plan, op.segment);
}

std::string letters(OpKind kind) { return kind == OpKind::recompute ? "R" : std::string(parabench::to_text(kind)); }

}  // namespace

std::vector<Action> actions(const Plan& plan, Rank rank) {
  std::vector<Action> result;
  const auto& ops = plan.ranks[rank.value].compute();
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    if (result.empty() || !continues(plan, result.back().op, ops[i])) result.push_back({ops[i], i, i});
    result.back().last = i;
    result.back().overlaps_next = ops[i].overlaps_next;
  }
  return result;
}

int number(const Plan& plan, const Op& op) {
  return plan.asynchronous ? op.step.value * micro_batches(plan) + op.micro_batch.value : op.micro_batch.value;
}

std::string to_text(const Plan& plan, Rank rank, const Action& action) {
  if (action.op.kind == OpKind::update) return "U";
  if (action.op.kind == OpKind::norms) return "N";
  if (action.op.kind == OpKind::average) return "A";
  if (action.op.kind == OpKind::add) return "S";
  if (action.op.kind == OpKind::encode) return "E";
  if (action.op.kind == OpKind::project) return "P";
  if (action.op.kind == OpKind::decode) return "D";
  std::string text = letters(action.op.kind) + std::to_string(number(plan, action.op));
  const auto& holds = plan.ranks[rank.value].holds;
  if (holds.size() == 1) return text;
  const bool crossed = std::ranges::any_of(holds, [&](const Holding& h) { return h.replica != holds[0].replica; });
  if (crossed) return text + (replica_of(plan, rank, action.op.segment).value % 2 == 0 ? 'd' : 'u');
  return std::to_string(stage_of(plan, action.op.segment).value) + text;
}

}  // namespace parabench::plan
