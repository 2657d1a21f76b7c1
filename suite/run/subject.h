// A case with the data set and the model that it names.
#pragma once

#include <memory>

#include "base/case.h"
#include "datasets/spec/dataset.h"
#include "models/spec/model.h"
#include "suite/cases/selection.h"

namespace parabench::suite {

struct Subject {
  Case spec;
  datasets::DatasetSpec dataset;
  models::ModelSpec model;
  std::shared_ptr<const plan::GivenSchedule> given = nullptr;  ///< of strategy csv
  int tensor = 1;  ///< ranks that each rank of `spec` stands for; `model`: as each of these has it
};

/// Throws usage_error for an unknown model or data set, or one that the case cannot read as it says.
Subject look_up(const Case& spec);
Subject look_up(const SelectedCase& chosen);
/// look_up, and whether the case is possible in itself: throws usage_error for more stages than layers, fewer
/// samples than pieces, keys that the strategy does not know, ...
Subject make_subject(const Case& spec);
Subject make_subject(const SelectedCase& chosen);

/// What stands for a case with the key tp, which no plan has: the same without that key, each of whose np / tp ranks
/// stands for tp and has the model as models::tensor_shard() divides it. Throws usage_error for tp that does not
/// divide np, the heads or the features, and for models without blocks.
Subject tensor_subject(const Subject& whole);

}  // namespace parabench::suite
