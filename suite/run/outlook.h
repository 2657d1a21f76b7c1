// The prediction of a case of any size.
#pragma once

#include <optional>

#include "suite/run/forecast.h"

namespace parabench::suite {

struct Outlook {
  Forecast forecast;
  bool has_plan = true;  ///< else forecast.plan is an outline, lists two of many copies, or ranks of a shard
  std::optional<Predicted> changed = {};  ///< the same plan where the machine differs
};

/// make_forecast() of what `predict` is asked about, with the steps that a run measures where nothing else is asked
/// for. Above 128 ranks, or 20,000 passes of stages in a step, the plan is not written where something shorter tells
/// the same, which is where ranks share nothing (costs.time->cores() is 0, as on hosts of their own, on GPUs, and
/// emulated): by two copies of many (plan::plan_of_two_copies) or by the outline of a pipeline (plan::outline_of).
/// With the key tp each block is as models::tensor_shard() has it, every rank has cores to itself, and no plan is
/// written either. Throws what make_forecast() throws, and usage_error for tp that does not divide np, the heads or the
/// features, and for models without blocks.
/// With `what_if` also what predict_what_if() says.
Outlook make_outlook(const SelectedCase& chosen, const Knowledge& knowledge,
                     const std::optional<analytic::WhatIf>& what_if = {});

/// The same only where it takes no more than a second or two: nullopt where the case is as large as that and a long
/// plan has to be written.
std::optional<Outlook> quick_outlook(const SelectedCase& chosen, const Knowledge& knowledge);

}  // namespace parabench::suite
