// Times of a model's layers one by one, and whether they were measured.
#pragma once

#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Whether every layer was measured under the case's keys with one rank busy and, unless each has a device to itself,
/// with all of the fullest host.
bool has_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec, const Placement& placement = {});
/// Whether their split backwards were too; without, a calibrated I or W is its share of the backward by FLOPs.
bool has_split_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec,
                      const Placement& placement = {});

/// Whether what the passes of the plan hold was measured of every layer, where they add to gradients or backwards are
/// split: without, a calibrated one holds what a whole backward does that starts them, which is no less.
bool has_pass_bytes(const Calibration& calibration, const Sizes& sizes, const plan::Plan& plan);

/// Forward + backward seconds of each layer at `samples` with all ranks of the case busy (emulated: one), the costs of
/// partition:time: calibrated where has_layers(), else data-sheet.
std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine, const Sizes& sizes,
                                  const Case& spec, int samples);
/// The same by one model of time. `layers`: single_layers() (profile.h) of the case.
std::vector<double> layer_seconds(const TimeModel& time, const plan::Plan& layers);
/// Of each layer's forward alone.
std::vector<double> layer_forward_seconds(const TimeModel& time, const plan::Plan& layers);
/// What each layer's backward takes longer where it adds to gradients. Throws what the model throws.
std::vector<double> layer_adding_seconds(const TimeModel& time, const plan::Plan& layers);
/// Of each layer's update likewise, with the key zero of the share that one copy has. Throws what the model throws.
std::vector<double> layer_update_seconds(const TimeModel& time, const plan::Plan& layers);

}  // namespace parabench::analytic
