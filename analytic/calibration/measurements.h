// Measurements looked up under the keys of a case. What was never measured under them throws environment_error that
// names it and the keys.
#pragma once

#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// What is asked about a layer.
struct LayerFigure {
  double (*of)(const LayerTiming&);
  bool of_split = false;  ///< only where its split backward was measured
};

/// The measurements of one model's layers, resolved once: looking them up by text for every operation is slow.
class MeasuredLayers {
 public:
  MeasuredLayers(const Calibration& calibration, const Sizes& sizes);

  /// Interpolated between numbers of samples and of busy ranks (interpolate.h).
  double at(const Case& spec, int layer, int samples, int busy_ranks, const LayerFigure& figure) const;
  /// Whether the split backward was measured with so many busy ranks.
  bool has_split(const Case& spec, int layer, int busy_ranks) const;

 private:
  /// Under one key.
  struct Timings {
    DeviceKind device;
    Precision precision;
    Layout layout;
    int threads, busy_ranks;
    bool graph;
    InputKind input;
    std::vector<LayerTiming> by_samples;
  };
  struct Layer {
    std::string name, signature;
    std::vector<Timings> all;    ///< ascending busy ranks under one key
    std::vector<Timings> split;  ///< those with a split backward
  };
  /// What to interpolate between; `above` is null where no measurement has so many busy ranks.
  struct Neighbours {
    const Timings *below = nullptr, *above = nullptr;
  };
  Neighbours neighbours(const Case& spec, int layer, int busy_ranks, bool of_split) const;

  std::vector<Layer> layers_;
};

/// The curve of reductions over so many ranks.
const Curve& reduction_curve(const Calibration& calibration, const Case& spec, int ranks);
/// The curve of messages between two ranks: a launch of another size on the same communicator serves too, for emulated
/// devices, which have no communicator of their own, of any.
const Curve& message_curve(const Calibration& calibration, const Case& spec);
/// Seconds of an update by the case's optimizer, whatever its extras, per parameter. More ranks than were measured wait
/// for the same memory and cost as those.
double update_rate(const Calibration& calibration, const Case& spec, int busy_ranks);

}  // namespace parabench::analytic
