// Optimizers as a table: how each is called, what it takes in brackets, what it reads of a case and what it stores.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

enum class OptimizerKind { sgd, adam, adamw, lars };
constexpr std::array<std::string_view, 4> names_of(OptimizerKind) { return {"sgd", "adam", "adamw", "lars"}; }

/// How the next weights w' of a parameter tensor follow from its gradient g in update t = 1, 2, ...; states start as
/// zeros. With lr, momentum, weight_decay (d) and the extras below:
///  - sgd (torch.optim.SGD, dampening 0): h = g + d w;  v' = momentum v + h;  w' = w - lr v';
///    with nesterov: w' = w - lr (h + momentum v')
///  - adam (torch.optim.Adam; Kingma and Ba, ICLR'15): h = g + d w;  m' = beta1 m + (1 - beta1) h;
///    s' = beta2 s + (1 - beta2) h^2;  w' = w - lr (m' / (1 - beta1^t)) / (sqrt(s' / (1 - beta2^t)) + eps)
///  - adamw (torch.optim.AdamW; Loshchilov and Hutter, ICLR'19): as adam with h = g and (1 - lr d) w in place of w
///  - lars (You, Gitman and Ginsburg 2017, arXiv 1708.03888, as NVIDIA apex's LARC with clip=False): sgd with
///    h = r (g + d w), r = trust |w| / (|g| + d |w| + eps), norms over the tensor; where one of them is zero, h = g.
///    Every tensor has its ratio, biases and those of norms too.
struct OptimizerRule {
  OptimizerKind kind = OptimizerKind::sgd;
  double lr = 0.01, momentum = 0.9, weight_decay = 0;
  bool nesterov = false;
  double beta1 = 0, beta2 = 0;
  double eps = 0;
  double trust = 0;
};

/// An extra of an optimizer: a number or a switch.
struct OptimizerParameter {
  std::string_view name;
  std::variant<bool OptimizerRule::*, double OptimizerRule::*> member;
  double usual = 0;  ///< its default; of a switch 0 or 1
  bool (*accepts)(double) = nullptr;
  std::string_view expected;  ///< that range for people
};

struct OptimizerRow {
  OptimizerKind kind;
  std::string_view help;
  std::vector<OptimizerParameter> parameters;  ///< in canonical order
  bool reads_momentum = false;  ///< the key; else it stays at its default. Where it is 0, the state for it is not kept
  int states = 0;               ///< values kept for each parameter from one update to the next
  bool counts_updates = false;  ///< reads t
  bool reads_norms = false;     ///< of whole tensors; else element by element
  /// Values moved to and from memory for each parameter in an update, momentum included: weight, gradient and states
  /// read, weight and states written; weight and gradient once more where norms come first.
  int words = 0;
};

/// All optimizers; the first is the default.
std::span<const OptimizerRow> optimizers();
/// Throws usage_error with the nearest name.
const OptimizerRow& find_optimizer(std::string_view name);
/// Every optimizer with its extras at their defaults, for people: "sgd[nesterov=off], adam[beta1=0.9,...], ...".
std::string optimizers_text();

/// The choice with its extras in the table's order, as shortest text, defaults left out. Throws usage_error for an
/// unknown optimizer or extra and for a value outside its range.
NamedChoice canonical_optimizer(const NamedChoice& choice);

/// The rule of a case. Throws usage_error where its keys do not go together: nesterov without momentum, momentum with
/// an optimizer that has none, and what canonical_optimizer() refuses.
OptimizerRule optimizer_rule(const Case& spec);

/// Values that the rule keeps for each parameter.
int state_count(const OptimizerRule& rule);

}  // namespace parabench
