// Which launches of a calibration a prediction rests on, and how far they are from each other.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"

namespace parabench::analytic {

/// A row of Calibration::layers: key and number of samples.
using LayerRow = std::pair<LayerKey, int>;

/// The rows of the layers of a plan's model (`sizes`), one by one, with all ranks of its fullest host busy, of emulated
/// devices, which have cores to themselves, one; each at the number of samples nearest the largest piece. Nothing where
/// a layer was not measured so.
std::vector<LayerRow> layer_rows(const Calibration& calibration, const Sizes& sizes, const plan::Plan& plan);

/// nullopt where no launch measured one of the rows, or there is none.
std::optional<LaunchesBehind> launches_behind(const Calibration& calibration, const std::vector<LayerRow>& rows);

/// Seconds of the matrix product in the canaries behind the rows: of each the median over the launches of `ranks` ranks
/// that measured it (others share cores otherwise), and of these the mean, weighted by the rows' seconds. nullopt where
/// there is no row, or one that no such launch with a canary measured.
std::optional<double> calibrated_matrix_product(const Calibration& calibration, const std::vector<LayerRow>& rows,
                                                int ranks);

/// A launch beside what was known before it.
struct Remeasured {
  std::vector<LayerRow> known, unknown;  ///< of the launch's rows those that were measured before, and the others
  double relative = 0;                   ///< seconds of the known ones together, now / before - 1
};
Remeasured remeasured(const Calibration& before, const Calibration& launch);

}  // namespace parabench::analytic
