#include "analytic/costs/what_if.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analytic/costs/contention.h"
#include "analytic/costs/times_of.h"

namespace parabench::analytic {
namespace {

/// A link's way of an operation: steps one after the other, and the bytes that pass a link in all of them.
struct Way {
  double steps = 0, bytes = 0;
};

class ChangedTimes final : public TimesOf {
 public:
  ChangedTimes(std::unique_ptr<const TimeModel> base, const WhatIf& what_if, Sizes sizes)
      : TimesOf(std::move(base)),
        what_if_(what_if),
        sizes_(std::move(sizes)),
        cores_(base_.cores() == 0 ? 0 : changed_cores(what_if.cores, base_.cores())) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
    if (plan::is_message(op.kind) || plan::is_collective(op.kind)) {
      const auto& [bandwidth, latency, device, cores, uplink] = what_if_;
      const Way way = way_of(plan, rank, op);
      parts.latency = latency.value ? way.steps * *latency.value : latency.factor * parts.latency;
      parts.transfer = bandwidth.value ? way.bytes / *bandwidth.value : parts.transfer / bandwidth.factor;
      parts.memory /= device.memory;
      return parts;
    }
    parts.compute /= what_if_.device.flops;
    parts.memory /= what_if_.device.memory;
    // The others wait for memory, not for a core.
    const bool computes = plan::is_pass(op.kind) || plan::is_of_compression(op.kind);
    return computes ? turns(plan, busy_ranks) * parts : parts;
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    const double before = base_.seconds(plan, rank, op, busy_ranks);
    const double deviation = base_.deviation_s(plan, rank, op, busy_ranks);
    return before > 0 ? deviation * seconds(plan, rank, op, busy_ranks) / before : deviation;
  }
  Link link(const plan::Plan& plan) const override {
    const auto& [bandwidth, latency, device, cores, uplink] = what_if_;
    const Link base = base_.link(plan);
    return {.latency_s = latency.value.value_or(latency.factor * base.latency_s),
            .bytes_per_s = bandwidth.value.value_or(bandwidth.factor * base.bytes_per_s)};
  }
  int cores() const override { return cores_; }

 private:
  Way way_of(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
    const auto bytes = static_cast<double>(sizes_.payload_bytes(plan, rank, op));
    if (plan::is_message(op.kind)) return {.steps = 1, .bytes = link_sharers(plan, op) * bytes};
    const auto p = static_cast<double>(plan.groups[op.group.value].ranks.size());
    const double steps = share_of_all_reduce(op.kind) * 2 * (p - 1);
    return {.steps = steps, .bytes = steps / p * bytes};
  }

  /// What ranks lose by taking turns, over what they lost.
  double turns(const plan::Plan& plan, int busy_ranks) const {
    if (plan.spec.device == DeviceKind::cuda || base_.cores() == 0) return 1;
    const double threads = threads_of_operation(plan.spec);
    const auto longer = [&](int cores) {
      if (!base_.is_measured()) return std::max(1.0, busy_ranks * threads / cores);
      return std::max(1.0, threads / cores) * times_by_cores(crowd_of(plan, cores), busy_ranks);
    };
    return longer(cores_) / longer(base_.cores());
  }

  WhatIf what_if_;
  Sizes sizes_;
  int cores_;
};

}  // namespace

int changed_cores(const Change& change, int cores) {
  return static_cast<int>(std::max(1.0, std::round(change.value.value_or(change.factor * cores))));
}

MachineInfo changed_machine(const WhatIf& what_if, MachineInfo machine) {
  machine.cores = changed_cores(what_if.cores, machine.cores);
  if (machine.sheet && machine.sheet->network && machine.sheet->network->racks)
    machine.sheet->network->racks->uplink_bytes_per_s *= what_if.uplink;
  return machine;
}

WhatIf links_alone(const WhatIf& what_if) { return {.bandwidth = what_if.bandwidth, .latency = what_if.latency}; }

std::unique_ptr<const TimeModel> changed_times(std::unique_ptr<const TimeModel> base, const WhatIf& what_if,
                                               Sizes sizes) {
  return std::make_unique<ChangedTimes>(std::move(base), what_if, std::move(sizes));
}

}  // namespace parabench::analytic
