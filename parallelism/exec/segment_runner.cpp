#include "parallelism/exec/segment_runner.h"

#include <torch/autograd.h>

#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "parallelism/plan/input_pieces.h"

namespace parabench {

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
    : plan_(plan), model_(model), state_(state), rank_(rank), batch_(batch_samples(plan)) {
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind == OpKind::backward_input) split_.insert(key(op));
  }
}

torch::Tensor SegmentRunner::run(const Op& op, const torch::Tensor& input, const torch::Tensor& labels,
                                 const ForwardMode& mode) const {
  const AutocastGuard autocast(plan_.spec.precision == Precision::bf16, input.device().type());
  const Segment& segment = plan_.segments[op.segment.value];
  const auto& tensors = state_.tensors(op.segment, op.version);
  torch::Tensor y = input;
  for (int l = 0; l < segment.layers; ++l) {
    y = parabench::forward(model_.layers[segment.first_layer + l], tensors[l], y, mode);
  }
  return labels.defined() ? cross_entropy(y, labels, batch_) : y;
}

DropoutDraws SegmentRunner::draws(const Op& op) const {
  if (op.micro_batch.value < 0) return {};  // a rehearsal's, of no sample
  const InputPiece piece{op.step, replica_of(plan_, rank_, op.segment), op.micro_batch};
  return {plan_.spec.seed, first_position(plan_, piece)};
}

torch::Tensor SegmentRunner::keep_graph(const Op& op, torch::Tensor input, const torch::Tensor& labels,
                                        bool update_statistics) {
  Graph graph;
  graph.input = op.segment == SegmentId(0) ? std::move(input) : input.detach().requires_grad_();
  if (split_.contains(key(op))) graph.deferred = std::make_unique<WeightGradients>();
  graph.output = run(op, graph.input, labels, {graph.deferred.get(), update_statistics, draws(op)});
  torch::Tensor output = graph.output.detach();
  graphs_.insert_or_assign(key(op), std::move(graph));
  return output;
}

torch::Tensor SegmentRunner::forward(const Op& op, torch::Tensor input, const torch::Tensor& labels) {
  if (!op.discards) return keep_graph(op, std::move(input), labels, /*update_statistics=*/true);
  const torch::NoGradGuard no_grad;
  torch::Tensor output = run(op, input, labels, {.dropout = draws(op)});
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
