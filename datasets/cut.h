// Which part of an image becomes a sample: the geometry of RandomResizedCrop and of the centre crop.
#pragma once

#include "datasets/draws.h"

namespace parabench::datasets {

/// Whole pixels [left, right) x [top, bottom).
struct Rect {
  int left = 0, top = 0, right = 0, bottom = 0;
  int width() const { return right - left; }
  int height() const { return bottom - top; }
  bool operator==(const Rect&) const = default;
};

/// The part of an image that a sample shows, in pixels of the image: the box is stretched to the sample;
/// pixels outside `limits` (which holds the box) have no influence; `flip` mirrors left and right.
struct Cut {
  double left = 0, top = 0, right = 0, bottom = 0;
  Rect limits;
  bool flip = false;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

/// torchvision's RandomResizedCrop(scale .08-1, ratio 3/4-4/3), then a flip with probability 1/2: ten tries
/// of an area uniform and a ratio log-uniform, then the largest centred box within the ratios.
Cut random_cut(int width, int height, Draws draws);

/// torchvision's Resize(pixels * 8/7) of the shorter side, then CenterCrop(pixels), as one box.
Cut centre_cut(int width, int height, int pixels);

/// The largest of 1, 2, 4, 8 by which an image can be decoded smaller with the cut still at least pixels x
/// pixels.
int decode_denominator(const Cut& cut, int pixels);

/// The same cut in the image decoded at 1/denominator.
Cut reduced(const Cut& cut, int denominator);

/// The pixels that have an influence on the sample: the box and what the resampling filter reaches beyond it,
/// within limits.
Rect footprint(const Cut& cut, int pixels);

}  // namespace parabench::datasets
