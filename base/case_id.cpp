#include "base/case_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/pattern.h"

namespace parabench {
namespace {

constexpr std::string_view form = "model/dataset/strategy/np:N/batch:B[/key:value]...";
constexpr std::string_view example = "try resnet18/cifar10-synthetic/data-parallel/np:2/batch:32";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// What to write instead of a part without a colon: `np=2` is a slip for np:2, `micro` a key without its value.
std::string pair_hint(std::string_view part) {
  const std::size_t end = std::min(part.find('='), part.size());
  const auto key = std::ranges::find(case_keys(), part.substr(0, end), &CaseKey::name);
  if (key == case_keys().end()) return std::string(example);
  if (end + 1 < part.size()) return fmt::format("try {}:{}", key->name, part.substr(end + 1));
  return fmt::format("write {}:<{}>", key->name, to_text(key->type));
}

}  // namespace

Case parse_case(std::string_view id) {
  std::vector<std::string_view> parts = split(id, '/');
  if (std::erase(parts, "") > 0 && !parts.empty()) {
    throw usage_error("case id", id, "no '/' at either end, and one between parts",
                      fmt::format("try {}", fmt::join(parts, "/")));
  }
  if (parts.size() < 3) throw usage_error("case id", id, form, example);
  Case spec;
  spec.model = parse_choice("model", parts[0]);
  spec.dataset = parse_choice("dataset", parts[1]);
  spec.strategy = parse_choice("strategy", parts[2]);
  std::set<std::string_view> given;
  for (std::size_t i = 3; i < parts.size(); ++i) {
    const std::size_t colon = parts[i].find(':');
    if (colon == std::string_view::npos) throw usage_error("case id", parts[i], "key:value", pair_hint(parts[i]));
    const CaseKey& key = find_case_key(parts[i].substr(0, colon));
    if (!given.insert(key.name).second)
      throw usage_error("case id", parts[i], "each key once", "leave one of them out");
    set_value(spec, key, parts[i].substr(colon + 1));
  }
  for (const CaseKey& key : case_keys()) {
    if (given.contains(key.name)) continue;
    if (key.required) throw usage_error("case id", id, form, fmt::format("add {}:<{}>", key.name, to_text(key.type)));
    if (key.follow) key.follow(spec, spec);
  }
  return spec;
}

std::string to_id(const Case& spec) {
  std::string id = fmt::format("{}/{}/{}", to_text(spec.model), to_text(spec.dataset), to_text(spec.strategy));
  for (const CaseKey& key : case_keys()) {
    const std::string value = value_text(spec, key);
    if (key.required || value != default_text(key, spec)) id += fmt::format("/{}:{}", key.name, value);
  }
  return id;
}

bool filter_matches(std::string_view filter, std::string_view id) {
  try {
    return to_id(parse_case(filter)) == id;
  } catch (const Error&) {
    // Not an id, so it is an expression.
  }
  return finds_pattern("--filter", filter, PatternSyntax::ecmascript, id);
}

}  // namespace parabench
