#include "parallelism/exec/stage_state.h"

#include <torch/utils.h>

#include <algorithm>
#include <utility>

namespace parabench {
namespace {

constexpr std::int64_t alignment_bytes = 64;

std::int64_t aligned(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t unit = alignment_bytes / element_bytes;
  return (elements + unit - 1) / unit * unit;
}

std::int64_t segment_elements(const Segment& segment, const ModelSpec& model, std::int64_t element_bytes) {
  std::int64_t sum = 0;
  for (int l = 0; l < segment.layers; ++l)
    for (const ParameterSpec& p : parameters(model.layers[segment.first_layer + l]))
      sum += aligned(p.elements(), element_bytes);
  return sum;
}

/// A view of `flat` with a parameter's shape; 4-D parameters take channels_last strides where the case asks for it.
torch::Tensor view_as_parameter(const torch::Tensor& flat, std::int64_t offset, const ParameterSpec& spec,
                                Layout layout) {
  auto slice = flat.narrow(0, offset, spec.elements());
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
  return precision == Precision::fp64 ? torch::kFloat64 : torch::kFloat32;
}

std::int64_t arena_bytes(const Plan& plan, const ModelSpec& model, Rank rank) {
  const std::int64_t element = static_cast<std::int64_t>(c10::elementSize(master_type(plan.spec.precision)));
  std::int64_t sum = 0;
  for (SegmentId s : segments_held(plan, rank)) sum += segment_elements(plan.segments[s.value], model, element);
  return sum * element;
}

std::vector<int> layers_held(const Plan& plan, Rank rank) {
  std::vector<int> layers;
  for (SegmentId s : segments_held(plan, rank)) {
    const Segment& segment = plan.segments[s.value];
    for (int l = 0; l < segment.layers; ++l) layers.push_back(segment.first_layer + l);
  }
  return layers;
}

std::int64_t reduced_bytes(const Plan& plan, const ModelSpec& model) {
  std::int64_t largest = 0;
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r)
    if (reduces(plan.ranks[r])) largest = std::max(largest, arena_bytes(plan, model, Rank(r)));
  return largest;
}

StageState::StageState(const Plan& plan, const ModelSpec& model, Communicator& comm, Device& device)
    : spec_(plan.spec), device_(device), local_(plan.segments.size(), -1), type_(master_type(plan.spec.precision)) {
  torch::NoGradGuard no_grad;
  // The device counts what is made in its own queues.
  device.enter(/*computes=*/true);
  const RankProgram& program = plan.ranks[comm.rank().value];
  const std::int64_t element = static_cast<std::int64_t>(c10::elementSize(type_));

  const torch::TensorOptions options = torch::TensorOptions(type_).device(device.where());

  std::int64_t elements = 0;
  const std::vector<SegmentId> held = segments_held(plan, comm.rank());
  slices_.resize(held.size());
  newest_.assign(held.size(), 0);
  for (std::size_t i = held.size(); i-- > 0;) {
    local_[held[i].value] = static_cast<int>(i);
    const std::int64_t n = segment_elements(plan.segments[held[i].value], model, element);
    slices_[i] = {elements, n};
    elements += n;
  }

  // Every rank asks for the largest stage's bytes: the arena is collective and symmetric.
  if (const std::int64_t bytes = reduced_bytes(plan, model)) {
    const Arena arena = comm.allocate(bytes);
    if (reduces(program)) {
      device.account().add(MemoryCategory::gradients, elements * element);
      gradients_ = torch::from_blob(arena.data, {elements}, options);
    }
  }

  // The leaves and views below keep the arenas.
  std::vector<torch::Tensor> weights;
  torch::Tensor velocity;
  for (int slot = 0; slot < program.weight_versions; ++slot) {
    CountScope scope(device, slot == 0 ? MemoryCategory::parameters : MemoryCategory::weight_versions);
    weights.push_back(torch::zeros({elements}, options));
  }
  if (spec_.momentum != 0) {
    CountScope scope(device, MemoryCategory::optimizer);
    velocity = torch::zeros({elements}, options);
  }
  slots_.assign(weights.size(), std::vector<std::vector<LayerTensors>>(slices_.size()));
  parameters_.resize(slices_.size());

  for (SegmentId s : held) {
    const Segment& segment = plan.segments[s.value];
    std::int64_t offset = slices_[local(s)].offset;
    for (int l = 0; l < segment.layers; ++l) {
      const LayerSpec& layer = model.layers[segment.first_layer + l];
      std::vector<torch::Tensor> shared_buffers = allocate_tensors(layer, type_).buffers;
      for (torch::Tensor& buffer : shared_buffers) buffer = buffer.to(device.where());
      for (auto& slot : slots_) slot[local(s)].push_back({{}, shared_buffers});
      const std::vector<ParameterSpec> specs = parabench::parameters(layer);
      for (std::size_t p = 0; p < specs.size(); ++p) {
        Parameter parameter;
        if (velocity.defined()) parameter.velocity = view_as_parameter(velocity, offset, specs[p], spec_.layout);
        if (gradients_.defined()) parameter.reduced = view_as_parameter(gradients_, offset, specs[p], spec_.layout);
        for (std::size_t slot = 0; slot < weights.size(); ++slot) {
          // detach() makes a leaf that shares the slot's storage.
          auto leaf = view_as_parameter(weights[slot], offset, specs[p], spec_.layout).detach();
          if (slot == 0) fill_initial(leaf, layer, p, spec_.seed);
          leaf.requires_grad_();
          parameter.leaves.push_back(leaf);
          slots_[slot][local(s)].back().parameters.push_back(leaf);
        }
        parameters_[local(s)].push_back(std::move(parameter));
        offset += aligned(specs[p].elements(), element);
      }
    }
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

void StageState::take_gradients(SegmentId segment, int version) {
  torch::NoGradGuard no_grad;
  for (Parameter& parameter : parameters_[local(segment)]) {
    // Its elements lie as the leaf's do: autograd sees to that for dense leaves.
    torch::Tensor& made = parameter.leaves[version % parameter.leaves.size()].mutable_grad();
    if (parameter.reduced.defined()) {
      parameter.reduced.copy_(made);
      made = parameter.reduced;
    } else {
      device_.recategorise(made, MemoryCategory::gradients);
    }
    parameter.gradient = made;
  }
}

void StageState::drop_gradients(SegmentId segment) {
  for (Parameter& parameter : parameters_[local(segment)])
    for (torch::Tensor& leaf : parameter.leaves) leaf.mutable_grad().reset();
}

BufferView StageState::gradients(SegmentId first, int segments) const {
  // Backward order: the run's last segment lies first.
  const Slice &head = slices_[local(first) + segments - 1], &tail = slices_[local(first)];
  const auto view = gradients_.narrow(0, head.offset, tail.offset + tail.elements - head.offset);
  return {view.data_ptr(), static_cast<std::int64_t>(view.nbytes()),
          type_ == torch::kFloat64 ? ElementType::f64 : ElementType::f32, !view.is_cpu()};
}

void StageState::update(SegmentId first, int segments, int version) {
  std::vector<SgdOperands> operands;
  for (int s = local(first); s < local(first) + segments; ++s) {
    newest_[s] = version;
    for (Parameter& p : parameters_[s]) {
      const std::size_t slots = p.leaves.size();
      operands.push_back(
          {p.leaves[(version - 1) % slots], p.leaves[version % slots], p.velocity, std::move(p.gradient)});
      for (torch::Tensor& leaf : p.leaves) leaf.mutable_grad().reset();
    }
  }
  device_.update({spec_.lr, spec_.momentum, spec_.weight_decay}, operands);
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
