// Times the layers of a model as a chain, as the executor runs them.
#pragma once

#include <vector>

#include "suite/rank/launch.h"

namespace parabench {

/// Medians of a whole model as one chain of one-layer segments on one rank.
struct LayerChain {
  std::vector<LayerTiming> layers;
  double update_s = 0, overhead_s = 0, step_s = 0;
};

/// Runs `steps` steps on `samples` samples after two discarded ones, under the keys of the launch's case that a layer's
/// time depends on. Where the launch's plan splits backwards, as many steps again with all I and then all W, as a stage
/// of one segment has them. Where its steps are replayed (graph:on), the layers' times are scaled so that they and the
/// update add up to a replayed step.
LayerChain time_layers(const Launch& launch, Device& device, int samples, int steps);

}  // namespace parabench
