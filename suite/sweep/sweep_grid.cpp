#include "suite/sweep/sweep_grid.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/case_id.h"
#include "base/case_key.h"
#include "base/case_text.h"
#include "parallelism/plan/strategies/parameters.h"
#include "suite/cases/where.h"
#include "suite/sweep/sweep_reader.h"

namespace parabench::suite {
namespace {

constexpr std::array<std::string_view, 3> choices = {"model", "dataset", "strategy"};

/// The parts of ids that an axis stands for: "resnet18", "np:4".
std::vector<std::string> parts_of_choice(std::string_view name, const JsonReader& axis) {
  std::vector<std::string> parts;
  for (const JsonReader& item : items_of(axis))
    parts.push_back(to_text(known_choice(name, item.place(), text_of(item))));
  return parts;
}

std::vector<std::string> parts_of_key(const CaseKey& key, const JsonReader& axis) {
  std::vector<std::string> parts;
  for (const JsonReader& item : items_of(axis)) {
    const std::string text = text_of(item);
    CaseKey here = key;
    const std::string place = item.place();
    here.name = place;  // What it refuses by itself names the place, too.
    Case probe;
    if (!here.read(probe, here, text)) throw usage_error(place, text, accepted_text(key));
    parts.push_back(fmt::format("{}:{}", key.name, text));
  }
  return parts;
}

std::vector<std::vector<std::string>> axes_of(const JsonReader& grid) {
  std::vector<std::string_view> known(choices.begin(), choices.end());
  for (const CaseKey& key : case_keys()) known.push_back(key.name);
  require_known(grid, known);
  std::vector<std::vector<std::string>> axes;
  const auto add = [&](std::vector<std::string> parts, const JsonReader& axis) {
    if (parts.empty()) throw axis.error("at least one value");
    axes.push_back(std::move(parts));
  };
  for (const std::string_view name : choices) add(parts_of_choice(name, grid.at(name)), grid.at(name));
  for (const CaseKey& key : case_keys())
    if (key.required || grid.has(key.name)) add(parts_of_key(key, grid.at(key.name)), grid.at(key.name));
  return axes;
}

}  // namespace

std::vector<Case> grid_cases(const JsonReader& grid, std::size_t most, std::string_view hint) {
  const auto axes = axes_of(grid);
  double combinations = 1;
  for (const auto& axis : axes) combinations *= static_cast<double>(axis.size());
  if (combinations > static_cast<double>(most))
    throw usage_error(grid.place(), fmt::format("{:.0f} combinations", combinations),
                      fmt::format("at most {} combinations", most), hint);
  std::vector<std::string> ids = {""};
  for (const auto& axis : axes) {
    std::vector<std::string> longer;
    for (const std::string& id : ids)
      for (const std::string& part : axis) longer.push_back(id.empty() ? part : id + "/" + part);
    ids = std::move(longer);
  }
  std::vector<Case> cases;
  for (const std::string& id : ids) cases.push_back(plan::canonical(parse_case(id)));
  return cases;
}

}  // namespace parabench::suite
