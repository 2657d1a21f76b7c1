#include "parallelism/exec/stage_state.h"

#include <torch/utils.h>

#include <utility>

namespace parabench {
namespace {

/// A view of `flat` with a parameter's shape; 4-D parameters take channels_last strides where the case asks for it.
torch::Tensor view_as_parameter(const torch::Tensor& flat, const ElementRange& range, const ParameterSpec& spec,
                                Layout layout) {
  auto slice = flat.narrow(0, range.first, range.count);
  if (layout == Layout::channels_last && spec.shape.size() == 4) {
    const auto& s = spec.shape;
    return slice.view({s[0], s[2], s[3], s[1]}).permute({0, 3, 1, 2});
  }
  return slice.view(spec.shape);
}

/// The parameter's initial values, drawn in the canonical element order whatever its strides.
void fill_initial(torch::Tensor parameter, const LayerSpec& layer, std::size_t index, std::uint64_t seed) {
  auto values = torch::empty(parameter.sizes(), torch::kFloat64);
  initialise(layer, index, seed, {values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
  parameter.copy_(values);
}

}  // namespace

torch::ScalarType master_type(Precision precision) {
  return parameter_bytes(precision) == sizeof(double) ? torch::kFloat64 : torch::kFloat32;
}

StageState::StageState(const Plan& plan, const ModelSpec& model, Communicator& comm, Device& device)
    : rule_(optimizer_rule(plan.spec)),
      device_(device),
      layout_(state_layout(plan, ParameterSizes(model), comm.rank())),
      local_(plan.segments.size(), -1),
      type_(master_type(plan.spec.precision)),
      parameters_(layout_.segments.size()),
      newest_(layout_.segments.size(), 0) {
  torch::NoGradGuard no_grad;
  // The device counts what is made in its own queues.
  device.enter(/*computes=*/true);
  const torch::TensorOptions options = torch::TensorOptions(type_).device(device.where());

  // Every rank asks for the largest stage's bytes: the arena is collective and symmetric.
  const std::int64_t arena_bytes = gradient_arena_bytes(plan, model);
  const Arena arena = arena_bytes > 0 ? comm.allocate(arena_bytes) : Arena{};

  // The leaves and views below keep the arenas.
  std::vector<torch::Tensor> weights, states;
  for (const StateArena& part : layout_.arenas) {
    CountScope scope(device, part.category);
    switch (part.role) {
      case StateRole::weights: weights.push_back(torch::zeros({part.elements}, options)); break;
      case StateRole::gradients:
        device.account().add(part.category, part.bytes);
        gradients_ = torch::from_blob(arena.data, {part.elements}, options);
        break;
      case StateRole::optimizer: states.push_back(torch::zeros({part.elements}, options)); break;
      case StateRole::updates: updates_ = torch::zeros({part.elements}, options.dtype(torch::kFloat32)); break;
    }
  }
  slots_.assign(weights.size(), std::vector<std::vector<LayerTensors>>(layout_.segments.size()));

  for (std::size_t i = 0; i < layout_.segments.size(); ++i) {
    const SegmentId s = layout_.segments[i];
    local_[s.value] = static_cast<int>(i);
    const Segment& segment = plan.segments[s.value];
    for (int l = 0; l < segment.layers; ++l) {
      std::vector<torch::Tensor> shared_buffers =
          allocate_tensors(model.layers[segment.first_layer + l], type_).buffers;
      for (torch::Tensor& buffer : shared_buffers) buffer = buffer.to(device.where());
      for (auto& slot : slots_) slot[i].push_back({{}, shared_buffers});
    }
    for (const ParameterSlice& slice : parameter_slices(layout_, plan, model, s)) {
      const auto view = [&](const torch::Tensor& flat) {
        return view_as_parameter(flat, slice.range, slice.tensor, plan.spec.layout);
      };
      const ParameterPlace place{slice.layer, slice.parameter}, from = origin(model, place);
      Parameter parameter;
      for (std::size_t state = 0; state < states.size(); ++state) parameter.states[state] = view(states[state]);
      if (gradients_.defined()) parameter.reduced = view(gradients_);
      for (std::size_t slot = 0; slot < weights.size(); ++slot) {
        // detach() makes a leaf that shares the slot's storage.
        auto leaf = view(weights[slot]).detach();
        if (slot == 0) fill_initial(leaf, model.layers[from.layer], from.parameter, plan.spec.seed);
        leaf.requires_grad_();
        parameter.leaves.push_back(leaf);
        slots_[slot][i][slice.layer - segment.first_layer].parameters.push_back(leaf);
      }
      if (plan.tie && (place == model.tie->original || place == model.tie->copy)) {
        if (plan.tie->shared) {
          shared_original_ = static_cast<int>(i);
          shared_parameter_ = parameters_[i].size();
        } else {
          tied_gradients_ = gradients_.narrow(0, slice.range.first, slice.range.count);
        }
      }
      parameters_[i].push_back(std::move(parameter));
    }
  }
  if (shared_original_ < 0) return;
  shared_copy_ = local(plan.tie->copy);
  const ParameterPlace& copy = model.tie->copy;
  const int first_layer = plan.segments[plan.tie->copy.value].first_layer;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    std::vector<torch::Tensor>& read = slots_[slot][shared_copy_][copy.layer - first_layer].parameters;
    read.insert(read.begin() + copy.parameter, parameters_[shared_original_][shared_parameter_].leaves[slot]);
  }
}

// The arena itself lives as long as the communicator; only its count ends here.
StageState::~StageState() {
  if (gradients_.defined())
    device_.account().remove(MemoryCategory::gradients, static_cast<std::int64_t>(gradients_.nbytes()));
}

const std::vector<LayerTensors>& StageState::tensors(SegmentId segment, int version) const {
  return slots_[version % slots_.size()][local(segment)];
}

template <class Visit>
void StageState::for_each_parameter(SegmentId segment, Visit visit) {
  for (Parameter& parameter : parameters_[local(segment)]) visit(parameter);
  if (local(segment) == shared_copy_ && shared_copy_ != shared_original_)
    visit(parameters_[shared_original_][shared_parameter_]);
}

void StageState::take_gradients(SegmentId segment, int version) {
  torch::NoGradGuard no_grad;
  for_each_parameter(segment, [&](Parameter& parameter) {
    // Its elements lie as the leaf's do: autograd sees to that for dense leaves.
    torch::Tensor& made = parameter.leaves[version % parameter.leaves.size()].mutable_grad();
    if (parameter.gradient.is_same(made)) return;  // of a shared tensor: the other segment's backward came first
    if (parameter.reduced.defined()) {
      parameter.reduced.copy_(made);
      made = parameter.reduced;
    } else {
      device_.recategorise(made, MemoryCategory::gradients);
    }
    parameter.gradient = made;
  });
}

void StageState::drop_gradients(SegmentId segment) {
  for_each_parameter(segment, [](Parameter& parameter) {
    for (torch::Tensor& leaf : parameter.leaves) leaf.mutable_grad().reset();
  });
}

BufferView StageState::gradients(SegmentId first, int segments) const {
  const ElementRange run = layout_.run(first, segments);
  return view_of(gradients_.narrow(0, run.first, run.count));
}

BufferView StageState::view_of(const torch::Tensor& gradients) const {
  return {gradients.data_ptr(), static_cast<std::int64_t>(gradients.nbytes()),
          type_ == torch::kFloat64 ? ElementType::f64 : ElementType::f32, !gradients.is_cpu()};
}

void StageState::update(SegmentId first, int segments, int version) {
  std::vector<UpdateOperands> operands;
  if (updates_.defined()) updates_.narrow(0, local(first), segments).add_(1);
  for (int s = local(first); s < local(first) + segments; ++s) {
    newest_[s] = version;
    const torch::Tensor update = updates_.defined() ? updates_.narrow(0, s, 1) : torch::Tensor();
    for (Parameter& p : parameters_[s]) {
      const std::size_t slots = p.leaves.size();
      operands.push_back(
          {p.leaves[(version - 1) % slots], p.leaves[version % slots], p.states, std::move(p.gradient), update});
      for (torch::Tensor& leaf : p.leaves) leaf.mutable_grad().reset();
    }
  }
  device_.update(rule_, operands);
}

StageState::Snapshot StageState::snapshot() const {
  torch::NoGradGuard no_grad;
  Snapshot result;
  for (std::size_t s = 0; s < newest_.size(); ++s) {
    for (const LayerTensors& layer : slots_[newest_[s] % slots_.size()][s]) {
      std::vector<torch::Tensor> parameters, buffers;
      for (const auto& p : layer.parameters)
        parameters.push_back(p.detach().to(torch::kCPU, torch::kFloat64, false, true).contiguous());
      for (const auto& b : layer.buffers) buffers.push_back(b.to(torch::kCPU, torch::kFloat64, false, true));
      result.parameters.push_back(std::move(parameters));
      result.buffers.push_back(std::move(buffers));
    }
  }
  return result;
}

}  // namespace parabench
