// What plans are cut by, from what is known of a machine.
#pragma once

#include <optional>

#include "analytic/calibration/calibration.h"
#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/costs.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Of a possible case (check_case), by `costs` and, what these do not tell, by `otherwise`, at its largest piece:
///  - seconds: layer_seconds(); update_seconds: layer_update_seconds(); forward_seconds: layer_forward_seconds();
///    adding_seconds: layer_adding_seconds()
///  - ring_bytes_per_s: for replicas=auto alone, of the first ranks of the case
///  - sizes: as peak_memory() counts them. With recomputation a layer keeps for a micro-batch in flight only the
///    images, what its weight gradients wait for, and with recompute:auto, where it is a segment of its own, its
///    output; its states then hold what one micro-batch brings back, with except-last that of two. The first layer's
///    states hold what pieces of the batch take on a GPU beside the passes. A pass needs its peak_bytes() and holds the
///    messages that come and go; gradients that wait for a busy rank are left to the prediction.
///  - sum: for order:priority alone, a line through nothing and all gradients
/// `placement`: of the case's ranks.
plan::Profile make_profile(const Costs& costs, const Costs& otherwise, const Sizes& sizes, const Case& spec,
                           const Placement& placement = {});
/// From the calibration where it has_layers(), else from the data sheet, as are link, updates and additions that nobody
/// measured. `link`: of emulated devices, in place of the machine's (over_link).
plan::Profile make_profile(const Calibration* calibration, const MachineInfo& machine, const Sizes& sizes,
                           const Case& spec, const std::optional<Link>& link = {}, const Placement& placement = {});

/// One rank that holds each layer as a segment, without operations, for pieces of so many samples; the ranks of its
/// case are where `placement` says.
plan::Plan single_layers(const Case& spec, const models::ModelSpec& model, int samples,
                         const Placement& placement = {});

}  // namespace parabench::analytic
