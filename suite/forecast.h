// From a case to its plan and prediction, before anything runs.
#pragma once

#include <string>

#include "analytic/predict.h"
#include "datasets/spec/dataset.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// A case with its data set and model looked up.
struct Subject {
  Case spec;
  DatasetSpec dataset;
  ModelSpec model;
};
/// Throws usage_error for an unknown model or data set.
Subject look_up(const Case& spec);
/// look_up, and whether the case is possible in itself: throws usage_error for more stages than layers, fewer
/// samples than pieces, keys that the strategy does not know, ...
Subject make_subject(const Case& spec);
/// Floating-point operations of one training step over all ranks, nothing recomputed.
double step_flops(const Subject& subject);

/// What is known about the machine: its measurements, where there are any, else only its data sheet.
struct Knowledge {
  MachineInfo machine;
  const Calibration* calibration = nullptr;  ///< nullptr: none
};

struct Forecast {
  Plan plan;
  Predicted predicted;
  std::string cost_source;  ///< "calibrated" | "data-sheet"
  std::string gap;          ///< what the machine's calibration lacks for the case and what stands in; "" without a lack
};

/// The plan (partition by the best known times, an asynchronous window of warmup + steps) and its prediction. Where
/// the calibration lacks something the case needs, the whole prediction is the data sheet's.
Forecast make_forecast(const Subject& subject, const Knowledge& knowledge, int warmup, int steps);

/// The cost model behind a forecast of `subject`. `cost_source`: its field of that name.
std::unique_ptr<CostModel> make_costs(const Subject& subject, const Knowledge& knowledge,
                                      const std::string& cost_source);

/// Counted bytes of all ranks together.
double total_bytes(const Predicted& predicted);

}  // namespace parabench
