// What an operation costs: the seam between plans and machines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analytic/calibration.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// Seconds and bytes of the operations of one plan. Pure: same question, same answer.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Seconds of `op` on `rank` while `busy_ranks` ranks (itself included) compute. Messages: occupancy of the link.
  virtual double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const = 0;
  /// Bytes that one micro-batch of a forward keeps until its backward, and the highest use above that during an operation.
  virtual std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const = 0;
  virtual std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const = 0;
  /// Cores that computing and communicating share; 0: they never compete (emulated links, unit costs).
  virtual int cores() const = 0;
  virtual std::string source() const = 0;  ///< "calibrated" | "data-sheet" | "unit"
};

/// F 1, B 2 per device and micro-batch, spread evenly over the stage's segments; messages, reductions and updates 0.
std::unique_ptr<CostModel> unit_costs();
/// From the measurements; interpolates between numbers of samples, extrapolates in proportion to the nearest pair.
/// Throws environment_error naming the layer that was never measured under these keys.
std::unique_ptr<CostModel> calibrated_costs(Calibration calibration, ModelSpec model);
/// Roofline from peak rates: max(FLOPs / (eff peak), bytes / bandwidth) + launch floor (cost-models: PyTorch RuntimeEstimator's .75).
std::unique_ptr<CostModel> data_sheet_costs(MachineInfo machine, ModelSpec model);


/// Forward + backward seconds of each layer at `samples` with all ranks of the case busy, the costs of partition:time:
/// calibrated where every layer was measured under the case's keys, else data-sheet.
std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine, const ModelSpec& model,
                                  const Case& spec, int samples);

}  // namespace parabench
