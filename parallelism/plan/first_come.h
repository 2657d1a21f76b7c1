// Servers that take the first gradients of a step: who is in time is decided by arrival, while a plan runs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::plan {

/// The workers that one server takes, step by step. Its first addition in a step waits until gradients of Plan::taken
/// workers have come and takes those that came first, equal ones by rank; they are the step's, whatever else it brings:
/// each further addition waits for the gradients of its own worker, whose rank rises from addition to addition. What
/// others send is received and dropped.
class FirstCome {
 public:
  explicit FirstCome(const Plan& plan) : plan_(plan), steps_(plan.steps) {}

  /// When something came, on any clock; nothing while it has not.
  using Came = std::function<std::optional<double>(const OpRef&)>;
  /// When all that an addition waits for had come; nothing while it has not. `receives`: its dependencies(), which are
  /// of all workers by rank. O(workers log workers) for the first of a step, else O(1).
  std::optional<double> may_start(const Op& add, std::span<const OpRef> receives, const Came& came);
  /// What an addition that may start has waited for: the receive of what it adds, and after it, of a step's first one,
  /// those of the others that are taken.
  std::vector<OpRef> awaited(const Op& add, std::span<const OpRef> receives) const;

 private:
  struct Step {
    std::vector<int> taken;  ///< places among the workers, ascending; none while the step is open
    Op decider;              ///< its first addition
  };

  const OpRef& source(const Op& add, std::span<const OpRef> receives) const {
    return receives[steps_[add.step.value].taken[add.port - 1]];
  }

  const Plan& plan_;
  std::vector<Step> steps_;
};

/// By step: the receives after which a worker has all weights that the step's update wrote. Who has them before it has
/// begun the step comes too late for it with all servers: it computes nothing in it, and what it sends is dropped.
std::vector<std::vector<OpRef>> newer_weights(const Plan& plan, Rank worker);

}  // namespace parabench::plan
