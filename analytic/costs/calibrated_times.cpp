#include "analytic/costs/calibrated_times.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/costs/curve_times.h"
#include "analytic/costs/update_words.h"

namespace parabench::analytic {
namespace {

constexpr LayerFigure forward_s{[](const LayerTiming& t) { return t.forward_s; }};
constexpr LayerFigure backward_s{[](const LayerTiming& t) { return t.backward_s; }};
constexpr LayerFigure input_s{[](const LayerTiming& t) { return t.split->input_s; }, Measured::halves};
constexpr LayerFigure weight_s{[](const LayerTiming& t) { return t.split->weight_s; }, Measured::halves};
constexpr LayerFigure forward_mad_s{[](const LayerTiming& t) { return t.forward_mad_s; }};
constexpr LayerFigure backward_mad_s{[](const LayerTiming& t) { return t.backward_mad_s; }};
constexpr LayerFigure input_mad_s{[](const LayerTiming& t) { return t.split->input_mad_s; }, Measured::halves};
constexpr LayerFigure weight_mad_s{[](const LayerTiming& t) { return t.split->weight_mad_s; }, Measured::halves};

class CalibratedTimes final : public TimeModel {
 public:
  explicit CalibratedTimes(std::shared_ptr<const MeasuredModel> measured) : measured_(std::move(measured)) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int all_busy) const override {
    const int busy_ranks = neighbours(plan, rank, all_busy);
    switch (op.kind) {
      case plan::OpKind::forward:
      case plan::OpKind::recompute: return whole(plan, pass_parts(plan, rank, op, busy_ranks, forward_s, 1), 0);
      case plan::OpKind::backward:
      case plan::OpKind::backward_input:
      case plan::OpKind::backward_weight:
        return whole(plan, backward_parts(plan, rank, op, busy_ranks), gradient_seconds(plan, rank, op, busy_ranks));
      case plan::OpKind::norms:
      case plan::OpKind::update:
      case plan::OpKind::add:
      case plan::OpKind::average: return whole(plan, {}, words_seconds(plan, rank, op, busy_ranks));
      case plan::OpKind::encode:
      case plan::OpKind::project:
      case plan::OpKind::decode:
        return whole(plan, {.compute = product_seconds(plan, op, busy_ranks)},
                     words_seconds(plan, rank, op, busy_ranks));
      case plan::OpKind::all_reduce:
      case plan::OpKind::reduce_scatter:
      case plan::OpKind::all_gather:
      case plan::OpKind::broadcast: {
        const GroupShape shape = group_shape(plan.placement, plan.groups[op.group.value].ranks);
        TimeParts times =
            collective_times(measured_->calibration, plan.spec, op.kind, shape, sizes().payload_bytes(plan, rank, op));
        times.memory += own_share_seconds(plan, rank, op, shape);
        return times;
      }
      case plan::OpKind::send:
      case plan::OpKind::receive:
        return message_times(measured_->calibration, plan.spec, !on_one_host(plan.placement, rank, op.peer),
                             link_sharers(plan, op) * sizes().payload_bytes(plan, rank, op));
    }
    return {};
  }

  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int all_busy) const override {
    const int busy_ranks = neighbours(plan, rank, all_busy);
    if (op.kind == plan::OpKind::forward || op.kind == plan::OpKind::recompute) {
      return of_pass(plan, rank, op, busy_ranks, forward_mad_s);
    }
    if (!plan::is_pass(op.kind)) return 0;
    if (is_split_measured(plan, rank, op, busy_ranks)) {
      const LayerFigure part = op.kind == plan::OpKind::backward_input ? input_mad_s : weight_mad_s;
      return of_pass(plan, rank, op, busy_ranks, part);
    }
    return sizes().backward_share(plan, op) * of_pass(plan, rank, op, busy_ranks, backward_mad_s);
  }

  BesideComputing beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    const std::int64_t bytes = sizes().payload_bytes(plan, rank, op);
    if (plan::is_message(op.kind))
      return message_beside_computing(measured_->calibration, plan.spec, !on_one_host(plan.placement, rank, op.peer),
                                      link_sharers(plan, op) * bytes);
    const GroupShape shape = group_shape(plan.placement, plan.groups[op.group.value].ranks);
    return collective_beside_computing(measured_->calibration, plan.spec, op.kind, shape, bytes);
  }

  double load_s_per_sample(const plan::Plan& plan, int loading_ranks) const override {
    const bool loads = plan.spec.input == InputKind::host && plan.spec.device != DeviceKind::emulated;
    return loads ? load_rate(measured_->calibration, plan.spec, loading_ranks) : 0;
  }

  Link link(const plan::Plan& plan) const override {
    const std::vector<Rank> holders = plan::holders(plan, StageId(0));
    if (holders.size() == 1 || plan.stages > 1 || !plan.servers.empty())
      return line(slowest_message_curve(measured_->calibration, plan), 1, 1);
    if (!plan::has_collectives(plan.ranks[0], plan::Payload::gradient_shares)) return ring(plan, holders);
    // Nothing is summed among all of them at once: of the groups of a rank the one with the slowest link.
    Link slowest{.bytes_per_s = std::numeric_limits<double>::infinity()};
    for (const plan::Lane& lane : plan.ranks[0].lanes) {
      if (lane.key.kind != plan::LaneKind::collectives) continue;
      const Link one = ring(plan, plan.groups[lane.key.group.value].ranks);
      if (one.bytes_per_s < slowest.bytes_per_s) slowest = one;
    }
    return slowest;
  }

  int cores() const override { return measured_->calibration.machine.cores; }
  std::string source() const override { return "calibrated"; }

 private:
  const Sizes& sizes() const { return measured_->sizes; }

  /// Ranks of other hosts get into nobody's way.
  static int neighbours(const plan::Plan& plan, Rank rank, int busy_ranks) {
    return std::min(busy_ranks, ranks_beside(plan.placement, rank, busy_ranks));
  }

  /// The link over which a ring would reduce as fast as these ranks do: 2 (p-1) steps of 1/p of the bytes.
  Link ring(const plan::Plan& plan, const std::vector<Rank>& members) const {
    const auto p = static_cast<int>(members.size());
    const Curve sums =
        measured_or_derived_curve(measured_->calibration, plan.spec, group_shape(plan.placement, members));
    return line(sums, 2 * (p - 1), 2 * (p - 1.0) / p);
  }

  /// Latency and rate of one of `steps` hops that together carry `share` of a curve's bytes.
  static Link line(const Curve& curve, double steps, double share) {
    const CurvePoint &first = curve.front(), &last = curve.back();
    const double bytes = static_cast<double>(last.bytes - first.bytes), seconds = last.seconds - first.seconds;
    if (bytes <= 0 || seconds <= 0) return {.bytes_per_s = share * static_cast<double>(last.bytes) / last.seconds};
    return {.latency_s = first.seconds / steps, .bytes_per_s = share * bytes / seconds};
  }

  /// A figure of the operation's segment, where that was measured as one.
  std::optional<double> of_segment(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy,
                                   const LayerFigure& figure) const {
    const plan::Segment& segment = plan.segments[op.segment.value];
    if (segment.layers == 1) return std::nullopt;
    return measured_->layers.of_segment(plan.spec, {segment.first_layer, segment.layers}, samples_of(plan, rank, op),
                                        busy, figure);
  }

  /// Whether the pass is I or W, and both were measured of its segment or of all its layers.
  bool is_split_measured(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const {
    if (op.kind != plan::OpKind::backward_input && op.kind != plan::OpKind::backward_weight) return false;
    if (of_segment(plan, rank, op, busy, input_s)) return true;
    for (int l = first_layer(plan, op); l < end_layer(plan, op); ++l) {
      if (!measured_->layers.has(plan.spec, l, busy, Measured::halves)) return false;
    }
    return true;
  }

  /// Of the segment, else of its layers.
  double of_pass(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy, const LayerFigure& figure) const {
    if (const auto whole = of_segment(plan, rank, op, busy, figure)) return *whole;
    const int samples = samples_of(plan, rank, op);
    double sum = 0;
    for (int l = first_layer(plan, op); l < end_layer(plan, op); ++l)
      sum += measured_->layers.at(plan.spec, l, samples, busy, figure);
    return sum;
  }

  /// The same; on a GPU no layer takes less than its launches (`launches` per operation of a layer), where few samples
  /// lie far from the measured ones.
  TimeParts pass_parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy, const LayerFigure& figure,
                       int launches) const {
    const bool may_be_launches = measured_device(plan.spec) == DeviceKind::cuda && !plan.spec.graph;
    if (!may_be_launches) return {.compute = of_pass(plan, rank, op, busy, figure)};
    if (const auto whole = of_segment(plan, rank, op, busy, figure)) return {.compute = *whole};
    const int samples = samples_of(plan, rank, op);
    double sum = 0;
    TimeParts parts;
    for (int l = first_layer(plan, op); l < end_layer(plan, op); ++l) {
      const double least = measured_->calibration.launch_floor_s * sizes().operations(l) * launches;
      const double layer = measured_->layers.at(plan.spec, l, samples, busy, figure);
      sum += std::max(least, layer);
      parts.compute += layer;
      parts.launch += std::max(0.0, least - layer);
    }
    return with_total(parts, sum);
  }

  /// B, I or W; where its parts were not measured, their FLOPs divide the whole.
  TimeParts backward_parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const {
    if (is_split_measured(plan, rank, op, busy)) {
      return pass_parts(plan, rank, op, busy, op.kind == plan::OpKind::backward_input ? input_s : weight_s, 1);
    }
    const double share = sizes().backward_share(plan, op);
    const TimeParts both = pass_parts(plan, rank, op, busy, backward_s, 2);
    return with_total(share * both, share * both.total());
  }

  /// Of an operation with these layers and this traffic of gradients and states.
  TimeParts whole(const plan::Plan& plan, TimeParts layers, double traffic) const {
    const double total = overhead(plan) + layers.total() + traffic;
    layers.launch += overhead(plan);
    layers.memory += traffic;
    return with_total(layers, total);
  }

  /// Between two operations; a replayed step has no such place.
  double overhead(const plan::Plan& plan) const {
    if (plan.spec.graph) return 0;
    const auto found = measured_->calibration.step_overhead_s.find(measured_device(plan.spec));
    return found == measured_->calibration.step_overhead_s.end() ? 0 : found->second;
  }

  /// Of the gradients that a pass copies or adds to: their share of the words of an update.
  double gradient_seconds(const plan::Plan& plan, Rank rank, const plan::Op& pass, int busy) const {
    const double words = gradient_words(plan, rank, pass);
    if (words == 0) return 0;
    return words / update_words(plan) * update_seconds(plan, sizes().gradient_bytes(plan, pass.segment), busy);
  }

  /// All members move theirs at the same time.
  double own_share_seconds(const plan::Plan& plan, Rank rank, const plan::Op& gather, const GroupShape& group) const {
    const double words = gathered_words(plan, gather);
    if (words == 0) return 0;
    const std::int64_t own = sizes().payload_bytes(plan, rank, gather) / group.ranks;
    return words / update_words(plan) * update_seconds(plan, own, neighbours(plan, rank, group.ranks));
  }

  double words_seconds(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const {
    return update_words(plan, rank, op) / update_words(plan) *
           update_seconds(plan, sizes().updated_bytes(plan, rank, op), busy);
  }

  /// Products of a compressed sum, at the rate of the model's own forwards.
  double product_seconds(const plan::Plan& plan, const plan::Op& step, int busy) const {
    const double flops = sizes().compression_flops(plan, step);
    if (flops == 0) return 0;
    const int samples = plan.pieces.front().front(), layers = static_cast<int>(sizes().model().layers.size());
    const auto costs = sizes().layer_costs(plan.spec.precision);
    double seconds = 0, all = 0;
    for (int l = 0; l < layers; ++l) {
      seconds += measured_->layers.at(plan.spec, l, samples, busy, forward_s);
      all += costs[l].forward_per_sample.value * samples;
    }
    return all > 0 ? flops * seconds / all : 0;
  }

  double update_seconds(const plan::Plan& plan, std::int64_t bytes, int busy) const {
    const double rate = update_rate(measured_->calibration, plan.spec, busy);
    const int element = plan::parameter_bytes(plan.spec.precision);
    return rate * static_cast<double>(bytes) / element;
  }

  std::shared_ptr<const MeasuredModel> measured_;
};

}  // namespace

std::unique_ptr<const TimeModel> calibrated_times(std::shared_ptr<const MeasuredModel> measured) {
  return std::make_unique<CalibratedTimes>(std::move(measured));
}

}  // namespace parabench::analytic
