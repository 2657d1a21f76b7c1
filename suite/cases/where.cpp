#include "suite/cases/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <utility>

#include "base/blanks.h"
#include "base/case_key.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/split.h"
#include "datasets/spec/dataset.h"
#include "models/spec/nets/nets.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::suite {
namespace {

constexpr std::array<std::pair<std::string_view, Comparison>, 7> operators{{
    {"<=", Comparison::less_equal},
    {">=", Comparison::greater_equal},
    {"!=", Comparison::not_equal},
    {"==", Comparison::equal},
    {"<", Comparison::less},
    {">", Comparison::greater},
    {"=", Comparison::equal},
}};

constexpr std::array<std::string_view, 5> choices{"model", "dataset", "strategy", "optimizer", "order"};

/// The names that one of the choices can have.
std::vector<std::string> names_of_choice(std::string_view key) {
  std::vector<std::string> names;
  if (key == "model") {
    for (const models::Net& net : models::nets()) names.push_back(net.name);
  } else if (key == "dataset") {
    for (const datasets::DatasetRow& row : datasets::dataset_rows()) names.push_back(row.spec.name);
  } else if (key == "strategy") {
    for (const plan::Strategy& strategy : plan::strategies()) names.emplace_back(strategy.name);
  } else {
    const std::span<const std::string_view> known = find_case_key(key).choices;
    names.assign(known.begin(), known.end());
  }
  return names;
}

const NamedChoice& choice(const Case& spec, std::string_view key) {
  return key == "model"       ? spec.model
         : key == "dataset"   ? spec.dataset
         : key == "strategy"  ? spec.strategy
         : key == "optimizer" ? spec.optimizer
                              : spec.order;
}

bool is_choice(std::string_view key) { return std::ranges::find(choices, key) != choices.end(); }

bool is_order(Comparison comparison) { return comparison != Comparison::equal && comparison != Comparison::not_equal; }

bool compares(Comparison comparison, std::partial_ordering order) {
  switch (comparison) {
    case Comparison::equal: return order == 0;
    case Comparison::not_equal: return order != 0;
    case Comparison::less: return order < 0;
    case Comparison::less_equal: return order <= 0;
    case Comparison::greater: return order > 0;
    case Comparison::greater_equal: return order >= 0;
  }
  return false;
}

const CaseKey& find_key(std::string_view name) {
  std::vector<std::string> known(choices.begin(), choices.end());
  for (const CaseKey& key : case_keys()) {
    if (key.name == name) return key;
    if (!is_choice(key.name)) known.emplace_back(key.name);
  }
  throw usage_error("--where", name, "a key of a case", nearest_hint(name, known));
}

Condition parse_condition(std::string_view text) {
  const std::size_t at = text.find_first_of("<>=!");
  const auto found =
      at == std::string_view::npos
          ? operators.end()
          : std::ranges::find_if(operators, [&](const auto& o) { return text.substr(at).starts_with(o.first); });
  const auto value =
      found == operators.end() ? std::string_view() : trimmed(text.substr(at + found->first.size()), " ");
  if (found == operators.end() || at == 0 || value.find_first_of("<>=!") == 0) {
    throw usage_error("--where", text, "comparisons such as np<=4,micro=8", "operators: = != < <= > >=");
  }
  return {std::string(trimmed(text.substr(0, at), " ")), found->second, std::string(value)};
}

/// Whether the key's values, if it is one, have an order.
bool is_ordered(std::string_view key) { return !is_choice(key) && find_key(key).is_ordered(); }

/// With parameters in one order, defaults left out where a table knows them.
NamedChoice canonical(std::string_view key, const NamedChoice& choice) {
  if (key == "model") return models::choose_net(choice).canonical;
  if (key == "dataset") return datasets::canonical_dataset(choice);
  if (key != "strategy") return find_case_key(key).canonical(choice);
  NamedChoice strategy = choice;
  std::ranges::sort(strategy.parameters);
  return strategy;
}

/// The value as holds() compares it.
std::string checked_value(const Condition& condition) {
  const std::string subject = fmt::format("--where {}", condition.key);
  if (is_choice(condition.key)) {
    return to_text(known_choice(condition.key, subject, condition.value));
  }
  CaseKey key = find_key(condition.key);
  if (condition.value.empty() && key.optional) return "";
  const std::string usual = value_text({}, key);
  key.name = subject;  // What it refuses by itself names the option, too.
  Case probe;
  if (!key.read(probe, key, condition.value))
    throw usage_error(subject, condition.value, accepted_text(key),
                      usual.empty() ? "" : fmt::format("try {}={}", condition.key, usual));
  return condition.value;
}

}  // namespace

NamedChoice known_choice(std::string_view key, std::string_view subject, std::string_view text) {
  const std::vector<std::string> known = names_of_choice(key);
  const NamedChoice choice = parse_choice(subject, text);
  if (std::ranges::find(known, choice.name) == known.end())
    throw usage_error(subject, choice.name, fmt::format("a known {}", key), nearest_hint(choice.name, known));
  return canonical(key, choice);
}

std::vector<Condition> parse_where(std::string_view expression) {
  std::vector<Condition> conditions;
  for (const std::string_view part : split_at_commas(expression)) {
    if (part.empty() && !expression.empty())
      throw usage_error("--where", expression, "a comparison on both sides of each comma", "leave the comma out");
    Condition condition = parse_condition(trimmed(part, " "));
    if (!is_ordered(condition.key) && is_order(condition.comparison)) {
      throw usage_error("--where", part, fmt::format("= or != for {}, whose values have no order", condition.key),
                        fmt::format("try {}={}", condition.key, condition.value));
    }
    condition.whole = is_choice(condition.key) && condition.value.find('[') != std::string::npos;
    condition.value = checked_value(condition);
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

bool holds(const Condition& condition, const Case& spec) {
  if (is_choice(condition.key)) {
    const NamedChoice& actual = choice(spec, condition.key);
    const bool equal = condition.value == (condition.whole ? to_text(canonical(condition.key, actual)) : actual.name);
    return equal == (condition.comparison == Comparison::equal);
  }
  const CaseKey& key = find_key(condition.key);
  Case wanted;
  if (!condition.value.empty()) set_value(wanted, key, condition.value);
  return compares(condition.comparison, key.compare(spec, wanted));
}

}  // namespace parabench::suite
