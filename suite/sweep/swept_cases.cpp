#include "suite/sweep/swept_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/split.h"
#include "base/units_text.h"
#include "suite/sweep/sweep_grid.h"

namespace parabench::suite {
namespace {

constexpr std::string_view option = "--sweep";
constexpr std::string_view hint = "sweep fewer values, or make several sweeps";

/// Where "np=2" ends its name; brackets hold '=' as well. npos: it continues the list of values before it.
std::size_t equals_of(std::string_view item) {
  const std::size_t equals = item.find('=');
  return equals < item.find('[') ? equals : std::string_view::npos;
}

std::int64_t whole(const CaseKey& key, std::string_view range, std::string_view text) {
  if (key.type == KeyType::size) return parse_bytes(fmt::format("{} {}", option, key.name), text).value;
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size())
    throw usage_error(fmt::format("{} {}", option, key.name), range, "A..B or A..B+C of whole numbers",
                      "try 2..64 for 2, 4, 8, ..., or 2..10+2 for 2, 4, 6, ...");
  return value;
}

std::string text_of(const CaseKey& key, std::int64_t value) {
  return key.type == KeyType::size ? print_bytes(Bytes(value)) : std::to_string(value);
}

void add_range(const CaseKey& key, std::string_view range, std::size_t dots, std::vector<std::string>& values) {
  const std::string subject = fmt::format("{} {}", option, key.name);
  if (key.type != KeyType::integer && key.type != KeyType::size)
    throw usage_error(subject, range, "a list of values: only whole numbers and sizes have ranges", accepted_text(key));
  const std::size_t plus = range.find('+', dots);
  const std::int64_t first = whole(key, range, range.substr(0, dots)),
                     last = whole(key, range, range.substr(dots + 2, plus - std::min(plus, dots + 2)));
  const std::int64_t step = plus == std::string_view::npos ? 0 : whole(key, range, range.substr(plus + 1));
  if (first < 1 || last < first || (plus != std::string_view::npos && step < 1))
    throw usage_error(subject, range, "a range that begins at 1 or above and does not end before, with a step above 0");
  if (step > 0 && static_cast<std::size_t>((last - first) / step) >= most_swept)
    throw usage_error(subject, range, fmt::format("at most {} values", most_swept), hint);
  for (std::int64_t value = first;;) {
    values.push_back(text_of(key, value));
    const std::int64_t more = step > 0 ? step : value;
    if (last - value < more) break;
    value += more;
  }
}

void add_values(SweptAxis& axis, std::string_view text) {
  if (text.empty()) throw usage_error(option, axis.name, "a value behind each '=' and ','");
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    axis.values.emplace_back(text);
  } else {
    add_range(find_case_key(axis.name), text, dots, axis.values);
  }
}

}  // namespace

std::vector<SweptAxis> parse_sweep(std::string_view text) {
  std::vector<SweptAxis> axes;
  for (const std::string_view item : split_at_commas(text)) {
    const std::size_t equals = equals_of(item);
    if (equals == std::string_view::npos) {
      if (axes.empty()) throw usage_error(option, text, "KEY=VALUES[,KEY=VALUES]...", "try np=2..16,micro=4,8");
      add_values(axes.back(), item);
      continue;
    }
    const std::string_view name = item.substr(0, equals);
    if (std::ranges::find(axes, name, &SweptAxis::name) != axes.end())
      throw usage_error(option, text, fmt::format("{} at most once", name), "its values stand behind one '='");
    axes.push_back({.name = std::string(name), .values = {}});
    add_values(axes.back(), item.substr(equals + 1));
  }
  return axes;
}

std::vector<Case> swept_cases(const Case& base, const std::vector<SweptAxis>& axes) {
  nlohmann::json grid{
      {"model", to_text(base.model)}, {"dataset", to_text(base.dataset)}, {"strategy", to_text(base.strategy)}};
  for (const CaseKey& key : case_keys()) {
    const std::string text = value_text(base, key);
    if (key.required || text != default_text(key, base)) grid[std::string(key.name)] = text;
  }
  for (const SweptAxis& axis : axes) grid[axis.name] = axis.values;
  return grid_cases(JsonReader(grid, std::string(option)), most_swept, hint);
}

}  // namespace parabench::suite
