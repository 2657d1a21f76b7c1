// FLOPs of a model's matrix products alone, as other libraries count them.
#pragma once

#include "models/spec/cost.h"
#include "models/spec/model.h"

namespace parabench::models {

struct MatrixFlops {
  double forward = 0, backward = 0;
};

/// Convolutions and linear layers of one sample; backward without the gradient of the images.
inline MatrixFlops matrix_flops(const ModelSpec& model) {
  MatrixFlops total;
  bool first = model.input.kind() == ElementKind::real;  // token ids need no gradient, their embeddings do
  TensorSpec in = model.input;
  for (const LayerSpec& layer : model.layers) {
    const std::vector<TensorSpec> outputs = values(layer, in);
    for (const Node& node : layer.nodes) {
      if (!std::holds_alternative<Conv2d>(node.operation) && !std::holds_alternative<Linear>(node.operation)) continue;
      const LayerSpec alone = chain(node.name, {{node.name, node.operation}});
      const LayerCost one = cost(alone, value_of(layer, in, outputs, node.inputs[0]), sizeof(float), first);
      total.forward += one.forward_per_sample.value;
      total.backward += one.backward_per_sample.value;
      first = false;
    }
    in = outputs.back();
  }
  return total;
}

}  // namespace parabench::models
