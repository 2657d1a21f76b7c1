// Curves without the falls that noise leaves in them.
#pragma once

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {

/// The curve of the same sizes whose seconds nowhere fall with bytes and which is nearest to the measured one in least
/// squares: isotonic regression by pooling adjacent violators (Ayer, Brunk, Ewing, Reid, Silverman 1955; Barlow,
/// Bartholomew, Bremner, Brunk 1972). A size that took longer than a larger one and that larger one get their mean, and
/// so on; a curve that rises is itself. The same of the seconds beside computing, by themselves. O(points).
Curve rising(Curve curve);

}  // namespace parabench::analytic
