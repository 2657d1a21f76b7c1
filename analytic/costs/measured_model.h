// A calibration and what it knows of one model: what calibrated times and bytes share.
#pragma once

#include <utility>

#include "analytic/calibration/calibration.h"
#include "analytic/calibration/measurements.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

struct MeasuredModel {
  MeasuredModel(const Calibration& measured, Sizes of)
      : calibration(measured), sizes(std::move(of)), layers(calibration, sizes) {}

  const Calibration& calibration;  ///< which outlives it
  Sizes sizes;
  MeasuredLayers layers;
};

/// The layers [first_layer(), end_layer()) of an operation's segment.
inline int first_layer(const plan::Plan& plan, const plan::Op& op) {
  return plan.segments[op.segment.value].first_layer;
}
inline int end_layer(const plan::Plan& plan, const plan::Op& op) {
  return first_layer(plan, op) + plan.segments[op.segment.value].layers;
}

}  // namespace parabench::analytic
