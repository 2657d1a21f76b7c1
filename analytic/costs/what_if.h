// Times on a machine that differs from a known one in some figures.
#pragma once

#include <memory>
#include <optional>

#include "analytic/calibration/machine.h"
#include "analytic/costs/rate_factors.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// A figure by how many times it changes, or by what it becomes.
struct Change {
  double factor = 1;
  std::optional<double> value;
  bool operator==(const Change&) const = default;
};

/// What changes; all else stays, the plan too.
struct WhatIf {
  /// Of links. Factors divide `transfer` and multiply `latency` (TimeParts) of messages and collectives. A value stands
  /// for links as over_link() has them: a message moves its bytes once, and an all-reduce takes 2 (p-1) steps of a p-th
  /// of them, the other collectives their share of these.
  Change bandwidth, latency;
  /// Of devices: peak rates of a data sheet, before its rooflines are taken. Of a calibration, whose layers were
  /// measured whole, `flops` divides `compute`, all of a layer's time, and `memory` divides `memory`, the traffic of
  /// gradients and updates. Launches take the time that they took.
  RateFactors device;
  /// Of the host, which ranks on processors share: its cores C. Passes of b ranks with t threads each take
  /// max(1, b t / C) times what they would alone, which replaces max(1, b t / c) of the c cores there are.
  Change cores;
  /// Of a data sheet's racks: the rate of their uplinks.
  double uplink = 1;
};

/// So many of a host that has `cores`; at least one.
int changed_cores(const Change& change, int cores);

/// A data sheet's machine with the cores and uplinks that it would have.
MachineInfo changed_machine(const WhatIf& what_if, MachineInfo machine);

/// data_sheet_costs() knows `device`, and by changed_machine() cores and uplinks; what is left for changed_times().
WhatIf links_alone(const WhatIf& what_if);

/// Another model's times under these changes. Measured deviations stay the same share of their times.
std::unique_ptr<const TimeModel> changed_times(std::unique_ptr<const TimeModel> base, const WhatIf& what_if,
                                               Sizes sizes);

}  // namespace parabench::analytic
