// Costs of a layer, operation by operation. Every pass over a map counts one read or one write of it; a storage is
// kept once, however many operations need it in backward.
#include <algorithm>

#include "models/spec/layer.h"

namespace parabench {
namespace {

/// A feature map on its way through the layers.
struct Map {
  Shape shape;
  bool requires_grad = true;  ///< backward computes its gradient
  bool saved = false;         ///< some operation keeps it for its backward
  bool multiplied = false;    ///< a product keeps it for its weight gradient
  bool is_input = false;      ///< belongs to the layer before: never written in place
};

class Tally {
 public:
  explicit Tally(int element_bytes) : element_(element_bytes), parameter_(std::max(4, element_bytes)) {}

  void run(const std::vector<Step>& steps, Map& map) {
    for (const Step& step : steps) {
      const Shape out = output_shape(step, map.shape);
      std::visit([&](const auto& op) { apply(op, map, out); }, step.operation);
    }
  }

  /// map = relu(map + shortcut), both in place.
  void join(Map& map, const Map& shortcut) {
    const auto n = map.shape.elements();
    flops(n, 0);
    moved(3 * n, 0);
    map.requires_grad |= shortcut.requires_grad;
    apply(Relu{}, map, map.shape);
  }

  /// The gradients of the two branches that start at `input` are added.
  void fork(const Map& input) {
    if (!input.requires_grad) return;
    flops(0, input.shape.elements());
    moved(0, 3 * input.shape.elements());
  }

  const LayerCost& total() const { return total_; }

 private:
  void apply(const Conv2d& op, Map& map, Shape out) {
    matrix_product(map, out, std::int64_t{1} * op.in * op.kernel * op.kernel);
    weights(std::int64_t{1} * op.out * op.in * op.kernel * op.kernel, true);
  }
  void apply(const Linear& op, Map& map, Shape out) {
    const bool needs_weight = map.requires_grad;
    matrix_product(map, out, op.in);
    weights(std::int64_t{1} * op.out * op.in, needs_weight);
    weights(op.out, false);
  }
  /// Forward reads the map for the statistics and again to normalise; backward reads map and gradient twice.
  void apply(const BatchNorm& op, Map& map, Shape) {
    const auto n = map.shape.elements();
    keep(map);
    flops(n, n);
    moved(3 * n, 5 * n);
    weights(2 * op.channels, false);
    total_.saved_per_batch += Bytes(2 * op.channels * parameter_);  // mean and inverse deviation
    total_.saved_weight_per_batch += Bytes(2 * op.channels * parameter_);
    map = {map.shape};
  }
  /// A sample's features stay in cache: each map passes once. Narrow activations are cast to the type of the
  /// parameters and back, and the wide copy is kept.
  void apply(const LayerNorm& op, Map& map, Shape) {
    const auto n = map.shape.elements();
    const bool cast = element_ < parameter_;
    if (cast)
      total_.saved_per_sample += Bytes(n * parameter_);
    else
      keep(map);
    flops(n, n);
    const std::int64_t casts = cast ? 2 * n * (element_ + parameter_) : 0;
    total_.moved_forward_per_sample += Bytes(2 * n * parameter_ + casts);
    total_.moved_backward_per_sample += Bytes(3 * n * parameter_ + casts);
    weights(2 * op.features, false);
    total_.saved_per_sample += Bytes(2 * parameter_);  // mean and inverse deviation
    total_.saved_weight_per_batch += Bytes(2 * op.features * parameter_);
    map = {map.shape};
  }
  /// In place, and it keeps its output.
  void apply(const Relu&, Map& map, Shape) {
    const auto n = map.shape.elements();
    flops(n, map.requires_grad ? n : 0);
    moved(2 * n, map.requires_grad ? 3 * n : 0);
    if (map.is_input) map = {map.shape, map.requires_grad};
    if (map.requires_grad) keep(map);
  }
  void apply(const MaxPool& op, Map& map, Shape out) {
    const auto n = map.shape.elements(), m = out.elements();
    flops(m * op.kernel * op.kernel, map.requires_grad ? m : 0);
    moved(n + m, map.requires_grad ? n + m : 0);
    const Bytes indices(8 * m);  // int64, whatever the elements are
    total_.moved_forward_per_sample += indices;
    if (map.requires_grad) {
      keep(map);
      total_.moved_backward_per_sample += indices;
      total_.saved_per_sample += indices;
    }
    map = {out, map.requires_grad};
  }
  void apply(const GlobalAveragePool&, Map& map, Shape out) {
    const auto n = map.shape.elements(), m = out.elements();
    flops(n, map.requires_grad ? n : 0);
    moved(n + m, map.requires_grad ? n + m : 0);
    map = {out, map.requires_grad};
  }

  /// `depth` multiply-adds per output element; backward does as many for each of its two gradients.
  void matrix_product(Map& map, Shape out, std::int64_t depth) {
    const auto n = map.shape.elements(), m = out.elements(), product = 2 * depth * m;
    keep(map);
    flops(product, map.requires_grad ? 2 * product : product);
    moved(n + m, map.requires_grad ? 2 * (n + m) : n + m);
    total_.backward_weight_per_sample += Flops(static_cast<double>(product));
    total_.moved_backward_weight_per_sample += Bytes((n + m) * element_);
    total_.saved_weight_per_sample += Bytes((map.multiplied ? m : n + m) * element_);
    map.multiplied = true;
    map = {out};
  }

  void keep(Map& map) {
    if (map.saved) return;
    map.saved = true;
    total_.saved_per_sample += Bytes(map.shape.elements() * element_);
  }
  void flops(std::int64_t forward, std::int64_t backward) {
    total_.forward_per_sample += Flops(static_cast<double>(forward));
    total_.backward_per_sample += Flops(static_cast<double>(backward));
  }
  void moved(std::int64_t forward, std::int64_t backward) {
    total_.moved_forward_per_sample += Bytes(forward * element_);
    total_.moved_backward_per_sample += Bytes(backward * element_);
  }
  /// `kept`: backward keeps the copy in the type of the activations that autocast makes.
  void weights(std::int64_t elements, bool kept) {
    total_.moved_per_batch += Bytes(3 * elements * parameter_);
    if (kept && element_ < parameter_) total_.saved_per_batch += Bytes(elements * element_);
  }

  std::int64_t element_;    ///< bytes of an activation
  std::int64_t parameter_;  ///< bytes of a parameter and of a statistic: fp32 under autocast
  LayerCost total_;
};

}  // namespace

LayerCost cost(std::span<const LayerSpec> layers, Shape in, int element_bytes, bool first) {
  Tally tally(element_bytes);
  Map map{in, !first};
  for (const LayerSpec& layer : layers) {
    map.is_input = true;
    if (layer.residual) {
      Map shortcut = map;
      tally.fork(map);
      tally.run(layer.body, map);
      shortcut.saved = shortcut.multiplied = true;  // by the body's first operation, a product
      tally.run(layer.shortcut, shortcut);
      tally.join(map, shortcut);
    } else {
      tally.run(layer.body, map);
    }
  }
  return tally.total();
}

LayerCost cost(const LayerSpec& layer, Shape in, int element_bytes, bool first) {
  return cost(std::span(&layer, 1), in, element_bytes, first);
}

}  // namespace parabench
