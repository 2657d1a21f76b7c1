#include "parallelism/exec/arrivals.h"

#include <algorithm>
#include <cstdint>

namespace parabench::exec {
namespace {

using Numbers = std::vector<std::int32_t>;

/// Of a server the workers that it took, step by step; of a worker whether it came too late for each step.
Numbers numbers_of(const plan::Plan& plan, const Execution& execution) {
  Numbers numbers;
  for (const std::vector<Rank>& step : execution.taken)
    for (const Rank worker : step) numbers.push_back(worker.value);
  if (!execution.taken.empty()) return numbers;
  numbers.assign(plan.steps, 0);
  for (const StepId step : execution.too_late) numbers[step.value] = 1;
  return numbers;
}

ReplicaId replica_of(const plan::Plan& plan, int worker) { return plan.ranks[worker].holds.front().replica; }

}  // namespace

Arrivals gather_arrivals(const plan::Plan& plan, const Execution& execution, comm::Communicator& comm) {
  if (plan.taken == 0) return {};
  Numbers mine = numbers_of(plan, execution);
  const auto view = [](Numbers& numbers) {
    return comm::BufferView{numbers.data(), static_cast<std::int64_t>(numbers.size() * sizeof(std::int32_t)),
                            comm::ElementType::byte};
  };
  // Apart from what else is gathered on this channel (equivalence.cpp).
  const auto message = [&](Rank rank) {
    return comm::Message{comm::Channel::control, static_cast<std::uint64_t>(2 * comm.size() + rank.value)};
  };
  if (comm.rank() != Rank(0)) {
    comm.wait(comm.send(view(mine), Rank(0), message(comm.rank())));
    return {};
  }
  Arrivals arrivals;
  arrivals.taken.assign(plan.stages, std::vector<std::vector<ReplicaId>>(plan.steps));
  arrivals.too_late.assign(plan.replicas, std::vector<bool>(plan.steps));
  for (Rank r; r.value < comm.size(); ++r.value) {
    const auto server = std::ranges::find(plan.servers, r);
    const bool serves = server != plan.servers.end();
    Numbers theirs = r == Rank(0) ? mine : Numbers(static_cast<std::size_t>(plan.steps) * (serves ? plan.taken : 1));
    if (r != Rank(0)) comm.wait(comm.recv(view(theirs), r, message(r)));
    for (int step = 0; step < plan.steps; ++step) {
      if (!serves) {
        arrivals.too_late[replica_of(plan, r.value).value][step] = theirs[step] != 0;
        continue;
      }
      for (int i = 0; i < plan.taken; ++i)
        arrivals.taken[server - plan.servers.begin()][step].push_back(
            replica_of(plan, theirs[static_cast<std::size_t>(step) * plan.taken + i]));
    }
  }
  return arrivals;
}

}  // namespace parabench::exec
