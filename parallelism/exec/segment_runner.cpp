#include "parallelism/exec/segment_runner.h"

#include <torch/autograd.h>

#include <algorithm>

#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "models/torch/tensor.h"
#include "parallelism/plan/input_pieces.h"

namespace parabench::exec {

namespace {

/// Of no micro-batch: nothing is handed to other segments.
bool is_rehearsal(const plan::Op& op) { return op.micro_batch.value < 0; }

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
  const std::vector<std::int64_t> sizes = modules::sizes_of(sample, samples);
  return torch::empty(sizes, sizes.size() == 4 ? options.memory_format(memory_format(layout)) : options);
}

SegmentRunner::SegmentRunner(const plan::Plan& plan, const models::ModelSpec& model, const StageState& state, Rank rank)
    : plan_(plan),
      model_(model),
      state_(state),
      rank_(rank),
      skips_(models::skips(model)),
      ports_(plan),
      entering_(plan.segments.size()),
      leaving_(plan.segments.size()) {
  const std::vector<int> tensors = models::tensors_of(model, skips_);
  for (int skip = 0; skip < static_cast<int>(skips_.size()); ++skip) {
    const SegmentId from = plan::segment_of(plan.segments, skips_[skip].from_layer);
    const SegmentId to = plan::segment_of(plan.segments, skips_[skip].to_layer);
    if (from == to) continue;
    const Name name{tensors[skip], skips_[skip].port};
    if (std::ranges::find(leaving_[from.value], name.tensor, &Name::tensor) == leaving_[from.value].end())
      leaving_[from.value].push_back(name);
    entering_[to.value].push_back(name);
  }
  for (auto& names : entering_) std::ranges::stable_sort(names, {}, &Name::tensor);
  for (const plan::Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind == plan::OpKind::backward_input) split_.insert(key(op));
    if (op.kind == plan::OpKind::forward && !plan.skips.empty()) computed_.insert(key(op));
  }
}

SegmentRunner::SkipKey SegmentRunner::skip_key(int tensor, const plan::Op& op) const {
  return {tensor, plan::replica_of(plan_, rank_, op.segment), op.micro_batch, op.step};
}

bool SegmentRunner::is_computed(SegmentId segment, const plan::Op& piece) const {
  plan::Op there = piece;
  there.segment = segment;
  return computed_.contains(key(there)) &&
         plan::replica_of(plan_, rank_, segment) == plan::replica_of(plan_, rank_, piece.segment);
}

int SegmentRunner::takers_here(int tensor, const plan::Op& op) const {
  return static_cast<int>(std::ranges::count_if(
      plan_.skips, [&](const plan::SkipPort& skip) { return skip.tensor == tensor && is_computed(skip.to, op); }));
}

torch::Tensor SegmentRunner::run(const plan::Op& op, const torch::Tensor& input, const torch::Tensor& labels,
                                 modules::Ports& ports, const modules::ForwardMode& mode) const {
  const modules::AutocastGuard autocast(plan_.spec.precision == Precision::bf16, input.device().type());
  const plan::Segment& segment = plan_.segments[op.segment.value];
  const auto& tensors = state_.tensors(op.segment, op.version);
  torch::Tensor y = input;
  for (int l = 0; l < segment.layers; ++l) {
    y = modules::forward(model_.layers[segment.first_layer + l], tensors[l], y, ports, mode);
  }
  if (!labels.defined()) return y;
  return modules::cross_entropy(y, labels, plan::update_samples(plan_, plan::replica_of(plan_, rank_, op.segment)));
}

template <class Map>
typename Map::mapped_type SegmentRunner::taken(Map& map, const typename Map::key_type& key) {
  const std::lock_guard lock(mutex_);
  return std::move(map.extract(key).mapped());
}

template <class Map>
void SegmentRunner::keep(Map& map, const typename Map::key_type& key, typename Map::mapped_type value) {
  const std::lock_guard lock(mutex_);
  map.insert_or_assign(key, std::move(value));
}

std::vector<LeavingSkip> SegmentRunner::take_leaving(const plan::Op& op) {
  const std::lock_guard lock(mutex_);
  const auto leaving = leaving_now_.extract(key(op));
  return leaving.empty() ? std::vector<LeavingSkip>() : std::move(leaving.mapped());
}

void SegmentRunner::bring_skip(const plan::Op& op, int port, torch::Tensor value) {
  const int tensor = plan_.skips[port - 1].tensor;
  keep(skipping_, skip_key(tensor, op), {std::move(value), takers_here(tensor, op)});
}

void SegmentRunner::bring_skip_gradient(const plan::Op& op, int port, torch::Tensor gradient) {
  add_gradient(skip_key(plan_.skips[port - 1].tensor, op), std::move(gradient));
}

void SegmentRunner::add_gradient(const SkipKey& place, torch::Tensor gradient) {
  const std::lock_guard lock(mutex_);
  torch::Tensor& sum = skip_gradients_[place];
  if (sum.defined())
    sum.add_(gradient);
  else
    sum = std::move(gradient);
}

torch::Tensor SegmentRunner::skip_value(int tensor, const plan::Op& op, const torch::Tensor& input) const {
  if (!is_rehearsal(op)) {
    const std::lock_guard lock(mutex_);
    return skipping_.at(skip_key(tensor, op)).value;
  }
  const auto options = input.options().dtype(activation_type(plan_.spec.precision)).requires_grad(false);
  return laid_out(torch::rand(modules::sizes_of(skips_[tensor].tensor, rehearsed_samples_), options),
                  plan_.spec.layout);
}

void SegmentRunner::let_go(int tensor, const plan::Op& op) {
  if (is_rehearsal(op)) return;
  const std::lock_guard lock(mutex_);
  const auto held = skipping_.find(skip_key(tensor, op));
  if (--held->second.takers == 0) skipping_.erase(held);
}

void SegmentRunner::hand_out(const plan::Op& op, const modules::Ports& ports) {
  for (const auto& [tensor, name] : leaving_[op.segment.value]) {
    const torch::Tensor value = ports.at(name).detach();
    const std::lock_guard lock(mutex_);
    if (const int takers = takers_here(tensor, op)) skipping_[skip_key(tensor, op)] = {value, takers};
    for (const int port : ports_.leaving[op.segment.value]) {
      if (plan_.skips[port - 1].tensor == tensor && !is_computed(plan_.skips[port - 1].to, op))
        leaving_now_[key(op)].push_back({port, value});
    }
  }
}

/// The gradients of what the segment took. That of a tensor which comes from another rank goes back when the first of
/// its takers here has run its backward, as it does last.
void SegmentRunner::hand_back(const plan::Op& op, const Graph& graph) {
  if (is_rehearsal(op)) return;
  for (const Port& taken : graph.taken) {
    torch::Tensor gradient = taken.value.grad();
    // A part of a larger gradient would keep the whole of it.
    if (gradient.storage().nbytes() > gradient.nbytes()) gradient = gradient.clone();
    add_gradient(skip_key(taken.tensor, op), std::move(gradient));
  }
  for (const int port : ports_.entering[op.segment.value]) {
    if (is_computed(plan_.skips[port - 1].from, op)) continue;
    bool is_last = true;
    for (int before = port; (before = plan::earlier_port(plan_.skips, before)) > 0;)
      is_last = is_last && !is_computed(plan_.skips[before - 1].to, op);
    if (!is_last) continue;
    torch::Tensor sum = taken(skip_gradients_, skip_key(plan_.skips[port - 1].tensor, op));
    const std::lock_guard lock(mutex_);
    leaving_now_[key(op)].push_back({port, std::move(sum)});
  }
}

modules::DropoutDraws SegmentRunner::draws(const plan::Op& op) const {
  if (is_rehearsal(op)) return {};
  const plan::InputPiece piece{op.step, plan::replica_of(plan_, rank_, op.segment), op.micro_batch};
  return {plan_.spec.seed, plan::first_position(plan_, piece)};
}

torch::Tensor SegmentRunner::keep_graph(const plan::Op& op, torch::Tensor input, const torch::Tensor& labels,
                                        Purpose purpose) {
  Graph graph;
  graph.input = op.segment == SegmentId(0) ? std::move(input) : input.detach().requires_grad_();
  if (split_.contains(key(op))) graph.deferred = std::make_unique<modules::WeightGradients>();
  modules::Ports ports;
  for (const auto& [tensor, name] : entering_[op.segment.value]) {
    if (graph.taken.empty() || graph.taken.back().tensor != tensor) {
      graph.taken.push_back({tensor, skip_value(tensor, op, graph.input).detach().requires_grad_()});
      let_go(tensor, op);
    }
    ports[name] = graph.taken.back().value;
  }
  graph.output = run(op, graph.input, labels, ports, {graph.deferred.get(), purpose == Purpose::forward, draws(op)});
  for (const auto& [tensor, name] : leaving_[op.segment.value]) graph.made.push_back({tensor, ports.at(name)});
  if (purpose == Purpose::forward) hand_out(op, ports);
  torch::Tensor output = graph.output.detach();
  keep(graphs_, key(op), std::move(graph));
  return output;
}

torch::Tensor SegmentRunner::forward(const plan::Op& op, torch::Tensor input, const torch::Tensor& labels) {
  if (!op.discards) return keep_graph(op, std::move(input), labels, Purpose::forward);
  const torch::NoGradGuard no_grad;
  modules::Ports ports;
  for (const auto& [tensor, name] : entering_[op.segment.value]) ports[name] = skip_value(tensor, op, input);
  torch::Tensor output = run(op, input, labels, ports, {.dropout = draws(op)});
  hand_out(op, ports);
  keep(inputs_, key(op), std::move(input));
  return output;
}

torch::Tensor SegmentRunner::rehearse(const plan::Op& op, int samples, torch::Tensor input,
                                      const torch::Tensor& labels) {
  rehearsed_samples_ = samples;
  return keep_graph(op, std::move(input), labels, Purpose::rehearsal);
}

void SegmentRunner::recompute(const plan::Op& op, const torch::Tensor& labels) {
  keep_graph(op, taken(inputs_, key(op)), labels, Purpose::recompute);
}

torch::Tensor SegmentRunner::backward(const plan::Op& op, torch::Tensor gradient) {
  Graph graph = taken(graphs_, key(op));
  torch::autograd::variable_list outputs{graph.output}, gradients{std::move(gradient)};
  for (const Port& made : graph.made) {
    if (is_rehearsal(op)) continue;
    outputs.push_back(made.value);
    gradients.push_back(taken(skip_gradients_, skip_key(made.tensor, op)));
  }
  torch::autograd::backward(outputs, gradients);
  hand_back(op, graph);
  if (graph.deferred) keep(deferred_, key(op), std::move(graph.deferred));
  return op.segment == SegmentId(0) ? torch::Tensor() : graph.input.grad();
}

void SegmentRunner::weight_gradients(const plan::Op& op) { taken(deferred_, key(op))->run(); }

}  // namespace parabench::exec
