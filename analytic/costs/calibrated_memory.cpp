#include "analytic/costs/calibrated_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analytic/calibration/process_bytes.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"
#include "base/case_text.h"

namespace parabench::analytic {
namespace {

constexpr LayerFigure saved{[](const LayerTiming& t) { return static_cast<double>(t.saved_bytes); }};
constexpr LayerFigure forward_peak{[](const LayerTiming& t) { return static_cast<double>(t.forward_peak_bytes); }};
constexpr LayerFigure backward_peak{[](const LayerTiming& t) { return static_cast<double>(t.backward_peak_bytes); }};
constexpr LayerFigure adding_peak{[](const LayerTiming& t) { return static_cast<double>(t.adding_peak_bytes); },
                                  LayerPart::adding};
constexpr LayerFigure input_peak{[](const LayerTiming& t) { return static_cast<double>(t.split->input_peak_bytes); },
                                 LayerPart::split_bytes};
constexpr LayerFigure weight_peak{[](const LayerTiming& t) { return static_cast<double>(t.split->weight_peak_bytes); },
                                  LayerPart::split_bytes};
constexpr LayerFigure adding_weight_peak{
    [](const LayerTiming& t) { return static_cast<double>(t.split->adding_weight_peak_bytes); },
    LayerPart::split_bytes};

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
    // Layers above have released what they saved; the gradient passed down stands in for the one handed in.
    for (int l = end_layer(plan, op) - 1; l >= first_layer(plan, op); --l) {
      const double handed_in = gradient(plan, rank, op, end_layer(plan, op)), passed = gradient(plan, rank, op, l + 1);
      highest = std::max(highest, held + passed - handed_in + backward_bytes(plan, rank, op, l) +
                                      static_cast<double>(sizes().waiting_skip_bytes(plan, rank, op, l)));
      held += gradient_bytes(plan, op, l) - bytes(plan, rank, op, l, saved);
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
    return found == measured.end() ? typical_communicator_bytes(spec) : found->second;
  }

  /// Gradients that this backward leaves behind for the next layers'. Those of a tied tensor whose layers are one
  /// segment are added where both are there, in its original's layer.
  double gradient_bytes(const plan::Plan& plan, const plan::Op& op, int layer) const {
    if (!plan::makes_weight_gradient(op.kind)) return 0;
    if (!op.accumulates) return static_cast<double>(sizes().parameter_bytes(plan.spec.precision, layer));
    const bool waits = plan.tie && plan.tie->original == plan.tie->copy && layer == sizes().model().tie->copy.layer;
    return waits ? static_cast<double>(sizes().tied_bytes(plan.spec.precision)) : 0;
  }

  /// Highest above the start of a layer's backward, or its part of one. Where that was not measured, as in files of
  /// before 3.4, what a whole one holds that starts gradients, which is no less.
  double backward_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
    const bool adds = op.accumulates && plan::makes_weight_gradient(op.kind);
    const LayerFigure& wanted = op.kind == plan::OpKind::backward         ? adds ? adding_peak : backward_peak
                                : op.kind == plan::OpKind::backward_input ? input_peak
                                : adds                                    ? adding_weight_peak
                                                                          : weight_peak;
    if (op.kind == plan::OpKind::backward_weight && sizes().parameter_bytes(plan.spec.precision, layer) == 0) return 0;
    const bool known = measured_->layers.has(plan.spec, layer, 1, wanted.part);
    return bytes(plan, rank, op, layer, known ? wanted : backward_peak);
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
