// Measurements looked up under the keys of a case. What was never measured under them throws environment_error that
// names it and the keys.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/calibration/measured.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// What is asked about a layer.
struct LayerFigure {
  double (*of)(const LayerTiming&);
  Measured measured = Measured::pass;  ///< asked of measurements that tell it
  bool counted = false;                ///< bytes, which are not off by chance: counted_at(), else timed_at()
};

/// Consecutive layers of a model.
struct LayerRange {
  int first = 0, count = 1;
  auto operator<=>(const LayerRange&) const = default;
};

/// The measurements of one model's layers, resolved once: looking them up by text for every operation is slow.
class MeasuredLayers {
 public:
  MeasuredLayers(const Calibration& calibration, const Sizes& sizes);

  /// Interpolated between numbers of samples and of busy ranks, and beyond those of samples (interpolate.h). Of more
  /// ranks than cores the line from one to all of them says that ranks go on where they ran before: each of the others
  /// that run is as likely beside it as any.
  double at(const Case& spec, int layer, int samples, int busy_ranks, const LayerFigure& figure) const;
  /// Whether that was measured with so many busy ranks, or more.
  bool has(const Case& spec, int layer, int busy_ranks, Measured what) const;
  /// The same of a segment of several layers, where it was measured as one and the number of samples lies within the
  /// measured ones; nullopt elsewhere. What other samples take layers by themselves tell better.
  std::optional<double> of_segment(const Case& spec, const LayerRange& layers, int samples, int busy_ranks,
                                   const LayerFigure& figure) const;

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
    std::string name = {}, signature = {};
    /// By what they tell; ascending busy ranks under one key.
    std::array<std::vector<Timings>, all_measured.size()> of = {};
  };
  /// What to interpolate between; `above` is null where no measurement has so many busy ranks.
  struct Neighbours {
    const Timings *below = nullptr, *above = nullptr;
  };
  static Layer measured_as(const std::string& signature, const Calibration& calibration);
  static Neighbours neighbours(const Layer& layer, bool first, const Case& spec, int busy_ranks, Measured what);
  static double between_neighbours(const Neighbours& found, int samples, int busy_ranks, const LayerFigure& figure);

  std::vector<Layer> layers_;
  std::map<LayerRange, Layer> segments_;  ///< of several layers, that were measured as one
};

// All curves are rising(): more bytes never take less time, though a measurement under load may say so.

/// The curve of reductions in a group of this shape, and of no other.
Curve reduction_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape);
std::optional<Curve> find_reduction_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape);
/// The curve of reduce-scatters or all-gathers in a group of this shape; nullopt where nobody measured it, and of any
/// other collective.
std::optional<Curve> find_share_curve(const Calibration& calibration, const Case& spec, plan::OpKind collective,
                                      const GroupShape& shape);
/// The shape of groups, measured as such, that are on another number of hosts, two or more, with as many ranks on each:
/// the one on most. nullopt where there is none, or hosts have different numbers of ranks.
std::optional<GroupShape> similar_shape(const Calibration& calibration, const Case& spec, const GroupShape& shape);
/// The curve of messages between two ranks of one host, or of two: a launch of another size on the same communicator
/// serves too, for emulated devices, which have no communicator of their own, of any.
Curve message_curve(const Calibration& calibration, const Case& spec, bool between_hosts);
/// The same of the slowest link that a plan's ranks have: between hosts where they are on several and it was measured.
Curve slowest_message_curve(const Calibration& calibration, const plan::Plan& plan);
/// Seconds of an update by the case's optimizer, whatever its extras, per parameter. More ranks than were measured wait
/// for the same memory and cost as those.
double update_rate(const Calibration& calibration, const Case& spec, int busy_ranks);
/// Seconds from sample to sample of a rank's loader while so many ranks of its host load, likewise; 0: nobody measured
/// it.
double load_rate(const Calibration& calibration, const Case& spec, int loading_ranks);

}  // namespace parabench::analytic
