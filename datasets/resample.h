// From a window of decoded pixels to a normalised planar sample.
#pragma once

#include <span>

#include "datasets/cut.h"
#include "datasets/jpeg.h"
#include "datasets/normalise.h"

namespace parabench::datasets {

/// Stretches the cut's box to pixels x pixels by the triangle filter, as Pillow's and torchvision's
/// antialiased bilinear interpolation do, without their rounding to bytes: output i of an axis is the mean of
/// the input within +-max(scale, 1) of box + (i + 1/2) scale, scale = box / pixels, weighted by the distance
/// from there and cut at the limits. Writes planar (3, pixels, pixels). `window` must cover footprint(cut,
/// pixels).
void resample(const PixelWindow& window, const Cut& cut, int pixels, const Normalisation& normalisation,
              std::span<float> out);

}  // namespace parabench::datasets
