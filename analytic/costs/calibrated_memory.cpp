#include "analytic/costs/calibrated_memory.h"

#include <algorithm>
#include <utility>

#include "analytic/calibration/process_bytes.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"

namespace parabench::analytic {
namespace {

constexpr LayerFigure bytes_of(double (*of)(const LayerTiming&), Measured measured = Measured::pass) {
  return {.of = of, .measured = measured, .counted = true};
}
constexpr double count(std::int64_t bytes) { return static_cast<double>(bytes); }

constexpr LayerFigure saved = bytes_of([](const LayerTiming& t) { return count(t.saved_bytes); });
constexpr LayerFigure forward_peak = bytes_of([](const LayerTiming& t) { return count(t.forward_peak_bytes); });
constexpr LayerFigure backward_peak = bytes_of([](const LayerTiming& t) { return count(t.backward_peak_bytes); });
constexpr LayerFigure adding_peak =
    bytes_of([](const LayerTiming& t) { return count(*t.adding_peak_bytes); }, Measured::adding);
constexpr LayerFigure input_peak =
    bytes_of([](const LayerTiming& t) { return count(*t.split->input_peak_bytes); }, Measured::halves_bytes);
constexpr LayerFigure weight_peak =
    bytes_of([](const LayerTiming& t) { return count(*t.split->weight_peak_bytes); }, Measured::halves_bytes);
constexpr LayerFigure adding_weight_peak =
    bytes_of([](const LayerTiming& t) { return count(*t.split->adding_weight_peak_bytes); }, Measured::adding_weights);

const LayerFigure& peak_of(const plan::Op& pass) {
  if (pass.kind == plan::OpKind::backward_input) return input_peak;
  if (pass.kind == plan::OpKind::backward_weight) return pass.accumulates ? adding_weight_peak : weight_peak;
  return pass.accumulates ? adding_peak : backward_peak;
}

class CalibratedMemory final : public MemoryModel {
 public:
  explicit CalibratedMemory(std::shared_ptr<const MeasuredModel> measured) : measured_(std::move(measured)) {}

  std::int64_t saved_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    if (!bytes_measured(plan, op)) return sizes().saved_bytes(plan, rank, op);
    double sum = 0;
    for (int l = first_layer(plan, op); l < end_layer(plan, op); ++l) sum += bytes(plan, rank, op, l, saved);
    return static_cast<std::int64_t>(sum);
  }

  std::int64_t peak_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    if (!bytes_measured(plan, op)) return sizes().temporary_bytes(plan, rank, op);
    double highest = 0, held = 0;
    if (op.kind == plan::OpKind::forward || op.kind == plan::OpKind::recompute) {
      for (int l = first_layer(plan, op); l < end_layer(plan, op); ++l) {
        highest = std::max(highest, held + bytes(plan, rank, op, l, forward_peak));
        held += bytes(plan, rank, op, l, saved);
      }
      return static_cast<std::int64_t>(std::max(0.0, highest - held));
    }
    for (int l = end_layer(plan, op) - 1; l >= first_layer(plan, op); --l) {
      highest = std::max(highest, held + handed_on(plan, rank, op, l) + backward_bytes(plan, rank, op, l) +
                                      count(sizes().waiting_skip_bytes(plan, rank, op, l)));
      held += left_behind(plan, rank, op, l);
    }
    return static_cast<std::int64_t>(highest);
  }

  DeviceOverhead device_overhead(const plan::Plan& plan) const override {
    if (measured_device(plan.spec) != DeviceKind::cuda) return {};
    const GpuInfo* gpu = first_gpu(measured_->calibration.machine);
    return {.context_bytes =
                measured_->calibration.context_bytes > 0 ? measured_->calibration.context_bytes : typical_context_bytes,
            .communicator_bytes = communicator_bytes(plan.spec),
            .matrix_workspace_bytes = matrix_workspace_bytes(gpu),
            .memory_bytes = gpu ? gpu->memory_bytes : 0};
  }

  std::int64_t process_bytes(const plan::Plan& plan) const override {
    return analytic::process_bytes(measured_->calibration, sizes(), plan.spec);
  }

 private:
  const Sizes& sizes() const { return measured_->sizes; }

  std::int64_t communicator_bytes(const Case& spec) const {
    const auto& measured = measured_->calibration.communicator_bytes;
    const auto found = measured.find(communicator_name(spec));
    return found == measured.end() ? typical_communicator_bytes(spec.comm, spec.np) : found->second;
  }

  /// Gradients that this backward leaves behind for the next layers'. Those of a tied tensor whose layers are one
  /// segment are added where both are there, in its original's layer.
  double gradient_bytes(const plan::Plan& plan, const plan::Op& op, int layer) const {
    if (!plan::makes_weight_gradient(op.kind)) return 0;
    if (!op.accumulates) return static_cast<double>(sizes().parameter_bytes(plan.spec.precision, layer));
    const bool waits = plan.tie && plan.tie->original == plan.tie->copy && layer == sizes().model().tie->copy.layer;
    return waits ? static_cast<double>(sizes().tied_bytes(plan.spec.precision)) : 0;
  }

  /// Highest above the start of a layer's pass. Where that was not measured, as in files of before 3.4, what a whole
  /// backward holds that starts gradients, which is no less.
  double backward_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
    const bool makes_nothing =
        op.kind == plan::OpKind::backward_weight && sizes().parameter_bytes(plan.spec.precision, layer) == 0;
    if (makes_nothing) return 0;
    const LayerFigure& peak = peak_of(op);
    const bool known = measured_->layers.has(plan.spec, layer, 1, peak.measured);
    return bytes(plan, rank, op, layer, known ? peak : backward_peak);
  }

  /// The gradient that the layer above has passed down, in place of the one that the segment was handed; a W needs none
  /// but what its I kept.
  double handed_on(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
    if (op.kind == plan::OpKind::backward_weight) return 0;
    return gradient(plan, rank, op, layer + 1) - gradient(plan, rank, op, end_layer(plan, op));
  }

  /// What a layer's pass leaves less what it releases: of what the forward saved an I keeps what its W needs.
  double left_behind(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
    const double gradients = gradient_bytes(plan, op, layer);
    if (op.kind == plan::OpKind::backward) return gradients - bytes(plan, rank, op, layer, saved);
    const double kept = count(sizes().kept_for_weights(plan, rank, op, layer));
    return op.kind == plan::OpKind::backward_weight ? gradients - kept : kept - bytes(plan, rank, op, layer, saved);
  }

  /// Bytes do not depend on who else is busy: any measurement of the layer will do.
  double bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer, const LayerFigure& figure) const {
    return measured_->layers.at(plan.spec, layer, samples_of(plan, rank, op), 1, figure);
  }
  double gradient(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
    if (layer == static_cast<int>(sizes().model().layers.size())) return 0;  // the loss hands in a scalar
    return static_cast<double>(
        sizes().input(layer).bytes(samples_of(plan, rank, op), activation_bytes(plan.spec.precision)));
  }
  bool bytes_measured(const plan::Plan& plan, const plan::Op& op) const {
    for (int l = first_layer(plan, op); l < end_layer(plan, op); ++l) {
      if (!measured_->layers.has(plan.spec, l, 1, saved.measured)) return false;
      if (measured_->layers.at(plan.spec, l, 1, 1, saved) <= 0) return false;
    }
    return true;
  }

  std::shared_ptr<const MeasuredModel> measured_;
};

}  // namespace

std::unique_ptr<const MemoryModel> calibrated_memory(std::shared_ptr<const MeasuredModel> measured) {
  return std::make_unique<CalibratedMemory>(std::move(measured));
}

}  // namespace parabench::analytic
