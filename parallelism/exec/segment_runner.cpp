#include "parallelism/exec/segment_runner.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <torch/autograd.h>

#include "models/torch/autocast.h"

namespace parabench {

torch::ScalarType activation_type(Precision precision) {
  return precision == Precision::bf16 ? torch::kBFloat16 : master_type(precision);
}

at::MemoryFormat memory_format(Layout layout) {
  return layout == Layout::channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

SegmentRunner::SegmentRunner(const Plan& plan, const ModelSpec& model, const StageState& state, Rank rank)
    : plan_(plan), model_(model), state_(state), batch_(batch_samples(plan)) {
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind == OpKind::backward_input) split_.insert(key(op));
  }
}

torch::Tensor SegmentRunner::run(const Op& op, const torch::Tensor& input, const torch::Tensor& labels,
                                 const ForwardMode& mode) const {
  const AutocastGuard autocast(plan_.spec.precision == Precision::bf16, input.device().type());
  const Segment& segment = plan_.segments[op.segment.value];
  const auto& tensors = state_.tensors(op.segment, op.version.value);
  torch::Tensor y = input;
  for (int l = 0; l < segment.layers; ++l) {
    y = parabench::forward(model_.layers[segment.first_layer + l], tensors[l], y, mode);
  }
  return labels.defined() ? at::cross_entropy_loss(y, labels, {}, at::Reduction::Sum) / batch_ : y;
}

torch::Tensor SegmentRunner::keep_graph(const Op& op, torch::Tensor input, const torch::Tensor& labels,
                                        bool update_statistics) {
  Graph graph;
  graph.input = op.segment == SegmentId(0) ? std::move(input) : input.detach().requires_grad_();
  if (split_.contains(key(op))) graph.deferred = std::make_unique<WeightGradients>();
  graph.output = run(op, graph.input, labels, {graph.deferred.get(), update_statistics});
  torch::Tensor output = graph.output.detach();
  graphs_.insert_or_assign(key(op), std::move(graph));
  return output;
}

torch::Tensor SegmentRunner::forward(const Op& op, torch::Tensor input, const torch::Tensor& labels) {
  if (!op.discards) return keep_graph(op, std::move(input), labels, /*update_statistics=*/true);
  const torch::NoGradGuard no_grad;
  torch::Tensor output = run(op, input, labels, {});
  inputs_.insert_or_assign(key(op), std::move(input));
  return output;
}

torch::Tensor SegmentRunner::rehearse(const Op& op, torch::Tensor input, const torch::Tensor& labels) {
  return keep_graph(op, std::move(input), labels, /*update_statistics=*/false);
}

void SegmentRunner::recompute(const Op& op, const torch::Tensor& labels) {
  rehearse(op, std::move(inputs_.extract(key(op)).mapped()), labels);
}

torch::Tensor SegmentRunner::backward(const Op& op, torch::Tensor gradient) {
  auto node = graphs_.extract(key(op));
  Graph& graph = node.mapped();
  if (gradient.defined())
    torch::autograd::backward({graph.output}, {std::move(gradient)});
  else
    torch::autograd::backward({graph.output});
  if (graph.deferred) deferred_.insert_or_assign(key(op), std::move(graph.deferred));
  return op.segment == SegmentId(0) ? torch::Tensor() : graph.input.grad();
}

void SegmentRunner::weight_gradients(const Op& op) { deferred_.extract(key(op)).mapped()->run(); }

}  // namespace parabench
