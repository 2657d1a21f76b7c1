// The model of a case, if it goes with the case's data set.
#pragma once

#include "datasets/spec/dataset.h"
#include "models/spec/model.h"

namespace parabench::suite {

/// The case's model for its data set. Throws usage_error for an unknown model or one of other samples (with the data
/// sets that it takes), and for images of a size that some layer cannot take (with one near it that all can).
models::ModelSpec make_model_for(const Case& spec, const datasets::DatasetSpec& dataset);

}  // namespace parabench::suite
