#include "parallelism/plan/partition/planner_chain.h"

#include <algorithm>
#include <limits>

namespace parabench::plan {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The best period of each range on all components of a level, by the recurrence as it stands.
RangeTable<double> level_periods(const PlannerChain& chain, int level) {
  const int n = chain.layers, most = chain.problem.levels[level].components;
  RangeTable<std::vector<double>> behind(n);  // periods of a stage that is not the first, by replicas - 1
  for (int begin = 1; begin < n; ++begin) {
    for (int end = begin + 1; end <= n; ++end) {
      for (int m = 1; m < most; ++m) {
        behind(begin, end).push_back(stage_period(chain.load(level, begin, end, false), m, chain.link(level, m)));
      }
    }
  }
  RangeTable<double> periods(n);
  for (int begin = 0; begin < n; ++begin) {
    std::vector<std::vector<double>> best(n + 1, std::vector<double>(most + 1, infinity));
    for (int end = begin + 1; end <= n; ++end) {
      for (int m = 1; m <= most; ++m) {
        best[end][m] = stage_period(chain.load(level, begin, end, true), m, chain.link(level, m));
      }
      for (int cut = begin + 1; cut < end; ++cut) {
        const std::vector<double>& stage = behind(cut, end);
        for (int m = 2; m <= most; ++m) {
          for (int r = 1; r < m; ++r) best[end][m] = std::min(best[end][m], std::max(best[cut][m - r], stage[r - 1]));
        }
      }
      periods(begin, end) = best[end][most];
    }
  }
  return periods;
}

}  // namespace

PlannerChain::PlannerChain(const ReplicationProblem& p)
    : problem(p), layers(static_cast<int>(p.layers.size())), weights(layers + 1), memory(layers + 1) {
  std::vector<double> seconds(layers + 1);
  for (int i = 0; i < layers; ++i) {
    const PlannerLayer& layer = p.layers[i];
    seconds[i + 1] = seconds[i] + layer.seconds;
    weights[i + 1] = weights[i] + layer.weight_bytes;
    memory[i + 1] = {memory[i].fixed + layer.memory.fixed, memory[i].in_flight + layer.memory.in_flight};
  }

  RangeTable<double>& devices = component_seconds.emplace_back(layers);
  for (int begin = 0; begin < layers; ++begin) {
    for (int end = begin + 1; end <= layers; ++end) devices(begin, end) = seconds[end] - seconds[begin];
  }
  for (int level = 0; level + 1 < static_cast<int>(p.levels.size()); ++level) {
    component_seconds.push_back(level_periods(*this, level));
  }
}

}  // namespace parabench::plan
