// Times of emulated devices.
#pragma once

#include <memory>
#include <optional>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/durations.h"

namespace parabench::analytic {

/// What is given of the times of emulated devices; the rest is the processor's.
struct EmulatedCosts {
  std::optional<double> unit_s;  ///< passes as unit_costs() has them, messages and collectives free without `link`
  std::optional<Link> link;      ///< of every rank to all others, as over_link() has it
  bool operator==(const EmulatedCosts&) const = default;
};

/// Another model's times where every rank is joined to all others by a link of its own, which carries so much each way
/// at the same time. A message takes latency_s + bytes / bytes_per_s. A collective is by the algorithm of the case
/// (algorithm_of, as of ranks on hosts of their own), of whose all-reduce it takes its share (share_of_all_reduce): by
/// a ring of p ranks S bytes take 2 (p-1) (latency_s + S / p / bytes_per_s). What is on its way in several lanes of a
/// rank shares its link in equal parts (plan::SharedLinks).
std::unique_ptr<const TimeModel> over_link(std::unique_ptr<const TimeModel> passes, const Link& link, Sizes sizes);

/// Another model's times where every rank has a device to itself and links are free of computing: cores() is 0, and
/// an operation costs what it costs while no other rank is busy.
std::unique_ptr<const TimeModel> exclusive_times(std::unique_ptr<const TimeModel> shared);

/// What each operation of `plan` costs, as simulate() charges it where cores() is 0.
plan::Durations durations(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
