#include <algorithm>
#include <string>

#include "analytic/calibration/measurements.h"
#include "analytic/costs/cost_model.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/costs/interpolate.h"
#include "analytic/memory/sizes.h"
#include "base/case_text.h"

namespace parabench {
namespace {

constexpr LayerFigure forward_s{[](const LayerTiming& t) { return t.forward_s; }};
constexpr LayerFigure backward_s{[](const LayerTiming& t) { return t.backward_s; }};
constexpr LayerFigure input_s{[](const LayerTiming& t) { return t.split->input_s; }, true};
constexpr LayerFigure weight_s{[](const LayerTiming& t) { return t.split->weight_s; }, true};
constexpr LayerFigure forward_mad_s{[](const LayerTiming& t) { return t.forward_mad_s; }};
constexpr LayerFigure backward_mad_s{[](const LayerTiming& t) { return t.backward_mad_s; }};
constexpr LayerFigure input_mad_s{[](const LayerTiming& t) { return t.split->input_mad_s; }, true};
constexpr LayerFigure weight_mad_s{[](const LayerTiming& t) { return t.split->weight_mad_s; }, true};
constexpr LayerFigure saved{[](const LayerTiming& t) { return static_cast<double>(t.saved_bytes); }};
constexpr LayerFigure forward_peak{[](const LayerTiming& t) { return static_cast<double>(t.forward_peak_bytes); }};
constexpr LayerFigure backward_peak{[](const LayerTiming& t) { return static_cast<double>(t.backward_peak_bytes); }};

class CalibratedCosts final : public CostModel {
 public:
  CalibratedCosts(Calibration calibration, ModelSpec model)
      : calibration_(std::move(calibration)), sizes_(std::move(model)), layers_(calibration_, sizes_.model()) {}

  double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    switch (op.kind) {
      case OpKind::forward:
      case OpKind::recompute: return overhead(plan) + pass_seconds(plan, rank, op, busy_ranks, forward_s, 1);
      case OpKind::backward:
      case OpKind::backward_input:
      case OpKind::backward_weight:
        return overhead(plan) + backward_seconds(plan, rank, op, busy_ranks) +
               gradient_seconds(plan, rank, op, busy_ranks);
      case OpKind::norms:
      case OpKind::update:
        return overhead(plan) + update_words(plan, op) / update_words(plan) *
                                    update_seconds(plan, sizes_.updated_bytes(plan, rank, op), busy_ranks);
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast: {
        const int members = static_cast<int>(plan.groups[op.group.value].ranks.size());
        return share_of_all_reduce(op.kind) *
               at_bytes(reduction_curve(calibration_, plan.spec, members), sizes_.payload_bytes(plan, rank, op));
      }
      case OpKind::send:
      case OpKind::receive:
        return at_bytes(message_curve(calibration_, plan.spec), sizes_.payload_bytes(plan, rank, op));
    }
    return 0;
  }

  double deviation_s(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    if (op.kind == OpKind::forward || op.kind == OpKind::recompute) {
      return over_layers(plan, rank, op, busy_ranks, forward_mad_s);
    }
    if (!is_pass(op.kind)) return 0;
    if (is_split_measured(plan, op, busy_ranks)) {
      const LayerFigure part = op.kind == OpKind::backward_input ? input_mad_s : weight_mad_s;
      return over_layers(plan, rank, op, busy_ranks, part);
    }
    return sizes_.backward_share(plan, op) * over_layers(plan, rank, op, busy_ranks, backward_mad_s);
  }

  std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    if (!bytes_measured(plan, op)) return sizes_.saved_bytes(plan, rank, op);
    double sum = 0;
    for (int l = first(plan, op); l < end(plan, op); ++l) sum += bytes(plan, rank, op, l, saved);
    return static_cast<std::int64_t>(sum);
  }

  std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    if (!bytes_measured(plan, op)) return sizes_.temporary_bytes(plan, rank, op);
    double highest = 0, held = 0;
    if (op.kind == OpKind::forward || op.kind == OpKind::recompute) {
      for (int l = first(plan, op); l < end(plan, op); ++l) {
        highest = std::max(highest, held + bytes(plan, rank, op, l, forward_peak));
        held += bytes(plan, rank, op, l, saved);
      }
      return static_cast<std::int64_t>(std::max(0.0, highest - held));
    }
    // Layers above have released what they saved; the gradient passed down stands in for the one handed in.
    for (int l = end(plan, op) - 1; l >= first(plan, op); --l) {
      const double handed_in = gradient(plan, rank, op, end(plan, op)), passed = gradient(plan, rank, op, l + 1);
      highest = std::max(highest, held + passed - handed_in - dropped_early(plan, op, l) +
                                      bytes(plan, rank, op, l, backward_peak) +
                                      static_cast<double>(sizes_.waiting_skip_bytes(plan, rank, op, l)));
      held += gradient_bytes(plan, op, l) - bytes(plan, rank, op, l, saved);
    }
    return static_cast<std::int64_t>(highest);
  }

  Link link(const Plan& plan) const override {
    const auto p = static_cast<int>(holders(plan, StageId(0)).size());
    if (p == 1) return line(message_curve(calibration_, plan.spec), 1, 1);
    // The link over which a ring would reduce as fast: 2 (p-1) steps of 1/p of the bytes.
    return line(reduction_curve(calibration_, plan.spec, p), 2 * (p - 1), 2 * (p - 1.0) / p);
  }

  DeviceOverhead device_overhead(const Plan& plan) const override {
    if (measured_device(plan.spec) != DeviceKind::cuda) return {};
    const GpuInfo* gpu = first_gpu(calibration_.machine);
    return {.context_bytes = calibration_.context_bytes > 0 ? calibration_.context_bytes : typical_context_bytes,
            .communicator_bytes = plan.spec.np > 1 ? communicator_bytes(plan.spec.comm) : 0,
            .matrix_workspace_bytes = matrix_workspace_bytes(gpu),
            .memory_bytes = gpu ? gpu->memory_bytes : 0};
  }

  int cores() const override { return calibration_.machine.cores; }
  std::string source() const override { return "calibrated"; }

 private:
  static int first(const Plan& plan, const Op& op) { return plan.segments[op.segment.value].first_layer; }
  static int end(const Plan& plan, const Op& op) { return first(plan, op) + plan.segments[op.segment.value].layers; }

  /// Latency and rate of one of `steps` hops that together carry `share` of a curve's bytes.
  static Link line(const Curve& curve, double steps, double share) {
    const CurvePoint &first = curve.front(), &last = curve.back();
    const double bytes = static_cast<double>(last.bytes - first.bytes), seconds = last.seconds - first.seconds;
    if (bytes <= 0 || seconds <= 0) return {.bytes_per_s = share * static_cast<double>(last.bytes) / last.seconds};
    return {.latency_s = first.seconds / steps, .bytes_per_s = share * bytes / seconds};
  }

  /// Whether the pass is I or W, and both were measured for all its layers.
  bool is_split_measured(const Plan& plan, const Op& op, int busy) const {
    if (op.kind != OpKind::backward_input && op.kind != OpKind::backward_weight) return false;
    for (int l = first(plan, op); l < end(plan, op); ++l) {
      if (!layers_.has_split(plan.spec, l, busy)) return false;
    }
    return true;
  }

  double over_layers(const Plan& plan, Rank rank, const Op& op, int busy, const LayerFigure& figure) const {
    const int samples = samples_of(plan, rank, op);
    double sum = 0;
    for (int l = first(plan, op); l < end(plan, op); ++l) sum += layers_.at(plan.spec, l, samples, busy, figure);
    return sum;
  }

  /// The layers' seconds; on a GPU none takes less than its launches (`launches` per operation of a layer), where few
  /// samples lie far from the measured ones.
  double pass_seconds(const Plan& plan, Rank rank, const Op& op, int busy, const LayerFigure& figure,
                      int launches) const {
    if (measured_device(plan.spec) != DeviceKind::cuda || plan.spec.graph)
      return over_layers(plan, rank, op, busy, figure);
    const int samples = samples_of(plan, rank, op);
    double sum = 0;
    for (int l = first(plan, op); l < end(plan, op); ++l) {
      const double least = calibration_.launch_floor_s * operations(sizes_.model().layers[l]) * launches;
      sum += std::max(least, layers_.at(plan.spec, l, samples, busy, figure));
    }
    return sum;
  }

  /// B, I or W; where its parts were not measured, their FLOPs divide the whole.
  double backward_seconds(const Plan& plan, Rank rank, const Op& op, int busy) const {
    if (!is_split_measured(plan, op, busy)) {
      return sizes_.backward_share(plan, op) * pass_seconds(plan, rank, op, busy, backward_s, 2);
    }
    return pass_seconds(plan, rank, op, busy, op.kind == OpKind::backward_input ? input_s : weight_s, 1);
  }

  /// Between two operations; a replayed step has no such place.
  double overhead(const Plan& plan) const {
    if (plan.spec.graph) return 0;
    const auto found = calibration_.step_overhead_s.find(measured_device(plan.spec));
    return found == calibration_.step_overhead_s.end() ? 0 : found->second;
  }

  std::int64_t communicator_bytes(CommKind comm) const {
    const auto found = calibration_.communicator_bytes.find(std::string(to_text(comm)));
    if (found != calibration_.communicator_bytes.end()) return found->second;
    return comm == CommKind::nccl ? typical_nccl_bytes : 0;
  }

  /// Of the gradients that a pass copies or adds to: their share of the words of an update.
  double gradient_seconds(const Plan& plan, Rank rank, const Op& pass, int busy) const {
    const double words = gradient_words(plan, rank, pass);
    if (words == 0) return 0;
    return words / update_words(plan) * update_seconds(plan, sizes_.gradient_bytes(plan, pass.segment), busy);
  }

  double update_seconds(const Plan& plan, std::int64_t bytes, int busy) const {
    const double rate = update_rate(calibration_, plan.spec, busy);
    const int element = parameter_bytes(plan.spec.precision);
    return rate * static_cast<double>(bytes) / element;
  }

  /// Gradients that this backward leaves behind for the next layers'. Those of a tied tensor whose layers are one
  /// segment are added where both are there, in its original's layer.
  double gradient_bytes(const Plan& plan, const Op& op, int layer) const {
    if (!makes_weight_gradient(op.kind)) return 0;
    if (!op.accumulates) return static_cast<double>(sizes_.parameter_bytes(plan.spec.precision, layer));
    const bool waits = plan.tie && plan.tie->original == plan.tie->copy && layer == sizes_.model().tie->copy.layer;
    return waits ? static_cast<double>(sizes_.tied_bytes(plan.spec.precision)) : 0;
  }

  /// What the measured peak, of a backward that starts gradients, holds too much where this one adds each as it comes.
  double dropped_early(const Plan& plan, const Op& op, int layer) const {
    if (!op.accumulates) return 0;
    const Precision precision = plan.spec.precision;
    return static_cast<double>(sizes_.parameter_bytes(precision, layer) -
                               sizes_.largest_parameter_bytes(precision, layer));
  }

  /// Bytes do not depend on who else is busy: any measurement of the layer will do.
  double bytes(const Plan& plan, Rank rank, const Op& op, int layer, const LayerFigure& figure) const {
    return layers_.at(plan.spec, layer, samples_of(plan, rank, op), 1, figure);
  }
  double gradient(const Plan& plan, Rank rank, const Op& op, int layer) const {
    if (layer == static_cast<int>(sizes_.model().layers.size())) return 0;  // the loss hands in a scalar
    return static_cast<double>(sizes_.input(layer).elements() * samples_of(plan, rank, op) *
                               activation_bytes(plan.spec.precision));
  }
  bool bytes_measured(const Plan& plan, const Op& op) const {
    for (int l = first(plan, op); l < end(plan, op); ++l) {
      if (layers_.at(plan.spec, l, 1, 1, saved) <= 0) return false;
    }
    return true;
  }

  Calibration calibration_;
  Sizes sizes_;
  MeasuredLayers layers_;
};

}  // namespace

std::unique_ptr<CostModel> calibrated_costs(Calibration calibration, ModelSpec model) {
  return std::make_unique<CalibratedCosts>(std::move(calibration), std::move(model));
}

}  // namespace parabench
