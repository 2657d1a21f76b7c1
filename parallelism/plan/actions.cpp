#include "parallelism/plan/actions.h"

namespace parabench {

std::vector<Action> actions(const RankProgram& rank) {
  std::vector<Action> result;
  const auto& ops = rank.lane(Lane::compute);
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    const Op& op = ops[i];
    const bool continues = !result.empty() && result.back().op.kind == op.kind && result.back().op.step == op.step &&
                           result.back().op.micro_batch == op.micro_batch;
    if (continues) {
      result.back().last = i;
    } else {
      result.push_back({op, i, i});
    }
  }
  return result;
}

int number(const Plan& plan, const Op& op) { return plan.asynchronous ? op.step : op.micro_batch.value; }

std::string to_text(const Plan& plan, const Action& action) {
  if (action.op.kind == OpKind::update) return "U";
  return std::string(name(action.op.kind)) + std::to_string(number(plan, action.op));
}

}  // namespace parabench
