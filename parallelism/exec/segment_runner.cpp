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

SegmentRunner::SegmentRunner(const Plan& plan, const ModelSpec& model, const StageState& state)
    : plan_(plan), model_(model), state_(state), batch_(batch_samples(plan)) {}

SegmentRunner::Graph SegmentRunner::trace(const Op& op, torch::Tensor input) const {
  const Segment& segment = plan_.segments[op.segment.value];
  const auto& tensors = state_.tensors(op.segment, op.version);
  if (op.segment != SegmentId(0)) input = input.detach().requires_grad_();
  torch::Tensor y = input;
  for (int l = 0; l < segment.layers; ++l)
    y = parabench::forward(model_.layers[segment.first_layer + l], tensors[l], y);
  return {input, y};
}

torch::Tensor SegmentRunner::forward(const Op& op, torch::Tensor input) {
  const AutocastGuard autocast(plan_.spec.precision == Precision::bf16, input.device().type());
  Graph graph = trace(op, std::move(input));
  torch::Tensor output = graph.output.detach();
  graphs_.insert_or_assign(key(op), std::move(graph));
  return output;
}

torch::Tensor SegmentRunner::forward_with_loss(const Op& op, torch::Tensor input, const torch::Tensor& labels) {
  const AutocastGuard autocast(plan_.spec.precision == Precision::bf16, input.device().type());
  Graph graph = trace(op, std::move(input));
  graph.output = at::cross_entropy_loss(graph.output, labels, {}, at::Reduction::Sum) / batch_;
  torch::Tensor loss = graph.output.detach();
  graphs_.insert_or_assign(key(op), std::move(graph));
  return loss;
}

torch::Tensor SegmentRunner::backward(const Op& op, torch::Tensor gradient) {
  auto node = graphs_.extract(key(op));
  Graph& graph = node.mapped();
  if (gradient.defined())
    torch::autograd::backward({graph.output}, {std::move(gradient)});
  else
    torch::autograd::backward({graph.output});
  return op.segment == SegmentId(0) ? torch::Tensor() : graph.input.grad();
}

}  // namespace parabench
