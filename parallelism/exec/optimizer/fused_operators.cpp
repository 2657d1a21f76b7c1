#include "parallelism/exec/optimizer/fused_operators.h"

#include <torch/utils.h>

#include <utility>

namespace parabench::exec {
namespace {

using List = std::vector<torch::Tensor>;

/// All parameters, list by list; `next` already holds the weights.
struct Lists {
  List next, first, second, gradients, updates, squares;
};

Lists lists_of(const std::vector<UpdateOperands>& parameters) {
  Lists lists;
  List from, to;
  for (const UpdateOperands& p : parameters) {
    if (!p.next.is_same(p.weights)) {
      from.push_back(p.weights);
      to.push_back(p.next);
    }
    lists.next.push_back(p.next);
    if (p.states[0].defined()) lists.first.push_back(p.states[0]);
    if (p.states[1].defined()) lists.second.push_back(p.states[1]);
    lists.gradients.push_back(p.gradient);
    if (p.update.defined()) lists.updates.push_back(p.update);
    if (p.squares.defined()) lists.squares.push_back(p.squares);
  }
  if (!to.empty()) at::_foreach_copy_(to, from);
  return lists;
}

void sgd(const OptimizerRule& rule, const Lists& lists) {
  at::_fused_sgd_(lists.next, lists.gradients, lists.first, rule.weight_decay, rule.momentum, rule.lr,
                  /*dampening=*/0, rule.nesterov, /*maximize=*/false, /*is_first_step=*/false);
}

void adam(const OptimizerRule& rule, const Lists& lists) {
  const auto fused = [&](auto update) {
    update(lists.next, lists.gradients, lists.first, lists.second, /*max_exp_avg_sqs=*/List{}, lists.updates, rule.lr,
           rule.beta1, rule.beta2, rule.weight_decay, rule.eps, /*amsgrad=*/false, /*maximize=*/false);
  };
  if (rule.kind == OptimizerKind::adamw) {
    fused([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  } else {
    fused([](auto&&... arguments) { at::_fused_adam_(arguments...); });
  }
}

/// Of weights and of gradients, each of the whole parameter.
std::pair<List, List> norms(const Lists& lists) {
  if (lists.squares.empty()) return {at::_foreach_norm(lists.next), at::_foreach_norm(lists.gradients)};
  std::pair<List, List> norms;
  for (const torch::Tensor& squares : lists.squares) {
    const torch::Tensor roots = squares.sqrt().to(lists.next.front().scalar_type());
    norms.first.push_back(roots[0]);
    norms.second.push_back(roots[1]);
  }
  return norms;
}

/// h = ratio (g + d w), where one of the norms is zero h = g.
List adapted(const OptimizerRule& rule, const Lists& lists) {
  const auto [weight_norms, gradient_norms] = norms(lists);
  List gradients;
  for (std::size_t i = 0; i < lists.next.size(); ++i) {
    const torch::Tensor &w = weight_norms[i], &g = gradient_norms[i];
    const torch::Tensor adapts = (w > 0).logical_and(g > 0);
    const torch::Tensor ratio = torch::where(adapts, rule.trust * w / (g + rule.weight_decay * w + rule.eps), 1.0);
    const torch::Tensor decay = adapts.to(ratio.scalar_type()) * rule.weight_decay;
    gradients.push_back((lists.gradients[i] + decay * lists.next[i]).mul_(ratio));
  }
  return gradients;
}

void lars(const OptimizerRule& rule, const Lists& lists) {
  List steps = adapted(rule, lists);
  if (!lists.first.empty()) {
    at::_foreach_mul_(lists.first, rule.momentum);
    at::_foreach_add_(lists.first, steps);
    steps = lists.first;
  }
  at::_foreach_add_(lists.next, steps, -rule.lr);
}

}  // namespace

void update_by_operators(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) {
  torch::NoGradGuard no_grad;
  if (parameters.empty()) return;
  const Lists lists = lists_of(parameters);
  switch (rule.kind) {
    case OptimizerKind::sgd: return sgd(rule, lists);
    case OptimizerKind::adam:
    case OptimizerKind::adamw: return adam(rule, lists);
    case OptimizerKind::lars: return lars(rule, lists);
  }
}

}  // namespace parabench::exec
