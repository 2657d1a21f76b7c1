// What PipeDream's planner knows of every range of layers, on every level of the topology.
#pragma once

#include <cstdint>
#include <vector>

#include "parallelism/plan/partition/pipedream_planner.h"
#include "parallelism/plan/partition/replicated_stage.h"

namespace parabench::plan {

/// A number for every range of layers.
template <class T>
class RangeTable {
 public:
  explicit RangeTable(int layers) : width_(layers + 1), values_(static_cast<std::size_t>(width_) * width_) {}
  T& operator()(int begin, int end) { return values_[static_cast<std::size_t>(begin) * width_ + end]; }
  const T& operator()(int begin, int end) const { return values_[static_cast<std::size_t>(begin) * width_ + end]; }

 private:
  int width_;
  std::vector<T> values_;
};

/// A problem, which it refers to, with what is known of every range [begin, end) of its layers.
struct PlannerChain {
  /// O(N^3 m^2) for each level of m components below the outermost.
  explicit PlannerChain(const ReplicationProblem& p);

  /// The layers as a stage on a level's components, the first of its pipeline or not.
  StageLoad load(int level, int begin, int end, bool first) const {
    return {component_seconds[level](begin, end), weights[end] - weights[begin],
            first ? 0 : problem.layers[begin - 1].output_bytes};
  }
  /// Of a stage on so many components of a level.
  ReplicaLink link(int level, int replicas) const {
    const TopologyLevel& joined = problem.levels[level];
    ReplicaLink found{joined.bytes_per_s, problem.sync};
    if (replicas > 1 && !joined.sum_bytes_per_s.empty()) found.sum_bytes_per_s = joined.sum_bytes_per_s[replicas - 2];
    return found;
  }
  /// What one device keeps of them.
  LayerBytes bytes(int begin, int end) const {
    const std::int64_t entry = begin == 0 ? 0 : problem.layers[begin].memory.entry;
    return {.fixed = memory[end].fixed - memory[begin].fixed,
            .in_flight = memory[end].in_flight - memory[begin].in_flight + entry};
  }

  const ReplicationProblem& problem;
  int layers;
  std::vector<std::int64_t> weights;                  // prefix sums
  std::vector<LayerBytes> memory;                     // prefix sums
  std::vector<RangeTable<double>> component_seconds;  // [level]: the best period of one of its components
};

}  // namespace parabench::plan
