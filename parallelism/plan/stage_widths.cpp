#include "parallelism/plan/stage_widths.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "base/error.h"

namespace parabench {
namespace {

constexpr std::string_view key = "replicas";

std::vector<int> parse(const std::string& text) {
  std::vector<int> widths;
  const char *next = text.data(), *end = next + text.size();
  for (;;) {
    int width = 0;
    const auto [after, error] = std::from_chars(next, end, width);
    if (error != std::errc() || width < 1 || (after != end && *after != '-')) {
      throw usage_error("strategy parameter replicas", text, "ranks of each stage, joined by -", "try replicas=3-1");
    }
    widths.push_back(width);
    if (after == end) return widths;
    next = after + 1;
  }
}

}  // namespace

std::vector<int> stage_widths(const Case& spec) {
  const auto& parameters = spec.strategy.parameters;
  const auto given = std::ranges::find(parameters, key, &std::pair<std::string, std::string>::first);
  if (given == parameters.end()) return std::vector<int>(spec.np, 1);
  std::vector<int> widths = parse(given->second);
  const int ranks = std::accumulate(widths.begin(), widths.end(), 0);
  if (ranks != spec.np) {
    throw usage_error("strategy parameter replicas", given->second,
                      "ranks that add up to np, " + std::to_string(spec.np) + ", not " + std::to_string(ranks),
                      "try np:" + std::to_string(ranks));
  }
  return widths;
}

}  // namespace parabench
