#include "parallelism/plan/partition/pipedream_planner.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/partition/bisect.h"
#include "parallelism/plan/partition/planner_chain.h"

namespace parabench::plan {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

struct LayerRange {
  int begin = 0, end = 0;
};

/// Plans of a range of layers on all components of a level. Asks which numbers of components can take the layers from
/// one on when no stage exceeds a bound. The numbers that one stage may use are neighbours where they all sum at one
/// rate, so that nothing loops over them.
class StageSearch {
 public:
  StageSearch(const PlannerChain& chain, int level, LayerRange range, std::int64_t limit)
      : chain_(chain),
        level_(level),
        range_(range),
        most_(chain.problem.levels[level].components),
        limit_(limit),
        any_(range.end + 1, Suffix(most_)) {
    any_[range.end].set_only_zero();
  }

  /// Whether there is a plan whose stages all keep the bound.
  bool exists(double bound) {
    extend(bound, any_, any_);
    return any_[range_.begin].can[most_] != 0;
  }

  /// Of the plans within the bound, the first of fewest stages. Precondition: exists(bound).
  std::vector<ReplicatedStage> fewest(double bound) const {
    // stages[begin][m]: how many the layers from `begin` on need at least on m components
    std::vector<std::vector<int>> stages(range_.end + 1, std::vector<int>(most_ + 1, none));
    stages[range_.end][0] = 0;
    std::vector<Suffix> behind(range_.end + 1, Suffix(most_));
    behind[range_.end].set_only_zero();
    for (int count = 1; stages[range_.begin][most_] == none; ++count) {
      std::vector<Suffix> longer(range_.end + 1, Suffix(most_));
      extend(bound, behind, longer);
      for (int begin = range_.begin; begin < range_.end; ++begin) {
        for (int m = 1; m <= most_; ++m) {
          if (longer[begin].can[m] != 0 && stages[begin][m] == none) stages[begin][m] = count;
        }
      }
      behind = std::move(longer);
    }
    std::vector<ReplicatedStage> plan;
    for (int begin = range_.begin, left = most_; begin < range_.end;) {
      plan.push_back(first_stage(bound, begin, left, stages));
      begin += plan.back().layers;
      left -= plan.back().replicas;
    }
    return plan;
  }

 private:
  /// Numbers of components that can take the layers from one on.
  struct Suffix {
    explicit Suffix(int most) : can(most + 1), last(most + 1, none) {}
    void set_only_zero() {
      can[0] = 1;
      std::ranges::fill(last, 0);
    }
    std::vector<int> can;   // [m]: 0 or 1
    std::vector<int> last;  // [m]: the largest such number <= m
  };
  static constexpr int none = std::numeric_limits<int>::min();

  ReplicaLink link(int replicas) const { return chain_.link(level_, replicas); }
  StageLoad load(int begin, int end) const { return chain_.load(level_, begin, end, begin == range_.begin); }

  /// Mini-batches in flight for which a device has room.
  int room(int begin, int end) const {
    if (limit_ == no_limit) return most_;
    const LayerBytes bytes = chain_.bytes(begin, end);
    if (bytes.fixed > limit_) return 0;
    if (bytes.in_flight == 0) return most_;
    return static_cast<int>(std::min<std::int64_t>(most_, (limit_ - bytes.fixed) / bytes.in_flight));
  }

  /// `to`: the suffixes that start with one stage, `from` (which may be `to`) tells of those behind it.
  void extend(double bound, const std::vector<Suffix>& from, std::vector<Suffix>& to) const {
    for (int begin = range_.end - 1; begin >= range_.begin; --begin) {
      std::ranges::fill(to[begin].can, 0);
      int guess = 2;  // of a layer less
      for (int end = begin + 1; end <= range_.end; ++end) {
        if (from[end].last[most_] == none) continue;
        const StageLoad stage = load(begin, end);
        const int in_flight = room(begin, end);
        if (stage_period(stage, 1, link(1)) <= bound) add(from[end], {1, 1}, in_flight, to[begin]);
        if (chain_.problem.levels[level_].sum_bytes_per_s.empty()) {
          const ReplicaRange replicas = replicas_within(stage, bound, most_, link(1), guess);
          add(from[end], replicas, in_flight, to[begin]);
          guess = replicas.first;
        } else {
          add_by_rates(bound, stage, from[end], in_flight, to[begin]);
        }
      }
      int last = none;
      for (int m = 0; m <= most_; ++m) to[begin].last[m] = last = to[begin].can[m] != 0 ? m : last;
    }
  }

  /// Adds the numbers that have more than one of `behind` by as many replicas, from two on, as keep the bound: of
  /// neighbours that sum at one rate, these are neighbours, too.
  void add_by_rates(double bound, const StageLoad& stage, const Suffix& behind, int room, Suffix& to) const {
    for (int first = 2, last = 2; first <= most_; first = last = last + 1) {
      while (last < most_ && link(last + 1).sum_bytes_per_s == link(first).sum_bytes_per_s) ++last;
      const ReplicaRange within = replicas_within(stage, bound, most_, link(first));
      add(behind, {std::max(first, within.first), std::min(last, within.last)}, room, to);
    }
  }

  /// Adds the numbers that have `replicas` more than one of `behind`. On m components a stage needs m/room replicas for
  /// its memory: the loop goes through blocks of m with one smallest number of replicas.
  void add(const Suffix& behind, ReplicaRange replicas, int room, Suffix& to) const {
    if (room == 0) return;
    int* const can = to.can.data();
    const int* const last = behind.last.data();
    for (int least = replicas.first, m = least; m <= most_ && least <= replicas.last; ++least) {
      const int end = static_cast<int>(std::min<std::int64_t>(most_, static_cast<std::int64_t>(least) * room));
      for (; m <= end; ++m) can[m] |= static_cast<int>(last[m - least] >= m - replicas.last);
    }
  }

  /// The first stage, in order of (layers, replicas), of a plan of layers from `begin` on for `components`.
  ReplicatedStage first_stage(double bound, int begin, int components,
                              const std::vector<std::vector<int>>& stages) const {
    for (int end = begin + 1; end <= range_.end; ++end) {
      for (int m = 1; m <= components; ++m) {
        if (stages[end][components - m] == stages[begin][components] - 1 &&
            stage_period(load(begin, end), m, link(m)) <= bound && (components + m - 1) / m <= room(begin, end)) {
          return {end - begin, m};
        }
      }
    }
    throw std::logic_error("the planner lost the plan it found");
  }

  const PlannerChain& chain_;
  const int level_;
  const LayerRange range_;
  const int most_;
  const std::int64_t limit_;
  std::vector<Suffix> any_;
};

ReplicationPlan plan_range(const PlannerChain& chain, int level, LayerRange range, std::int64_t limit) {
  StageSearch search(chain, level, range, limit);
  const double bound = smallest_double(infinity, [&](double b) { return search.exists(b); });
  ReplicationPlan plan;
  for (const ReplicatedStage& stage : search.fewest(bound)) {
    if (level == 0) {
      plan.stages.push_back(stage);
    } else {
      const LayerRange inside{range.begin, range.begin + stage.layers};
      for (const ReplicatedStage& part : plan_range(chain, level - 1, inside, limit).stages) {
        plan.stages.push_back({part.layers, part.replicas * stage.replicas});
      }
    }
    range.begin += stage.layers;
  }
  plan.period_s = bound;
  return plan;
}

void check_memory(const PlannerChain& chain, std::int64_t limit) {
  const auto levels = chain.problem.levels.size();
  if (levels > 1) {
    throw usage_error("memory limit", std::to_string(levels) + " levels of topology",
                      "one level: what a device keeps depends on all devices behind it", "try a flat topology");
  }
  const LayerRange all{0, chain.layers};
  auto has_plan = [&](std::int64_t bytes) { return StageSearch(chain, 0, all, bytes).exists(infinity); };
  if (has_plan(limit)) return;
  const LayerBytes whole = chain.bytes(0, chain.layers);  // enough for one replicated stage
  const std::int64_t passing = chain.problem.passing_bytes;
  throw usage_error("memory", print_bytes(Bytes(limit + passing)),
                    "at least " + std::to_string(smallest(limit, whole.fixed + whole.in_flight, has_plan) + passing) +
                        " bytes per device for " + std::to_string(chain.layers) + " layers on " +
                        std::to_string(chain.problem.levels[0].components) + " devices",
                    "try more devices or smaller mini-batches");
}

double data_parallel_period(const PlannerChain& chain) {
  StageLoad load = chain.load(0, 0, chain.layers, true);
  for (int level = 0; level < static_cast<int>(chain.problem.levels.size()); ++level) {
    const int components = chain.problem.levels[level].components;
    load.seconds = stage_period(load, components, chain.link(level, components));
  }
  return load.seconds;
}

}  // namespace

ReplicationPlan plan_replication(const ReplicationProblem& problem) {
  const PlannerChain chain(problem);
  const std::int64_t limit = problem.device_bytes ? *problem.device_bytes - problem.passing_bytes : no_limit;
  if (problem.device_bytes) check_memory(chain, limit);
  const int outermost = static_cast<int>(problem.levels.size()) - 1;
  ReplicationPlan plan = plan_range(chain, outermost, {0, chain.layers}, limit);
  plan.data_parallel_period_s = data_parallel_period(chain);
  return plan;
}

}  // namespace parabench::plan
