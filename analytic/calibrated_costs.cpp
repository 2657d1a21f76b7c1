#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analytic/cost_model.h"
#include "analytic/data_sheet_rates.h"
#include "analytic/gpu_sheet.h"
#include "analytic/interpolate.h"
#include "analytic/sizes.h"
#include "base/case_text.h"
#include "base/error.h"

namespace parabench {
namespace {

/// What is asked about a layer.
struct Figure {
  double (*of)(const LayerTiming&);
  bool of_split = false;  ///< only where its split backward was measured
};
constexpr Figure forward_s{[](const LayerTiming& t) { return t.forward_s; }};
constexpr Figure backward_s{[](const LayerTiming& t) { return t.backward_s; }};
constexpr Figure input_s{[](const LayerTiming& t) { return t.split->input_s; }, true};
constexpr Figure weight_s{[](const LayerTiming& t) { return t.split->weight_s; }, true};
constexpr Figure forward_mad_s{[](const LayerTiming& t) { return t.forward_mad_s; }};
constexpr Figure backward_mad_s{[](const LayerTiming& t) { return t.backward_mad_s; }};
constexpr Figure input_mad_s{[](const LayerTiming& t) { return t.split->input_mad_s; }, true};
constexpr Figure weight_mad_s{[](const LayerTiming& t) { return t.split->weight_mad_s; }, true};
constexpr Figure saved{[](const LayerTiming& t) { return static_cast<double>(t.saved_bytes); }};
constexpr Figure forward_peak{[](const LayerTiming& t) { return static_cast<double>(t.forward_peak_bytes); }};
constexpr Figure backward_peak{[](const LayerTiming& t) { return static_cast<double>(t.backward_peak_bytes); }};

constexpr std::string_view hint = "measure it with: parabench calibrate CASE";

/// The measurements of one layer of the model, resolved once: looking them up by text for every operation is slow.
struct Measured {
  DeviceKind device;
  Precision precision;
  Layout layout;
  int threads, busy_ranks;
  std::vector<LayerTiming> timings;
};

/// Those with a split backward.
std::vector<LayerTiming> with_parts(std::vector<LayerTiming> timings) {
  std::erase_if(timings, [](const LayerTiming& t) { return !t.split; });
  return timings;
}

/// Value at `busy` from (busy ranks, value) neighbours; fewer than the fewest measured cost as those.
double between(int busy, int below, double low, int above, double high) {
  return above == below || busy <= below ? low : low + (high - low) * (busy - below) / (above - below);
}

class CalibratedCosts final : public CostModel {
 public:
  CalibratedCosts(Calibration calibration, ModelSpec model)
      : calibration_(std::move(calibration)), sizes_(std::move(model)) {
    const auto& layers = sizes_.model().layers;
    for (int l = 0; l < static_cast<int>(layers.size()); ++l) {
      names_.push_back(layer_key(layers[l], sizes_.input(l), l == 0, {}, 1).layer);
      auto &found = measured_.emplace_back(), &split = split_.emplace_back();
      for (auto at = calibration_.layers.lower_bound({.layer = names_[l], .busy_ranks = 0});
           at != calibration_.layers.end() && at->first.layer == names_[l]; ++at) {
        const LayerKey& key = at->first;
        found.push_back({key.device, key.precision, key.layout, key.threads, key.busy_ranks, at->second});
        if (Measured parts = found.back(); !(parts.timings = with_parts(at->second)).empty()) split.push_back(parts);
      }
    }
  }

  double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    switch (op.kind) {
      case OpKind::forward:
      case OpKind::recompute: return overhead(plan) + pass_seconds(plan, rank, op, busy_ranks, forward_s, 1);
      case OpKind::backward:
      case OpKind::backward_input:
      case OpKind::backward_weight:
        return overhead(plan) + backward_seconds(plan, rank, op, busy_ranks) +
               gradient_words(plan, rank, op) / update_words * update_seconds(plan, op, busy_ranks);
      case OpKind::update: return overhead(plan) + update_seconds(plan, op, busy_ranks);
      case OpKind::all_reduce:
        return at_bytes(curve(calibration_.all_reduce, "all-reduce", plan.spec, group_size(plan, op.segment)),
                        sizes_.parameter_bytes(plan, op.segment, op.segments));
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward: return at_bytes(messages(plan), sizes_.message_bytes(plan, rank, op));
    }
    return 0;
  }

  double deviation_s(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    if (op.kind == OpKind::forward || op.kind == OpKind::recompute) {
      return over_layers(plan, rank, op, busy_ranks, forward_mad_s);
    }
    if (!is_pass(op.kind)) return 0;
    if (is_split_measured(plan, op, busy_ranks)) {
      const Figure part = op.kind == OpKind::backward_input ? input_mad_s : weight_mad_s;
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
      highest = std::max(
          highest, held + passed - handed_in - dropped_early(plan, op, l) + bytes(plan, rank, op, l, backward_peak));
      held += gradient_bytes(plan, op, l) - bytes(plan, rank, op, l, saved);
    }
    return static_cast<std::int64_t>(highest);
  }

  Link link(const Plan& plan) const override {
    const int p = group_size(plan, SegmentId(0));
    if (p == 1) return line(messages(plan), 1, 1);
    // The link over which a ring would reduce as fast: 2 (p-1) steps of 1/p of the bytes.
    return line(curve(calibration_.all_reduce, "all-reduce", plan.spec, p), 2 * (p - 1), 2 * (p - 1.0) / p);
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

  static int group_size(const Plan& plan, SegmentId segment) {
    return static_cast<int>(holders(plan, stage_of(plan, segment)).size());
  }

  /// Latency and rate of one of `steps` hops that together carry `share` of a curve's bytes.
  static Link line(const Curve& curve, double steps, double share) {
    const CurvePoint &first = curve.front(), &last = curve.back();
    const double bytes = static_cast<double>(last.bytes - first.bytes), seconds = last.seconds - first.seconds;
    if (bytes <= 0 || seconds <= 0) return {.bytes_per_s = share * static_cast<double>(last.bytes) / last.seconds};
    return {.latency_s = first.seconds / steps, .bytes_per_s = share * bytes / seconds};
  }

  /// The measurements to interpolate between; nullptr above where nobody measured with so many ranks.
  struct Neighbours {
    const Measured *below = nullptr, *above = nullptr;
  };
  static Neighbours neighbours(const std::vector<Measured>& known, const Case& spec, int busy) {
    Neighbours found;
    for (const Measured& m : known) {  // ascending busy ranks under one key
      if (m.device != measured_device(spec) || m.precision != spec.precision || m.layout != spec.layout ||
          m.threads != spec.threads)
        continue;
      if (m.busy_ranks <= busy || !found.below) found.below = &m;
      if (m.busy_ranks >= busy && !found.above) found.above = &m;
    }
    return found;
  }

  double at_layer(const Plan& plan, int layer, int samples, int busy, const Figure& figure) const {
    const auto [below, above] = neighbours(figure.of_split ? split_[layer] : measured_[layer], plan.spec, busy);
    if (!above) throw unmeasured_layer(plan.spec, layer, busy);
    return between(busy, below->busy_ranks, at_samples(below->timings, samples, figure.of), above->busy_ranks,
                   at_samples(above->timings, samples, figure.of));
  }

  /// Whether the pass is I or W, and both were measured for all its layers.
  bool is_split_measured(const Plan& plan, const Op& op, int busy) const {
    if (op.kind != OpKind::backward_input && op.kind != OpKind::backward_weight) return false;
    for (int l = first(plan, op); l < end(plan, op); ++l) {
      if (!neighbours(split_[l], plan.spec, busy).above) return false;
    }
    return true;
  }

  double over_layers(const Plan& plan, Rank rank, const Op& op, int busy, const Figure& figure) const {
    const int samples = samples_of(plan, rank, op);
    double sum = 0;
    for (int l = first(plan, op); l < end(plan, op); ++l) sum += at_layer(plan, l, samples, busy, figure);
    return sum;
  }

  /// The layers' seconds; on a GPU none takes less than its launches (`launches` per operation of a layer), where few
  /// samples lie far from the measured ones.
  double pass_seconds(const Plan& plan, Rank rank, const Op& op, int busy, const Figure& figure, int launches) const {
    if (measured_device(plan.spec) != DeviceKind::cuda || plan.spec.graph)
      return over_layers(plan, rank, op, busy, figure);
    const int samples = samples_of(plan, rank, op);
    double sum = 0;
    for (int l = first(plan, op); l < end(plan, op); ++l) {
      const double least = calibration_.launch_floor_s * operations(sizes_.model().layers[l]) * launches;
      sum += std::max(least, at_layer(plan, l, samples, busy, figure));
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

  double update_seconds(const Plan& plan, const Op& op, int busy) const {
    const auto known = calibration_.update_s_per_parameter.find(measured_device(plan.spec));
    if (known == calibration_.update_s_per_parameter.end()) {
      throw environment_error("calibration", fmt::format("no update rate of device:{}", to_text(plan.spec.device)),
                              "update seconds per parameter", hint);
    }
    const RatesByBusy& rates = known->second;
    auto above = rates.lower_bound(busy);
    if (above == rates.end()) --above;  // memory-bound: more ranks than were measured wait for the same memory
    auto below = above;
    if (above->first > busy && above != rates.begin()) --below;
    const double rate = between(busy, below->first, below->second, above->first, above->second);
    const int element = parameter_bytes(plan.spec.precision);
    return rate * static_cast<double>(sizes_.parameter_bytes(plan, op.segment, op.segments)) / element;
  }

  /// Gradients that this backward leaves behind for the next layers'.
  double gradient_bytes(const Plan& plan, const Op& op, int layer) const {
    return makes_weight_gradient(op.kind) && !op.accumulates
               ? static_cast<double>(sizes_.parameter_bytes(plan.spec.precision, layer))
               : 0;
  }

  /// What the measured peak, of a backward that starts gradients, holds too much where this one adds each as it comes.
  double dropped_early(const Plan& plan, const Op& op, int layer) const {
    if (!op.accumulates) return 0;
    const Precision precision = plan.spec.precision;
    return static_cast<double>(sizes_.parameter_bytes(precision, layer) -
                               sizes_.largest_parameter_bytes(precision, layer));
  }

  /// Bytes do not depend on who else is busy: any measurement of the layer will do.
  double bytes(const Plan& plan, Rank rank, const Op& op, int layer, const Figure& figure) const {
    return at_layer(plan, layer, samples_of(plan, rank, op), 1, figure);
  }
  double gradient(const Plan& plan, Rank rank, const Op& op, int layer) const {
    if (layer == static_cast<int>(measured_.size())) return 0;  // the loss hands in a scalar
    return static_cast<double>(sizes_.input(layer).elements() * samples_of(plan, rank, op) *
                               activation_bytes(plan.spec.precision));
  }
  bool bytes_measured(const Plan& plan, const Op& op) const {
    for (int l = first(plan, op); l < end(plan, op); ++l) {
      if (at_layer(plan, l, 1, 1, saved) <= 0) return false;
    }
    return true;
  }

  /// Messages between two ranks: a launch of another size on the same communicator serves too, for emulated devices, which
  /// have no communicator of their own, of any.
  const Curve& messages(const Plan& plan) const {
    const auto& curves = calibration_.point_to_point;
    const RankCountKey key = curve_key(plan.spec, plan.spec.np);
    if (const auto exact = curves.find(key); exact != curves.end()) return exact->second;
    const auto any = std::ranges::find_if(curves, [&](const auto& entry) {
      return entry.first.device == key.device &&
             (entry.first.comm == key.comm || plan.spec.device == DeviceKind::emulated);
    });
    return any != curves.end() ? any->second : curve(curves, "point-to-point", plan.spec, plan.spec.np);
  }

  static RankCountKey curve_key(const Case& spec, int ranks) {
    return {std::string(to_text(spec.comm)), ranks, measured_device(spec)};
  }

  static const Curve& curve(const std::map<RankCountKey, Curve>& curves, std::string_view what, const Case& spec,
                            int ranks) {
    const auto found = curves.find(curve_key(spec, ranks));
    if (found == curves.end()) {
      throw environment_error("calibration",
                              fmt::format("no {} curve of {} ranks over {} with device:{}", what, ranks,
                                          to_text(spec.comm), to_text(measured_device(spec))),
                              "a curve measured with as many ranks", hint);
    }
    return found->second;
  }

  Error unmeasured_layer(const Case& spec, int layer, int busy) const {
    return environment_error(
        "calibration",
        fmt::format(
            "layer '{}' ({}) never measured with device:{}, precision:{}, layout:{}, threads:{}, {} busy ranks or "
            "more",
            sizes_.model().layers[layer].name, names_[layer], to_text(measured_device(spec)), to_text(spec.precision),
            to_text(spec.layout), spec.threads, busy),
        "a measurement under the case's keys", hint);
  }

  Calibration calibration_;
  Sizes sizes_;
  std::vector<std::string> names_;               ///< signature of each layer of the model
  std::vector<std::vector<Measured>> measured_;  ///< by layer of the model
  std::vector<std::vector<Measured>> split_;     ///< those with a split backward
};

}  // namespace

std::unique_ptr<CostModel> calibrated_costs(Calibration calibration, ModelSpec model) {
  return std::make_unique<CalibratedCosts>(std::move(calibration), std::move(model));
}

}  // namespace parabench
