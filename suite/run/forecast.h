// From a case to its plan and prediction, before anything runs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/costs/what_if.h"
#include "base/placement.h"
#include "base/prediction.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/plan.h"
#include "suite/run/subject.h"

namespace parabench::suite {

/// What is known about the machine: its measurements, where there are any, else only its data sheet.
struct Knowledge {
  analytic::MachineInfo machine;
  const analytic::Calibration* calibration = nullptr;  ///< nullptr: none
  analytic::EmulatedCosts emulated;                    ///< what emulated devices take instead
  std::map<int, Placement> placements = {};            ///< of cases of so many ranks, as their launcher has it
  int hosts = 0;  ///< among which ranks of other cases are divided (set_hosts in hosts_option.h); 0: nothing is said
};
/// Where the ranks of a case are: of one whose ranks are threads, or emulate their devices, on one host. Empty, too, of
/// ranks on the GPUs of a data sheet, which has hosts of its own (sheet_hosts.h).
Placement placement_of(const Knowledge& knowledge, const Case& spec);
/// Whether its ranks are taken to be on hosts_of() hosts (spread_times.h), which no network joins: processors have to
/// compute for more of them than a host holds, and nothing says where they are.
bool is_spread(const Knowledge& knowledge, const Case& spec);

struct Forecast {
  plan::Plan plan;
  Predicted predicted;
  plan::Durations durations;  ///< of the plan's operations on emulated devices; of others empty
  std::string cost_source;    ///< "calibrated" | "data-sheet" | "unit"
  std::string gap;            ///< what the calibration lacks for the case and what stands in; "" without a lack
  std::string network;  ///< what stands in for a network between hosts (unknown_network in hosts_option.h); "" for none
};

/// The plan (cut, replicated and recomputed by the best known times and bytes; an asynchronous window of warmup +
/// steps) and its prediction, which does not depend on that window: a case has one, of the steps that a run measures
/// where nothing else is asked for (protocol::default_steps after protocol::default_warmup). Where the calibration
/// lacks something the case needs, the whole prediction is the data sheet's. Emulated devices take the costs of the
/// processor, each rank's to itself, or unit costs. Throws usage_error where a rank is predicted to exceed the case's
/// key `memory`, and where the machine of a sheet has no room for the case (hardware.h).
Forecast make_forecast(const Subject& subject, const Knowledge& knowledge, int warmup, int steps);

/// Throws usage_error naming the first rank that is predicted to exceed the case's key `memory`; each of
/// `predicted` stands for so many.
void require_memory(const Predicted& predicted, const std::optional<Bytes>& limit, int ranks_of_each);

/// What the subject's stages are cut by; where each rank stands for several, with the sums that these make in layers.
plan::Profile profile_of(const Subject& subject, const analytic::Sizes& sizes, const Knowledge& knowledge);

/// The costs behind a forecast of `subject`, and what they would be of a machine that differs as `what_if` says.
/// `cost_source`: the forecast's field of that name.
analytic::Costs make_costs(const Subject& subject, const Knowledge& knowledge, const std::string& cost_source,
                           const std::optional<analytic::WhatIf>& what_if = {});

/// What make_forecast() predicts, of the same plan, where the machine differs as `what_if` says. `forecast`: that of
/// `subject`, of protocol::default_warmup and protocol::default_steps steps.
Predicted predict_what_if(const Subject& subject, const Knowledge& knowledge, const Forecast& forecast,
                          const analytic::WhatIf& what_if);

/// Predicted seconds of the longest operation of any rank.
double longest_operation_s(const Subject& subject, const Knowledge& knowledge, const Forecast& forecast);

/// When what a prediction was made from was measured last: the date of its calibrated terms, "" where it has none.
std::string calibrated_on(const Predicted& predicted);

/// Counted bytes of all ranks together.
double total_bytes(const Predicted& predicted);
/// What the rank that needs most has of what a limit counts (analytic::limited_bytes).
std::int64_t largest_peak_bytes(const Predicted& predicted);

}  // namespace parabench::suite
