#include "analytic/memory/sizes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <variant>

#include "base/compression.h"
#include "models/spec/cost.h"
#include "models/spec/loss.h"
#include "parallelism/plan/state/messages.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::analytic {
namespace {

constexpr std::int64_t index_bytes = sizeof(std::int64_t);  // tokens and labels

/// An output that has memory of its own, or the 8-byte indices that a pooling keeps beside it. Of one sample.
struct MadeTensor {
  std::int64_t elements = 0;
  bool indices = false;
};

/// What follows from a layer and its input alone.
struct LayerFacts {
  std::string signature;
  int operations = 0;
  std::int64_t largest_map = 0;          ///< elements of one sample
  std::int64_t largest_parameter = 0;    ///< elements
  std::vector<std::int64_t> parameters;  ///< elements of each
  std::vector<MadeTensor> made;
};

LayerFacts facts_of(const models::LayerSpec& layer, const TensorSpec& in, std::span<const TensorSpec> outputs) {
  LayerFacts facts{.signature = models::signature(layer, in), .operations = operations(layer)};
  const auto look_at = [&](const TensorSpec& value) {
    if (value.kind() != ElementKind::sums) facts.largest_map = std::max(facts.largest_map, value.elements());
  };
  look_at(in);
  std::ranges::for_each(outputs, look_at);
  for (const models::ParameterSpec& tensor : models::parameters(layer)) {
    facts.parameters.push_back(tensor.elements());
    facts.largest_parameter = std::max(facts.largest_parameter, tensor.elements());
  }
  const std::vector<int> overwritten = models::overwritten_inputs(layer);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const models::Operation& operation = layer.nodes[i].operation;
    const bool is_own = !models::is_view(operation) && overwritten[i] == models::none_overwritten;
    if (!is_own || outputs[i].kind() == ElementKind::sums) continue;
    facts.made.push_back({outputs[i].elements(), false});
    if (std::holds_alternative<models::MaxPool>(operation)) facts.made.push_back({outputs[i].elements(), true});
  }
  return facts;
}

}  // namespace

int activation_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return 4;
    case Precision::bf16: return 2;
    case Precision::fp64: return 8;
  }
  return 0;
}

int samples_of(const plan::Plan& plan, Rank rank, const plan::Op& op) {
  return plan::samples_of(plan, plan::replica_of(plan, rank, op.segment), op.micro_batch);
}

int operations(const models::LayerSpec& layer) {
  const auto is_sum = [&](int value) {
    return value >= 0 && std::holds_alternative<models::Add>(layer.nodes[value].operation);
  };
  return static_cast<int>(std::ranges::count_if(layer.nodes, [&](const models::Node& node) {
    const bool belongs_to_sum = std::holds_alternative<models::Add>(node.operation) ||
                                (models::overwrites_input(node.operation) && is_sum(node.inputs[0]));
    return !models::is_view(node.operation) && !belongs_to_sum;
  }));
}

struct Sizes::Facts {
  explicit Facts(models::ModelSpec spec)
      : model(std::move(spec)),
        skips(models::skips(model)),
        tensors(models::tensors_of(model, skips)),
        parameters(model) {
    boundaries.push_back(model.input);
    for (const models::LayerSpec& layer : model.layers) {
      const std::vector<TensorSpec> outputs = models::values(layer, boundaries.back());
      layers.push_back(facts_of(layer, boundaries.back(), outputs));
      boundaries.push_back(outputs.back());
    }
  }

  models::ModelSpec model;
  std::vector<TensorSpec> boundaries;
  std::vector<LayerFacts> layers;
  std::vector<models::Skip> skips;
  std::vector<int> tensors;  ///< of skips
  plan::ParameterSizes parameters;

  /// Of one size of an activation's element, once somebody asks.
  struct Costs {
    std::once_flag counted;
    std::vector<models::LayerCost> of_layers;
  };
  mutable std::array<Costs, 3> costs;

  /// Of several layers in a row, once somebody asks.
  struct Run {
    int first_layer, layers, element;
    auto operator<=>(const Run&) const = default;
  };
  mutable std::mutex counting;
  mutable std::map<Run, models::LayerCost> runs;

  /// Of buckets, once somebody asks for those of a sum.
  std::int64_t summed_bytes(const plan::Plan& plan, const plan::Op& sum) const {
    const plan::Segment &first = plan.segments[sum.segment.value],
                        &last = plan.segments[sum.segment.value + sum.segments - 1];
    const std::lock_guard lock(counting);
    const auto [known, is_new] = sums.try_emplace({first.first_layer, last.first_layer + last.layers,
                                                   plan.spec.bucket.value, plan::parameter_bytes(plan.spec.precision)});
    if (is_new) known->second = plan::summed_bytes(plan, model, sum).value;
    return known->second;
  }
  mutable std::map<std::tuple<int, int, std::int64_t, int>, std::int64_t> sums;
};

Sizes::Sizes(models::ModelSpec model) : facts_(std::make_shared<const Facts>(std::move(model))) {}

const models::ModelSpec& Sizes::model() const { return facts_->model; }

const plan::ParameterSizes& Sizes::parameters() const { return facts_->parameters; }

const TensorSpec& Sizes::input(int layer) const { return facts_->boundaries[layer]; }

std::span<const models::LayerSpec> Sizes::layers(const plan::Segment& segment) const {
  return std::span(facts_->model.layers).subspan(segment.first_layer, segment.layers);
}

const std::string& Sizes::signature(int layer) const { return facts_->layers[layer].signature; }

int Sizes::operations(int layer) const { return facts_->layers[layer].operations; }

std::span<const models::LayerCost> Sizes::layer_costs(Precision precision) const {
  const int element = activation_bytes(precision);
  Facts::Costs& costs = facts_->costs[element == 8 ? 2 : element == 4 ? 1 : 0];
  std::call_once(costs.counted, [&] {
    for (int l = 0; l < std::ssize(facts_->layers); ++l)
      costs.of_layers.push_back(models::cost(facts_->model.layers[l], input(l), element, l == 0));
  });
  return costs.of_layers;
}

models::LayerCost Sizes::cost_of(const plan::Plan& plan, SegmentId id) const {
  const plan::Segment& segment = plan.segments[id.value];
  if (segment.layers == 1) return layer_costs(plan.spec.precision)[segment.first_layer];
  const int element = activation_bytes(plan.spec.precision);
  const std::scoped_lock one_by_one(facts_->counting);
  const auto [run, is_new] = facts_->runs.try_emplace({segment.first_layer, segment.layers, element});
  if (is_new)
    run->second = models::cost(layers(segment), input(segment.first_layer), element, segment.first_layer == 0);
  return run->second;
}

std::int64_t Sizes::parameter_bytes(const plan::Plan& plan, SegmentId first, int segments) const {
  const int element = plan::parameter_bytes(plan.spec.precision);
  return plan::elements_of(plan, facts_->parameters, first, segments, element) * element;
}

std::int64_t Sizes::gradient_bytes(const plan::Plan& plan, SegmentId segment) const {
  const int element = plan::parameter_bytes(plan.spec.precision);
  return facts_->parameters.elements(plan.segments[segment.value], element) * element;
}

std::int64_t Sizes::tied_bytes(Precision precision) const {
  const int element = plan::parameter_bytes(precision);
  return facts_->parameters.tied_elements(element) * element;
}

std::int64_t Sizes::tied_tensor_bytes(Precision precision) const {
  return models::tied_tensor(model()).elements() * plan::parameter_bytes(precision);
}

std::int64_t Sizes::parameter_bytes(Precision precision, int layer) const {
  const int element = plan::parameter_bytes(precision);
  return facts_->parameters.elements(layer, 1, element) * element;
}

double Sizes::compression_flops(const plan::Plan& plan, const plan::Op& step) const {
  if (!plan::is_of_compression(step.kind)) return 0;
  const std::int64_t elements = plan::factored_elements(plan, facts_->parameters, step.segment, step.segments);
  return 2.0 * static_cast<double>(elements) * compression(plan.spec).rank;
}

std::int64_t Sizes::updated_bytes(const plan::Plan& plan, Rank rank, const plan::Op& update) const {
  const int element = plan::parameter_bytes(plan.spec.precision);
  const plan::ElementRange run{0, parameter_bytes(plan, update.segment, update.segments) / element};
  const bool of_share =
      update.kind == plan::OpKind::update || update.kind == plan::OpKind::norms || update.kind == plan::OpKind::add;
  if (!of_share) return run.count * element;
  const plan::Shard shard = plan::shard_of(plan, rank, update);
  return plan::shard_of(run, shard.index, shard.count, element).count * element;
}

std::int64_t Sizes::largest_parameter_bytes(Precision precision, int layer) const {
  return facts_->layers[layer].largest_parameter * plan::parameter_bytes(precision);
}

std::vector<std::int64_t> Sizes::parameter_tensors(const plan::Plan& plan, SegmentId segment) const {
  std::vector<std::int64_t> bytes;
  const plan::Segment& run = plan.segments[segment.value];
  for (int layer = run.first_layer; layer < run.first_layer + run.layers; ++layer) {
    int index = 0;
    for (const std::int64_t elements : facts_->layers[layer].parameters) {
      const models::ParameterPlace place{layer, index++};
      if (plan.tie && plan.tie->shared && models::origin(model(), place) != place) continue;
      bytes.push_back(elements * plan::parameter_bytes(plan.spec.precision));
    }
  }
  return bytes;
}

std::vector<std::int64_t> Sizes::made_tensors(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  std::vector<std::int64_t> bytes;
  const plan::Segment& segment = plan.segments[op.segment.value];
  const int element = activation_bytes(plan.spec.precision);
  const std::int64_t samples = samples_of(plan, rank, op);
  for (int l = segment.first_layer; l < segment.first_layer + segment.layers; ++l) {
    for (const MadeTensor& tensor : facts_->layers[l].made)
      bytes.push_back(tensor.elements * (tensor.indices ? index_bytes : element) * samples);
  }
  return bytes;
}

double Sizes::backward_share(const plan::Plan& plan, const plan::Op& op) const {
  if (op.kind == plan::OpKind::backward) return 1;
  const models::LayerCost c = cost_of(plan, op.segment);
  const double weight =
      c.backward_per_sample.value > 0 ? c.backward_weight_per_sample.value / c.backward_per_sample.value : 0.5;
  return op.kind == plan::OpKind::backward_weight ? weight : 1 - weight;
}

std::int64_t Sizes::payload_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  if (op.payload == plan::Payload::tied_gradients) return tied_tensor_bytes(plan.spec.precision);
  const plan::Segment& segment = plan.segments[op.segment.value];
  if (op.payload == plan::Payload::norms) {
    return std::int64_t{sizeof(double)} * plan::sums_of_squares *
           plan::tensors_of(plan, facts_->parameters, op.segment, op.segments);
  }
  if (plan::is_compressed(op.payload)) return plan::collective_bytes(plan, facts_->parameters, op);
  const bool of_buckets = op.kind == plan::OpKind::all_reduce && op.payload == plan::Payload::gradients;
  if (of_buckets && plan::sums_by_reducer(plan.spec)) return facts_->summed_bytes(plan, op);
  if (!plan::is_of_micro_batch(op.payload)) {
    const int element = plan::parameter_bytes(plan.spec.precision);
    const plan::ElementRange run{0, parameter_bytes(plan, op.segment, op.segments) / element};
    const plan::Shard part = plan::moved_part(plan, rank, op);
    return plan::shard_of(run, part.index, part.count, element).count * element;
  }
  if (op.port != 0) return skip_bytes(plan, rank, op, plan.skips[op.port - 1].tensor);
  // A segment sums or sends its own output, and the gradient of its own input; a receive is of what is on the way to
  // it.
  const bool at_output = (op.payload == plan::Payload::activation) != (op.kind == plan::OpKind::receive);
  const TensorSpec& shape = facts_->boundaries[segment.first_layer + (at_output ? segment.layers : 0)];
  return shape.bytes(samples_of(plan, rank, op), activation_bytes(plan.spec.precision));
}

std::int64_t Sizes::skip_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int tensor) const {
  return facts_->skips[tensor].tensor.elements() * samples_of(plan, rank, op) * activation_bytes(plan.spec.precision);
}

Sizes::SkipMemory Sizes::skip_memory(const plan::Plan& plan, SegmentId s, int tensor) const {
  const plan::Segment& segment = plan.segments[s.value];
  const models::Skip& skip = facts_->skips[tensor];
  const models::LayerSpec& layer = model().layers[skip.from_layer];
  const int value = std::ranges::find(layer.makes, skip.port, &models::MadePort::port)->value;
  if (value == models::layer_input && skip.from_layer == segment.first_layer) return SkipMemory::input;
  const bool is_last = value == static_cast<int>(layer.nodes.size()) - 1;
  return is_last && skip.from_layer + 1 == segment.first_layer + segment.layers ? SkipMemory::output : SkipMemory::own;
}

std::int64_t Sizes::waiting_skip_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
  const plan::Segment& segment = plan.segments[op.segment.value];
  std::int64_t bytes = 0;
  int counted = -1;
  for (std::size_t i = 0; i < facts_->skips.size(); ++i) {
    const bool waits = segment.first_layer <= facts_->skips[i].from_layer && facts_->skips[i].from_layer <= layer &&
                       layer < facts_->skips[i].to_layer &&
                       facts_->skips[i].to_layer < segment.first_layer + segment.layers;
    if (waits && std::exchange(counted, facts_->tensors[i]) != facts_->tensors[i])
      bytes += skip_bytes(plan, rank, op, facts_->tensors[i]);
  }
  return bytes;
}

std::int64_t Sizes::taken_bytes(Precision precision, int layer) const {
  std::int64_t elements = 0;
  for (const models::TakenPort& taken : model().layers[layer].takes) elements += taken.tensor.elements();
  return elements * activation_bytes(precision);
}

std::int64_t Sizes::made_bytes(Precision precision, int layer) const {
  std::int64_t elements = 0;
  for (const models::Skip& skip : facts_->skips) elements += skip.from_layer == layer ? skip.tensor.elements() : 0;
  return elements * activation_bytes(precision);
}

std::int64_t Sizes::saved_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  const plan::Segment& segment = plan.segments[op.segment.value];
  const int element = activation_bytes(plan.spec.precision);
  const bool first = op.segment == SegmentId(0);
  const std::int64_t samples = samples_of(plan, rank, op);
  const models::LayerCost kept = cost_of(plan, op.segment);
  const std::int64_t input = facts_->boundaries[segment.first_layer].elements();
  // Skips that others made lie where these made them, or in the buffer that received them.
  std::int64_t per_sample = (kept.saved_per_sample - kept.saved_taken_per_sample).value;
  // Images have the master type: under autocast the graph holds them beside their narrow copy.
  const int master = plan::parameter_bytes(plan.spec.precision);
  const bool tokens = facts_->boundaries[segment.first_layer].kind() == ElementKind::int64;
  const bool has_copy = first && element != master && !tokens;
  if (kept.keeps_input && !has_copy) per_sample -= input * (tokens ? index_bytes : element);
  if (first && plan.spec.input == InputKind::host) per_sample += input * (tokens ? index_bytes : master);
  std::int64_t bytes = per_sample * samples + kept.saved_per_batch.value;
  // The loss drops the model's outputs and keeps their log-softmax, which autocast computes in the master type.
  const int end = segment.first_layer + segment.layers;
  const bool is_last = end == static_cast<int>(model().layers.size());
  if (!kept.keeps_output) bytes += facts_->boundaries[end].bytes(samples, is_last ? master : element);
  return bytes;
}

namespace {

std::int64_t kept_for_weights(const models::LayerCost& cost, int samples) {
  return cost.saved_weight_per_sample.value * samples + cost.saved_weight_per_batch.value;
}

}  // namespace

std::int64_t Sizes::kept_for_weights(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  return analytic::kept_for_weights(cost_of(plan, op.segment), samples_of(plan, rank, op));
}

std::int64_t Sizes::kept_for_weights(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const {
  return analytic::kept_for_weights(layer_costs(plan.spec.precision)[layer], samples_of(plan, rank, op));
}

std::int64_t Sizes::image_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  return image_bytes(plan.spec.precision, samples_of(plan, rank, op));
}

std::int64_t Sizes::image_bytes(Precision precision, int samples) const {
  const bool tokens = facts_->boundaries[0].kind() == ElementKind::int64;
  return facts_->boundaries[0].elements() * samples * (tokens ? index_bytes : plan::parameter_bytes(precision));
}

std::int64_t Sizes::loaded_bytes(int samples) const {
  const bool tokens = facts_->boundaries[0].kind() == ElementKind::int64;
  return facts_->boundaries[0].elements() * samples * (tokens ? index_bytes : static_cast<std::int64_t>(sizeof(float)));
}

std::int64_t Sizes::label_bytes(int samples) const {
  return models::labels_of(facts_->boundaries.back()).elements() * samples * index_bytes;
}

std::int64_t Sizes::input_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  return facts_->boundaries[plan.segments[op.segment.value].first_layer].bytes(samples_of(plan, rank, op),
                                                                               activation_bytes(plan.spec.precision));
}

std::int64_t Sizes::output_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  const plan::Segment& segment = plan.segments[op.segment.value];
  return facts_->boundaries[segment.first_layer + segment.layers].bytes(samples_of(plan, rank, op),
                                                                        activation_bytes(plan.spec.precision));
}

std::int64_t Sizes::temporary_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
  const plan::Segment& segment = plan.segments[op.segment.value];
  const bool is_forward = op.kind == plan::OpKind::forward || op.kind == plan::OpKind::recompute;
  const std::int64_t element = samples_of(plan, rank, op) * activation_bytes(plan.spec.precision);
  std::int64_t largest = 0, gradients = 0;
  for (int layer = segment.first_layer; layer < segment.first_layer + segment.layers; ++layer) {
    const std::int64_t map = facts_->layers[layer].largest_map * element;
    // A forward that keeps its graph has them in that.
    const bool waits = !is_forward || op.discards;
    largest = std::max(largest, (is_forward ? map : 2 * map) + (waits ? waiting_skip_bytes(plan, rank, op, layer) : 0));
    gradients = std::max(gradients, largest_parameter_bytes(plan.spec.precision, layer));
  }
  if (is_forward || op.kind == plan::OpKind::backward_input) return largest;
  return largest + (op.accumulates ? gradients : gradient_bytes(plan, op.segment));
}

}  // namespace parabench::analytic
