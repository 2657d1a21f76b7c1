// Batch norms whose statistics several ranks add up.
#pragma once

#include "models/spec/model.h"

namespace parabench::models {

/// The model with each layer cut at its batch norms: what comes before one ends with its statistics (BatchStatistics),
/// which are the layer's output, and the next layer begins with the batch norm by them (BatchNormBy), so that sums over
/// several ranks have their place between two layers. Whatever else crosses a cut skips it (skips.h). Parameters and
/// buffers keep names and order; with the statistics of a micro-batch alone it computes what the model does. A layer
/// without batch norms stays as it is.
ModelSpec synchronised(const ModelSpec& model);

}  // namespace parabench::models
