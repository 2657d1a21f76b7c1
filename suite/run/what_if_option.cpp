#include "suite/run/what_if_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/case_id.h"
#include "base/error.h"
#include "base/split.h"
#include "base/units_text.h"

namespace parabench::suite {
namespace {

using analytic::Change;
using analytic::WhatIf;

constexpr std::string_view option = "--what-if";

/// A figure that changes: how its value is read and printed; nullptr: by a factor alone.
struct Figure {
  std::string_view name, what;
  std::string_view values;  ///< that it takes besides a factor, for people; "" for none
  double (*read)(std::string_view subject, std::string_view text);
  std::string (*print)(double value);
  Change (*get)(const WhatIf& what_if);
  void (*set)(WhatIf& what_if, const Change& change);
};

double read_seconds(std::string_view subject, std::string_view text) { return parse_seconds(subject, text).value; }
double read_count(std::string_view subject, std::string_view text) {
  int count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code != std::errc{} || end != text.data() + text.size()) throw usage_error(subject, text, "an integer >= 1");
  return count;
}
std::string print_seconds(double value) { return print_number(value) + "s"; }

constexpr std::array<Figure, 6> figures{{
    {"bandwidth", "of links and of what collectives move", "a rate such as 100Gbit/s or 50GB/s", parse_rate, print_rate,
     [](const WhatIf& w) { return w.bandwidth; }, [](WhatIf& w, const Change& c) { w.bandwidth = c; }},
    {"latency", "of messages and of a collective's steps", "a time such as 10us", read_seconds, print_seconds,
     [](const WhatIf& w) { return w.latency; }, [](WhatIf& w, const Change& c) { w.latency = c; }},
    {"flops", "of passes", "", nullptr, nullptr, [](const WhatIf& w) { return Change{.factor = w.device.flops}; },
     [](WhatIf& w, const Change& c) { w.device.flops = c.factor; }},
    {"memory", "its bandwidth", "", nullptr, nullptr, [](const WhatIf& w) { return Change{.factor = w.device.memory}; },
     [](WhatIf& w, const Change& c) { w.device.memory = c.factor; }},
    {"cores", "of each host, for device:cpu", "a number of cores", read_count, print_number,
     [](const WhatIf& w) { return w.cores; }, [](WhatIf& w, const Change& c) { w.cores = c; }},
    {"uplink", "of the racks of --hardware, the rate", "", nullptr, nullptr,
     [](const WhatIf& w) { return Change{.factor = w.uplink}; },
     [](WhatIf& w, const Change& c) { w.uplink = c.factor; }},
}};

constexpr auto names = [] {
  std::array<std::string_view, figures.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = figures[i].name;
  return all;
}();

/// Beyond these the arithmetic of times has no digits left.
constexpr double least = 1e-15, most = 1e18;
bool is_sensible(double value) { return value >= least && value <= most; }

std::optional<double> factor_of(std::string_view text) {
  double factor = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool whole = code == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(factor) && is_sensible(factor) ? std::optional(factor) : std::nullopt;
}

Change read_change(const Figure& figure, std::string_view text) {
  const std::string subject = fmt::format("{} {}", option, figure.name);
  const std::string expected = fmt::format("a factor from {:g} to {:g} such as x2{}{}", least, most,
                                           figure.values.empty() ? "" : ", or ", figure.values);
  if (text.starts_with('x')) {
    const auto factor = factor_of(text.substr(1));
    if (!factor) throw usage_error(subject, text, expected);
    return {.factor = *factor};
  }
  if (!figure.read)
    throw usage_error(subject, text, expected, "a value of its own takes a data sheet: --hardware FILE");
  double value = 0;
  try {
    value = figure.read(subject, text);
  } catch (const Error&) {
    throw usage_error(subject, text, expected);
  }
  if (value == 0 && figure.name == "latency") return {.value = 0};
  if (!is_sensible(value)) throw usage_error(subject, text, expected);
  return {.value = value};
}

}  // namespace

std::string what_if_help() {
  std::vector<std::string> lines;
  for (const Figure& figure : figures)
    lines.push_back(
        fmt::format("{} ({}{}{})", figure.name, figure.what, figure.values.empty() ? "" : "; or ", figure.values));
  return fmt::format(
      "The same plan on a machine whose figures are others, beside the prediction; NAME=xF for F times as much, of {}",
      fmt::join(lines, ", "));
}

WhatIf parse_what_if(std::string_view text) {
  WhatIf what_if;
  std::vector<std::string_view> given;
  for (const std::string_view part : split_at_commas(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const Figure& figure = figures[index_of_name(option, name, names)];
    if (equals == std::string_view::npos)
      throw usage_error(option, part, "NAME=CHANGE, joined by commas", fmt::format("try {}=x2", name));
    if (std::ranges::find(given, name) != given.end())
      throw usage_error(option, text, fmt::format("{} at most once", name));
    given.push_back(name);
    figure.set(what_if, read_change(figure, part.substr(equals + 1)));
  }
  return what_if;
}

std::map<std::string, std::string> what_if_texts(const WhatIf& what_if) {
  std::map<std::string, std::string> texts;
  for (const Figure& figure : figures) {
    const Change change = figure.get(what_if);
    if (change == Change{}) continue;
    texts.emplace(figure.name,
                  change.value ? figure.print(*change.value) : fmt::format("x{}", print_number(change.factor)));
  }
  return texts;
}

void check_what_if(const Case& spec, const WhatIf& what_if, const analytic::MachineInfo& machine) {
  const bool has_racks = machine.sheet && machine.sheet->network && machine.sheet->network->racks;
  if (what_if.uplink != 1 && !has_racks)
    throw usage_error(fmt::format("{} uplink", option), what_if_texts(what_if).at("uplink"),
                      machine.sheet ? fmt::format("racks in the network of hardware {}", machine.sheet->name)
                                    : "--hardware FILE, whose network has racks",
                      "docs/what_if.md shows such a file");
  if (what_if.cores == Change{} || spec.device == DeviceKind::cpu) return;
  throw usage_error(fmt::format("{} cores", option), what_if_texts(what_if).at("cores"),
                    fmt::format("cases with device:cpu, not {}", to_id(spec)),
                    "ranks on other devices do not share the cores of a host");
}

}  // namespace parabench::suite
