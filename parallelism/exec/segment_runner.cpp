#include "parallelism/exec/segment_runner.h"

#include <torch/autograd.h>

#include <algorithm>

#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "parallelism/plan/input_pieces.h"

namespace parabench {

namespace {

/// Of no micro-batch: nothing is handed to other segments.
bool is_rehearsal(const Op& op) { return op.micro_batch.value < 0; }

}  // namespace

torch::ScalarType activation_type(Precision precision) {
  return precision == Precision::bf16 ? torch::kBFloat16 : master_type(precision);
}

at::MemoryFormat memory_format(Layout layout) {
  return layout == Layout::channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

torch::Tensor laid_out(const torch::Tensor& tensor, Layout layout) {
  return tensor.contiguous(tensor.dim() == 4 ? memory_format(layout) : at::MemoryFormat::Contiguous);
}

torch::Tensor empty_tensor(const TensorSpec& sample, int samples, Layout layout, const torch::TensorOptions& options) {
  const std::vector<std::int64_t> sizes = sizes_of(sample, samples);
  return torch::empty(sizes, sizes.size() == 4 ? options.memory_format(memory_format(layout)) : options);
}

SegmentRunner::SegmentRunner(const Plan& plan, const ModelSpec& model, const StageState& state, Rank rank)
    : plan_(plan),
      model_(model),
      state_(state),
      rank_(rank),
      batch_(batch_samples(plan)),
      skips_(skips(model)),
      entering_(plan.segments.size()),
      leaving_(plan.segments.size()) {
  const auto segment_of = [&](int layer) {
    return std::ranges::upper_bound(plan.segments, layer, {}, &Segment::first_layer) - plan.segments.begin() - 1;
  };
  for (int skip = 0; skip < static_cast<int>(skips_.size()); ++skip) {
    const auto from = segment_of(skips_[skip].from_layer), to = segment_of(skips_[skip].to_layer);
    if (from == to) continue;
    leaving_[from].push_back(skip);
    entering_[to].push_back(skip);
  }
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind == OpKind::backward_input) split_.insert(key(op));
  }
}

torch::Tensor SegmentRunner::run(const Op& op, const torch::Tensor& input, const torch::Tensor& labels, Ports& ports,
                                 const ForwardMode& mode) const {
  const AutocastGuard autocast(plan_.spec.precision == Precision::bf16, input.device().type());
  const Segment& segment = plan_.segments[op.segment.value];
  const auto& tensors = state_.tensors(op.segment, op.version.value);
  torch::Tensor y = input;
  for (int l = 0; l < segment.layers; ++l) {
    y = parabench::forward(model_.layers[segment.first_layer + l], tensors[l], y, ports, mode);
  }
  return labels.defined() ? cross_entropy(y, labels, batch_) : y;
}

torch::Tensor SegmentRunner::skip_value(int skip, const Op& op, const torch::Tensor& input) const {
  if (!is_rehearsal(op)) return skipping_.at(port_key(skip, op));
  const auto options = input.options().dtype(activation_type(plan_.spec.precision)).requires_grad(false);
  return laid_out(torch::rand(sizes_of(skips_[skip].tensor, input.size(0)), options), plan_.spec.layout);
}

void SegmentRunner::hand_out(const Op& op, const Ports& ports) {
  for (const int skip : leaving_[op.segment.value]) {
    skipping_[port_key(skip, op)] = ports.at(skips_[skip].port).detach();
  }
}

DropoutDraws SegmentRunner::draws(const Op& op) const {
  if (is_rehearsal(op)) return {};
  const InputPiece piece{op.step, replica_of(plan_, rank_, op.segment), op.micro_batch};
  return {plan_.spec.seed, first_position(plan_, piece)};
}

torch::Tensor SegmentRunner::keep_graph(const Op& op, torch::Tensor input, const torch::Tensor& labels,
                                        Purpose purpose) {
  Graph graph;
  graph.input = op.segment == SegmentId(0) ? std::move(input) : input.detach().requires_grad_();
  if (split_.contains(key(op))) graph.deferred = std::make_unique<WeightGradients>();
  Ports ports;
  for (const int skip : entering_[op.segment.value]) {
    graph.taken.push_back({skip, skip_value(skip, op, graph.input).detach().requires_grad_()});
    ports[skips_[skip].port] = graph.taken.back().tensor;
    skipping_.erase(port_key(skip, op));
  }
  graph.output = run(op, graph.input, labels, ports, {graph.deferred.get(), purpose == Purpose::forward, draws(op)});
  for (const int skip : leaving_[op.segment.value]) graph.made.push_back({skip, ports.at(skips_[skip].port)});
  if (purpose == Purpose::forward) hand_out(op, ports);
  torch::Tensor output = graph.output.detach();
  graphs_.insert_or_assign(key(op), std::move(graph));
  return output;
}

torch::Tensor SegmentRunner::forward(const Op& op, torch::Tensor input, const torch::Tensor& labels) {
  if (!op.discards) return keep_graph(op, std::move(input), labels, Purpose::forward);
  const torch::NoGradGuard no_grad;
  Ports ports;
  for (const int skip : entering_[op.segment.value]) ports[skips_[skip].port] = skip_value(skip, op, input);
  torch::Tensor output = run(op, input, labels, ports, {.dropout = draws(op)});
  hand_out(op, ports);
  inputs_.insert_or_assign(key(op), std::move(input));
  return output;
}

torch::Tensor SegmentRunner::rehearse(const Op& op, torch::Tensor input, const torch::Tensor& labels) {
  return keep_graph(op, std::move(input), labels, Purpose::rehearsal);
}

void SegmentRunner::recompute(const Op& op, const torch::Tensor& labels) {
  keep_graph(op, std::move(inputs_.extract(key(op)).mapped()), labels, Purpose::recompute);
}

torch::Tensor SegmentRunner::backward(const Op& op, torch::Tensor gradient) {
  auto node = graphs_.extract(key(op));
  Graph& graph = node.mapped();
  torch::autograd::variable_list outputs{graph.output}, gradients{std::move(gradient)};
  for (const Port& made : graph.made) {
    auto arrived = skip_gradients_.extract(port_key(made.skip, op));
    if (arrived.empty()) continue;  // of a rehearsal
    outputs.push_back(made.tensor);
    gradients.push_back(std::move(arrived.mapped()));
  }
  torch::autograd::backward(outputs, gradients);
  if (!is_rehearsal(op))
    for (const Port& taken : graph.taken) skip_gradients_[port_key(taken.skip, op)] = taken.tensor.grad();
  if (graph.deferred) deferred_.insert_or_assign(key(op), std::move(graph.deferred));
  return op.segment == SegmentId(0) ? torch::Tensor() : graph.input.grad();
}

void SegmentRunner::weight_gradients(const Op& op) { deferred_.extract(key(op)).mapped()->run(); }

}  // namespace parabench
