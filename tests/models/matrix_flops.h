// FLOPs of a model's matrix products alone, as other libraries count them.
#pragma once

#include "models/spec/model.h"

namespace parabench {

struct MatrixFlops {
  double forward = 0, backward = 0;
};

/// Convolutions and linear layers of one sample; backward without the gradient of the images.
inline MatrixFlops matrix_flops(const ModelSpec& model) {
  MatrixFlops total;
  bool first = true;
  const auto walk = [&](const std::vector<Step>& steps, Shape in) {
    for (const Step& step : steps) {
      if (std::holds_alternative<Conv2d>(step.operation) || std::holds_alternative<Linear>(step.operation)) {
        const LayerCost one = cost(LayerSpec{step.name, {step}}, in, sizeof(float), first);
        total.forward += one.forward_per_sample.value;
        total.backward += one.backward_per_sample.value;
        first = false;
      }
      in = output_shape(step, in);
    }
    return in;
  };
  Shape shape = model.input;
  for (const LayerSpec& layer : model.layers) {
    const Shape in = shape;
    shape = walk(layer.body, in);
    walk(layer.shortcut, in);
  }
  return total;
}

}  // namespace parabench
