#include "parallelism/plan/strategies/stage_widths.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "base/error.h"

namespace parabench::plan {

namespace {

/// The text of a parameter, nullptr where it is not given.
const std::string* parameter(const Case& spec, std::string_view name) {
  const auto& given = spec.strategy.parameters;
  const auto found = std::ranges::find(given, name, &std::pair<std::string, std::string>::first);
  return found == given.end() ? nullptr : &found->second;
}

std::vector<int> parse(const std::string& text) {
  std::vector<int> widths;
  const char *next = text.data(), *end = next + text.size();
  for (;;) {
    int width = 0;
    const auto [after, error] = std::from_chars(next, end, width);
    if (error != std::errc() || width < 1 || (after != end && *after != '-')) {
      throw usage_error("replicas of pipedream", text, replicas_expected, "try replicas=auto or replicas=3-1");
    }
    widths.push_back(width);
    if (after == end) return widths;
    next = after + 1;
  }
}

}  // namespace

bool plans_widths(const Case& spec) {
  const std::string* replicas = parameter(spec, "replicas");
  return replicas && *replicas == "auto";
}

std::vector<int> stage_widths(const Case& spec) {
  const std::string* replicas = parameter(spec, "replicas");
  if (!replicas) return std::vector<int>(spec.np, 1);
  std::vector<int> widths = parse(*replicas);
  const int ranks = std::accumulate(widths.begin(), widths.end(), 0);
  if (ranks != spec.np) {
    throw usage_error("replicas of pipedream", *replicas,
                      "ranks that add up to np, " + std::to_string(spec.np) + ", not " + std::to_string(ranks),
                      "try np:" + std::to_string(ranks));
  }
  return widths;
}

std::vector<int> stage_widths(const Plan& plan) {
  std::vector<int> widths;
  // A stage's servers compute none of its pieces.
  for (const std::vector<Rank>& group : holders(plan)) {
    const StageId stage(static_cast<int>(widths.size()));
    widths.push_back(static_cast<int>(group.size() - servers_of(plan, stage).size()));
  }
  return widths;
}

SyncModel sync_model(const Case& spec) {
  const std::string* sync = parameter(spec, "sync");
  if (!sync) return SyncModel::ring;
  if (!plans_widths(spec)) {
    throw usage_error("sync of pipedream", *sync, "replicas=auto beside it: only its planner reads sync",
                      "leave sync out, or write replicas=auto");
  }
  return parse_enum<SyncModel>("sync of pipedream", *sync);
}

}  // namespace parabench::plan
