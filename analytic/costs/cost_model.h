// What an operation costs: the seam between plans and machines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/closed_forms/closed_forms.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// What a GPU holds for a rank beside its tensors; all 0 where the device is the processor.
struct DeviceOverhead {
  std::int64_t context_bytes = 0;           ///< the driver's and the libraries', before the first tensor
  std::int64_t communicator_bytes = 0;      ///< the communicator's own buffers
  std::int64_t matrix_workspace_bytes = 0;  ///< cuBLAS's, out of the allocator's pool, where a rank multiplies matrices
  std::int64_t memory_bytes = 0;            ///< of the GPU; 0: unknown
};

/// Seconds of a collective as a share of an all-reduce of as many bytes: a reduce-scatter and an all-gather are its two
/// halves (Thakur, Rabenseifner, Gropp 2005; ring), and a broadcast over a pipelined ring is no longer than one of them.
double share_of_all_reduce(OpKind collective);

/// Seconds and bytes of the operations of one plan. Pure: same question, same answer.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Seconds of `op` on `rank` while `busy_ranks` ranks (itself included) compute and nobody communicates. Messages
  /// and reductions: occupancy of the link while nobody computes.
  virtual double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const = 0;
  /// Median absolute deviation of seconds() over the calibration's repetitions; 0 where unknown.
  virtual double deviation_s(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const;
  /// Bytes that a forward allocates and holds until its backward: output included; input not, except the images.
  virtual std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const = 0;
  /// Highest use during a backward above the bytes held before it; during a forward, above these and its saved_bytes.
  virtual std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const = 0;
  /// One hop between neighbours, for closed forms that think in links; between replicas the one over which a ring would
  /// reduce as fast. Needs no measurement that the plan's own operations do not need.
  virtual Link link(const Plan& plan) const;
  virtual DeviceOverhead device_overhead(const Plan& plan) const;
  /// What the costs assume about a machine that nobody measured: "data sheet of H200"; "" where nothing is assumed.
  virtual std::string assumption(const Plan& plan) const;
  /// Cores that computing and communicating share; 0: they never compete (emulated links, unit costs).
  virtual int cores() const = 0;
  virtual std::string source() const = 0;  ///< "calibrated" | "data-sheet" | "unit"
};

/// F 1, B 2, I 1, W 1, recompute 1 per device and micro-batch, spread evenly over the device's stages of one pipeline
/// and their segments, times `unit_s`; everything else 0; no bytes.
std::unique_ptr<CostModel> unit_costs(double unit_s = 1);
/// From the measurements; interpolates between numbers of samples and of busy ranks (interpolate.h). A compute
/// operation costs the sum of its layers plus the executor's overhead per operation; the loss belongs to the last
/// layer. Throws environment_error naming the layer, curve or rate that was never measured under these keys.
std::unique_ptr<CostModel> calibrated_costs(Calibration calibration, ModelSpec model);
/// Roofline from peak rates: max(FLOPs / (eff peak), bytes / bandwidth) + launch floor (cost-models: PyTorch
/// RuntimeEstimator's .75). On a GPU, whose kernels are launched ahead, the larger of roofline and launch floor.
std::unique_ptr<CostModel> data_sheet_costs(MachineInfo machine, ModelSpec model);

/// Whether every layer was measured under the case's keys with one rank busy and, unless each has a device to itself,
/// with all.
bool has_layers(const Calibration& calibration, const ModelSpec& model, const Case& spec);
/// Whether their split backwards were too; without, a calibrated I or W is its share of the backward by FLOPs.
bool has_split_layers(const Calibration& calibration, const ModelSpec& model, const Case& spec);

/// Forward + backward seconds of each layer at `samples` with all ranks of the case busy (emulated: one), the costs of
/// partition:time: calibrated where has_layers(), else data-sheet.
std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine, const ModelSpec& model,
                                  const Case& spec, int samples);

}  // namespace parabench
