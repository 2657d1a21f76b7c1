#include "base/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/units_text.h"

namespace parabench {
namespace {

constexpr bool below_one(double x) { return x >= 0 && x < 1; }
bool positive(double x) { return x > 0 && std::isfinite(x); }
constexpr std::string_view fraction = "a number >= 0 and < 1", above_zero = "a number > 0";

const OptimizerParameter nesterov{"nesterov", &OptimizerRule::nesterov, 0, nullptr, "on or off"};
const OptimizerParameter beta1{"beta1", &OptimizerRule::beta1, 0.9, below_one, fraction};
const OptimizerParameter beta2{"beta2", &OptimizerRule::beta2, 0.999, below_one, fraction};
const OptimizerParameter trust{"trust", &OptimizerRule::trust, 0.001, positive, above_zero};

OptimizerParameter eps(double usual) { return {"eps", &OptimizerRule::eps, usual, positive, above_zero}; }

bool is_switch(const OptimizerParameter& parameter) { return parameter.member.index() == 0; }

std::string print(const OptimizerParameter& parameter, double value) {
  return is_switch(parameter) ? (value != 0 ? "on" : "off") : print_number(value);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

double value_of(const OptimizerRow& row, const OptimizerParameter& parameter, std::string_view text) {
  const std::string subject = fmt::format("{} of {}", parameter.name, to_text(row.kind));
  if (is_switch(parameter)) {
    constexpr std::array<std::string_view, 2> names{"off", "on"};
    return static_cast<double>(index_of_name(subject, text, names));
  }
  const std::optional<double> value = number(text);
  if (!value || !parameter.accepts(*value)) {
    throw usage_error(subject, text, parameter.expected,
                      fmt::format("try {}={}", parameter.name, print(parameter, parameter.usual)));
  }
  return *value;
}

/// The value of each of the row's parameters, defaults included.
std::vector<double> values(const OptimizerRow& row, const NamedChoice& choice) {
  std::vector<std::string_view> names;
  std::vector<double> values;
  for (const OptimizerParameter& parameter : row.parameters) {
    names.emplace_back(parameter.name);
    values.push_back(parameter.usual);
  }
  for (const auto& [name, text] : choice.parameters) {
    const std::size_t place = index_of_parameter(std::string(to_text(row.kind)), name, names);
    values[place] = value_of(row, row.parameters[place], text);
  }
  return values;
}

}  // namespace

std::span<const OptimizerRow> optimizers() {
  static const std::vector<OptimizerRow> table{
      {.kind = OptimizerKind::sgd,
       .help = "SGD with momentum",
       .parameters = {nesterov},
       .reads_momentum = true,
       .states = 1,
       .words = 5},
      {.kind = OptimizerKind::adam,
       .help = "Adam, weight decay in the gradient",
       .parameters = {beta1, beta2, eps(1e-8)},
       .states = 2,
       .counts_updates = true,
       .words = 7},
      {.kind = OptimizerKind::adamw,
       .help = "AdamW, weight decay of its own",
       .parameters = {beta1, beta2, eps(1e-8)},
       .states = 2,
       .counts_updates = true,
       .words = 7},
      {.kind = OptimizerKind::lars,
       .help = "SGD with layer-wise adaptive rates",
       .parameters = {trust, eps(1e-9)},
       .reads_momentum = true,
       .states = 1,
       .reads_norms = true,
       .words = 7},
  };
  return table;
}

const OptimizerRow& find_optimizer(std::string_view name) {
  return *std::ranges::find(optimizers(), parse_enum<OptimizerKind>("optimizer", name), &OptimizerRow::kind);
}

std::string optimizers_text() {
  std::string text;
  for (const OptimizerRow& row : optimizers()) {
    NamedChoice usual{std::string(to_text(row.kind)), {}};
    for (const OptimizerParameter& p : row.parameters) usual.parameters.emplace_back(p.name, print(p, p.usual));
    text += (text.empty() ? "" : ", ") + to_text(usual);
  }
  return text;
}

NamedChoice canonical_optimizer(const NamedChoice& choice) {
  const OptimizerRow& row = find_optimizer(choice.name);
  const std::vector<double> given = values(row, choice);
  NamedChoice canonical{choice.name, {}};
  for (std::size_t i = 0; i < given.size(); ++i) {
    const OptimizerParameter& parameter = row.parameters[i];
    if (given[i] != parameter.usual) canonical.parameters.emplace_back(parameter.name, print(parameter, given[i]));
  }
  return canonical;
}

OptimizerRule optimizer_rule(const Case& spec) {
  const OptimizerRow& row = find_optimizer(spec.optimizer.name);
  OptimizerRule rule{.kind = row.kind, .lr = spec.lr, .momentum = spec.momentum, .weight_decay = spec.weight_decay};
  const std::vector<double> given = values(row, spec.optimizer);
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::visit([&](auto member) { rule.*member = given[i]; }, row.parameters[i].member);
  }
  if (rule.nesterov && rule.momentum == 0) {
    throw usage_error("optimizer", to_text(spec.optimizer),
                      "momentum above 0 with nesterov=on, which looks ahead along it",
                      "try momentum:0.9, or leave nesterov out");
  }
  if (!row.reads_momentum && spec.momentum != Case{}.momentum) {
    throw usage_error(
        "momentum", print_number(spec.momentum),
        fmt::format("the default {}: {} does not use this key", print_number(Case{}.momentum), to_text(row.kind)),
        "leave momentum out; its first average is set by beta1");
  }
  return rule;
}

int state_count(const OptimizerRule& rule) {
  const OptimizerRow& row = *std::ranges::find(optimizers(), rule.kind, &OptimizerRow::kind);
  return row.reads_momentum && rule.momentum == 0 ? row.states - 1 : row.states;
}

}  // namespace parabench
