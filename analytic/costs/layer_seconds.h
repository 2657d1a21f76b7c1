// Times of a model's layers one by one, and whether they were measured.
#pragma once

#include <vector>

#include "analytic/calibration/calibration.h"
#include "models/spec/model.h"

namespace parabench::analytic {

/// Whether every layer was measured under the case's keys with one rank busy and, unless each has a device to itself,
/// with all.
bool has_layers(const Calibration& calibration, const models::ModelSpec& model, const Case& spec);
/// Whether their split backwards were too; without, a calibrated I or W is its share of the backward by FLOPs.
bool has_split_layers(const Calibration& calibration, const models::ModelSpec& model, const Case& spec);

/// Forward + backward seconds of each layer at `samples` with all ranks of the case busy (emulated: one), the costs of
/// partition:time: calibrated where has_layers(), else data-sheet.
std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine,
                                  const models::ModelSpec& model, const Case& spec, int samples);

}  // namespace parabench::analytic
