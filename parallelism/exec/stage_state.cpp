#include "parallelism/exec/stage_state.h"

#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <utility>

#include "parallelism/exec/compression/compressor.h"

namespace parabench::exec {
namespace {

/// A view of `flat` with a parameter's shape; 4-D parameters take channels_last strides where the case asks for it.
torch::Tensor view_as_parameter(const torch::Tensor& flat, const plan::ElementRange& range,
                                const models::ParameterSpec& spec, Layout layout) {
  auto slice = flat.narrow(0, range.first, range.count);
  if (layout == Layout::channels_last && spec.shape.size() == 4) {
    const auto& s = spec.shape;
    return slice.view({s[0], s[2], s[3], s[1]}).permute({0, 3, 1, 2});
  }
  return slice.view(spec.shape);
}

/// What a shard of a run is, in elements of the layout.
plan::ElementRange part_of(const plan::StateLayout& layout, SegmentId first, int segments, plan::Shard shard) {
  return plan::shard_of(layout.run(first, segments), shard.index, shard.count, layout.element_bytes);
}

/// The parameter's initial values, drawn in the canonical element order whatever its strides, a few MiB at a time: of a
/// large one all of them in fp64 are twice its size, which the allocator would keep.
void fill_initial(const torch::Tensor& parameter, const models::LayerSpec& layer, std::size_t index,
                  std::uint64_t seed) {
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t rows = parameter.size(0), row = parameter.numel() / rows;
  const std::int64_t at_once = std::max<std::int64_t>(1, most / row);
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const torch::Tensor part = parameter.narrow(0, first, std::min(at_once, rows - first));
    auto values = torch::empty(part.sizes(), torch::kFloat64);
    modules::initialise(layer, index, seed, first * row,
                        {values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
    part.copy_(values);
  }
}

}  // namespace

torch::ScalarType master_type(Precision precision) {
  return plan::parameter_bytes(precision) == sizeof(double) ? torch::kFloat64 : torch::kFloat32;
}

StageState::StageState(const plan::Plan& plan, const models::ModelSpec& model, comm::Communicator& comm, Device& device)
    : rule_(optimizer_rule(plan.spec)),
      device_(device),
      layout_(plan::state_layout(plan, plan::ParameterSizes(model), comm.rank())),
      local_(plan.segments.size(), -1),
      type_(master_type(plan.spec.precision)),
      averaging_(plan.averaging),
      parameters_(layout_.segments.size()),
      newest_(layout_.segments.size()) {
  torch::NoGradGuard no_grad;
  // The device counts what is made in its own queues.
  device.enter(/*computes=*/true);
  const torch::TensorOptions options = torch::TensorOptions(type_).device(device.where());

  // Every rank asks for the largest stage's bytes: arenas are collective and symmetric.
  const std::map<plan::StateRole, std::int64_t> largest = plan::exchanged_arenas(plan, model);
  const auto exchanged = [&](plan::StateRole role) {
    const auto found = largest.find(role);
    return found != largest.end() && found->second > 0 ? comm.allocate(found->second) : comm::Arena{};
  };
  const comm::Arena shared_weights = exchanged(plan::StateRole::weights),
                    shared_gradients = exchanged(plan::StateRole::gradients),
                    shared_encoded = exchanged(plan::StateRole::encoded),
                    shared_projected = exchanged(plan::StateRole::projected);
  const auto make = [&](const plan::StateArena& part, const comm::Arena& shared) {
    if (!part.exchanged) return torch::zeros({part.elements}, options);
    device.account().add(part.category, part.bytes);
    return torch::from_blob(shared.data, {part.elements}, options);
  };
  CompressionArenas compressed;
  const auto make_bytes = [&](const plan::StateArena& part, const comm::Arena& shared) {
    device.account().add(part.category, part.bytes);
    return torch::from_blob(shared.data, {part.bytes}, options.dtype(torch::kByte));
  };
  for (const plan::StateArena& part : layout_.arenas) {
    CountScope scope(device, part.category);
    switch (part.role) {
      case plan::StateRole::weights: weights_.push_back(make(part, shared_weights)); break;
      case plan::StateRole::shares: shares_ = make(part, {}); break;
      case plan::StateRole::gradients: gradients_ = make(part, shared_gradients); break;
      case plan::StateRole::gradient_shares: gradient_shares_ = make(part, {}); break;
      case plan::StateRole::buckets: break;  // the reducer's own
      case plan::StateRole::errors: compressed.errors = make(part, {}); break;
      case plan::StateRole::encoded: compressed.encoded = make_bytes(part, shared_encoded); break;
      case plan::StateRole::projected: compressed.projected = make_bytes(part, shared_projected); break;
      case plan::StateRole::optimizer: states_.push_back(make(part, {})); break;
      case plan::StateRole::outer: outer_.push_back(make(part, {})); break;
      case plan::StateRole::norms:
        norms_ = torch::zeros({part.elements / plan::sums_of_squares, plan::sums_of_squares},
                              options.dtype(torch::kFloat64));
        break;
      case plan::StateRole::updates: updates_ = torch::zeros({part.elements}, options.dtype(torch::kFloat32)); break;
    }
  }
  if (compressed.encoded.defined()) {
    compressed.gradients = gradients_;
    compressor_ = std::make_unique<Compressor>(plan, model, layout_, std::move(compressed));
  }
  if (weights_.empty()) weights_.push_back(torch::empty({layout_.elements}, options.device(torch::kMeta)));
  slots_.assign(weights_.size(), std::vector<std::vector<modules::LayerTensors>>(layout_.segments.size()));

  for (std::size_t i = 0; i < layout_.segments.size(); ++i) {
    const SegmentId s = layout_.segments[i];
    local_[s.value] = static_cast<int>(i);
    const plan::Segment& segment = plan.segments[s.value];
    for (int l = 0; l < segment.layers; ++l) {
      std::vector<torch::Tensor> shared_buffers =
          modules::allocate_buffers(model.layers[segment.first_layer + l], type_);
      for (torch::Tensor& buffer : shared_buffers) buffer = buffer.to(device.where());
      for (auto& slot : slots_) slot[i].push_back({{}, shared_buffers});
    }
    for (const plan::ParameterSlice& slice : plan::parameter_slices(layout_, plan, model, s)) {
      const auto view = [&](const torch::Tensor& flat, const plan::ElementRange& range) {
        return view_as_parameter(flat, range, slice.tensor, plan.spec.layout);
      };
      const plan::ElementRange in_weights = layout_.in_weights(s, slice.range),
                               in_gradients = layout_.in_gradients(s, slice.range);
      const models::ParameterPlace place{slice.layer, slice.parameter}, from = models::origin(model, place);
      Parameter parameter;
      parameter.range = slice.range;
      for (std::size_t state = 0; state < states_.size() && layout_.updates(slice.range); ++state)
        parameter.states[state] = view(states_[state], {layout_.state_of(slice.range.first), slice.range.count});
      if (gradients_.defined()) parameter.reduced = view(gradients_, in_gradients);
      for (std::size_t slot = 0; slot < weights_.size(); ++slot) {
        // detach() makes a leaf that shares the slot's storage.
        auto leaf = view(weights_[slot], in_weights).detach();
        if (slot == 0) {
          const torch::Tensor values = has_share_alone() ? torch::empty({slice.range.count}, options)
                                                         : weights_[slot].narrow(0, in_weights.first, in_weights.count);
          fill_initial(view(values, {0, slice.range.count}), model.layers[from.layer], from.parameter, plan.spec.seed);
          if (shares_.defined()) keep_share(slice.range, values);
        }
        leaf.requires_grad_();
        parameter.leaves.push_back(leaf);
        slots_[slot][i][slice.layer - segment.first_layer].parameters.push_back(leaf);
      }
      if (plan.tie && (place == model.tie->original || place == model.tie->copy)) {
        if (plan.tie->shared) {
          shared_original_ = static_cast<int>(i);
          shared_parameter_ = parameters_[i].size();
        } else {
          tied_gradients_ = gradients_.narrow(0, in_gradients.first, in_gradients.count);
        }
      }
      parameters_[i].push_back(std::move(parameter));
    }
  }
  if (!outer_.empty()) outer_.front().copy_(weights_.front());
  std::int64_t tensors = 0;
  first_tensor_.resize(parameters_.size());
  for (std::size_t i = parameters_.size(); i-- > 0; tensors += std::ssize(parameters_[i])) first_tensor_[i] = tensors;

  if (shared_original_ < 0) return;
  shared_copy_ = local(plan.tie->copy);
  const models::ParameterPlace& copy = model.tie->copy;
  const int first_layer = plan.segments[plan.tie->copy.value].first_layer;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    std::vector<torch::Tensor>& read = slots_[slot][shared_copy_][copy.layer - first_layer].parameters;
    read.insert(read.begin() + copy.parameter, parameters_[shared_original_][shared_parameter_].leaves[slot]);
  }
}

// The arenas themselves live as long as the communicator; only their count ends here.
StageState::~StageState() {
  for (const plan::StateArena& part : layout_.arenas)
    if (part.exchanged) device_.account().remove(part.category, part.bytes);
}

const std::vector<modules::LayerTensors>& StageState::tensors(SegmentId segment, VersionId version) const {
  return slots_[version.value % slots_.size()][local(segment)];
}

template <class Visit>
void StageState::for_each_parameter(SegmentId segment, Visit visit) {
  for (Parameter& parameter : parameters_[local(segment)]) visit(parameter);
  if (local(segment) == shared_copy_ && shared_copy_ != shared_original_)
    visit(parameters_[shared_original_][shared_parameter_]);
}

void StageState::take_gradients(SegmentId segment, VersionId version) {
  torch::NoGradGuard no_grad;
  for_each_parameter(segment, [&](Parameter& parameter) {
    // Its elements lie as the leaf's do: autograd sees to that for dense leaves.
    torch::Tensor& made = parameter.leaves[version.value % parameter.leaves.size()].mutable_grad();
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

void StageState::keep_share(const plan::ElementRange& range, const torch::Tensor& values) {
  for (const plan::ElementRange& own : layout_.updated) {
    const std::int64_t begin = std::max(own.first, range.first), end = std::min(own.end(), range.end());
    if (begin >= end) continue;
    shares_.narrow(0, layout_.state_of(begin), end - begin).copy_(values.narrow(0, begin - range.first, end - begin));
  }
}

torch::Tensor StageState::spread_share() const {
  torch::Tensor copy = torch::zeros({layout_.elements}, shares_.options());
  for (const plan::ElementRange& own : layout_.updated)
    copy.narrow(0, own.first, own.count).copy_(own_weights(layout_.segments.front(), own));
  return copy;
}

comm::DeviceEvent StageState::bring_share(SegmentId first, int segments, plan::Shard shard, void* ready) {
  torch::NoGradGuard no_grad;
  const plan::ElementRange range = part_of(layout_, first, segments, shard);
  const plan::ElementRange there = layout_.in_weights(first, range);
  // Another tensor of the same memory: autograd would take the values, which are the same again, for others.
  const torch::Tensor whole = weights_.front().narrow(0, there.first, there.count);
  torch::Tensor same = torch::from_blob(whole.data_ptr(), {there.count}, whole.options());
  return device_.copy(same, shares_.narrow(0, layout_.state_of(range.first), range.count), ready);
}

comm::BufferView StageState::view_of(const torch::Tensor& part) const {
  return {part.data_ptr(), static_cast<std::int64_t>(part.nbytes()),
          type_ == torch::kFloat64 ? comm::ElementType::f64 : comm::ElementType::f32, !part.is_cpu()};
}

comm::BufferView StageState::gradients(SegmentId first, int segments, plan::Shard part) const {
  const plan::ElementRange range = part_of(layout_, first, segments, part);
  return view_of(exchanged_gradients(first, range));
}
comm::BufferView StageState::weights(SegmentId first, int segments, VersionId version, plan::Shard part) const {
  const plan::ElementRange range = part_of(layout_, first, segments, part);
  if (has_share_alone()) return view_of(own_weights(first, range));
  const plan::ElementRange there = layout_.in_weights(first, range);
  return view_of(weights_[version.value % weights_.size()].narrow(0, there.first, there.count));
}

void StageState::expect_weights(SegmentId first, int segments, VersionId version) {
  std::fill_n(newest_.begin() + local(first), segments, version);
}

torch::Tensor StageState::own_weights(SegmentId first, const plan::ElementRange& part) const {
  if (shares_.defined()) return shares_.narrow(0, layout_.state_of(part.first), part.count);
  const plan::ElementRange there = layout_.in_weights(first, part);
  return weights_.front().narrow(0, there.first, there.count);
}
torch::Tensor StageState::summed_gradients(SegmentId first, const plan::ElementRange& part) const {
  if (!gradient_shares_.defined()) return exchanged_gradients(first, part);
  return gradient_shares_.narrow(0, layout_.state_of(part.first), part.count);
}
torch::Tensor StageState::exchanged_gradients(SegmentId first, const plan::ElementRange& part) const {
  const plan::ElementRange there = layout_.in_gradients(first, part);
  return gradients_.narrow(0, there.first, there.count);
}

comm::Shares StageState::shares(SegmentId first, int segments, int shards) const {
  const plan::ElementRange run = layout_.run(first, segments);
  std::vector<std::int64_t> bytes;
  for (int shard = 0; shard < shards; ++shard)
    bytes.push_back(plan::shard_of(run, shard, shards, layout_.element_bytes).count * layout_.element_bytes);
  return comm::Shares(bytes);
}

void StageState::update(SegmentId first, int segments, VersionId version) {
  std::vector<UpdateOperands> operands;
  if (updates_.defined()) updates_.narrow(0, local(first), segments).add_(1);
  for (int s = local(first); s < local(first) + segments; ++s) {
    newest_[s] = version;
    const torch::Tensor update = updates_.defined() ? updates_.narrow(0, s, 1) : torch::Tensor();
    for (Parameter& p : parameters_[s]) {
      const std::size_t slots = p.leaves.size();
      operands.push_back({p.leaves[(version.value - 1) % slots], p.leaves[version.value % slots], p.states,
                          std::move(p.gradient), update});
      for (torch::Tensor& leaf : p.leaves) leaf.mutable_grad().reset();
    }
  }
  device_.update(rule_, operands);
}

void StageState::update_shard(SegmentId first, int segments, VersionId version, plan::Shard shard) {
  if (updates_.defined()) updates_.narrow(0, local(first), segments).add_(1);
  std::fill_n(newest_.begin() + local(first), segments, version);
  drop_gradients_of_run(first, segments);
  const plan::ElementRange range = part_of(layout_, first, segments, shard);
  if (range.count == 0) return;
  // Rules that go element by element do not ask where a tensor ends, and padding stays zero.
  const std::vector<Part> all = norms_.defined() ? parts(first, segments, range) : std::vector<Part>{{range, 0}};
  std::vector<UpdateOperands> operands;
  for (const Part& part : all) {
    const auto [begin, count] = part.range;
    UpdateOperands& own = operands.emplace_back();
    own.next = own.weights = own_weights(first, part.range);
    for (std::size_t state = 0; state < states_.size(); ++state)
      own.states[state] = states_[state].narrow(0, layout_.state_of(begin), count);
    own.gradient = summed_gradients(first, part.range);
    if (updates_.defined()) own.update = updates_.narrow(0, local(first), 1);
    if (norms_.defined()) own.squares = norms_[part.tensor];
  }
  device_.update(rule_, operands);
}

void StageState::drop_gradients_of_run(SegmentId first, int segments) {
  for (int s = local(first); s < local(first) + segments; ++s) {
    for (Parameter& p : parameters_[s]) {
      p.gradient.reset();
      p.leaves.front().mutable_grad().reset();
    }
  }
}

void StageState::add_share(SegmentId first, int segments, plan::Shard shard, bool accumulates) {
  torch::NoGradGuard no_grad;
  drop_gradients_of_run(first, segments);
  const plan::ElementRange range = part_of(layout_, first, segments, shard);
  if (range.count == 0) return;
  torch::Tensor sum = summed_gradients(first, range);
  const torch::Tensor share = exchanged_gradients(first, range);
  accumulates ? sum.add_(share) : sum.copy_(share);
}

plan::ElementRange StageState::tensors_of(SegmentId first, int segments) const {
  const std::int64_t begin = first_tensor_[local(first) + segments - 1];
  return {begin, first_tensor_[local(first)] + std::ssize(parameters_[local(first)]) - begin};
}

std::vector<StageState::Part> StageState::parts(SegmentId first, int segments, const plan::ElementRange& range) const {
  std::vector<Part> parts;
  for (int s = local(first) + segments - 1; s >= local(first); --s) {
    std::int64_t tensor = first_tensor_[s];
    for (const Parameter& p : parameters_[s]) {
      const std::int64_t begin = std::max(p.range.first, range.first), end = std::min(p.range.end(), range.end());
      if (begin < end) parts.push_back({{begin, end - begin}, tensor});
      ++tensor;
    }
  }
  return parts;
}

torch::Tensor StageState::room_for_gradients(SegmentId first, int segments, plan::Shard shard) const {
  const plan::ElementRange range = part_of(layout_, first, segments, shard);
  return torch::empty({range.count}, torch::TensorOptions(type_).device(device_.where()));
}

void StageState::add_gradients(SegmentId first, int segments, plan::Shard shard, const torch::Tensor& sent,
                               bool accumulates) {
  torch::NoGradGuard no_grad;
  const plan::ElementRange range = part_of(layout_, first, segments, shard);
  torch::Tensor sum = summed_gradients(first, range);
  accumulates ? sum.add_(sent) : sum.copy_(sent);
  for (int s = local(first); s < local(first) + segments; ++s)
    for (Parameter& parameter : parameters_[s]) parameter.gradient = parameter.reduced;
}

void StageState::average(SegmentId first, int segments, int members) {
  torch::NoGradGuard no_grad;
  const plan::ElementRange run = layout_.run(first, segments);
  const auto part = [&run](const torch::Tensor& flat) { return flat.narrow(0, run.first, run.count); };
  torch::Tensor weights = part(weights_.front());
  if (outer_.empty()) {
    weights.div_(members);
    return;
  }
  const torch::Tensor last = part(outer_[0]);
  at::sub_out(weights, last, weights, 1.0 / members);
  const OptimizerRule rule{.lr = averaging_.lr, .momentum = averaging_.momentum, .nesterov = true};
  device_.update(rule, {{.weights = last, .next = last, .states = {part(outer_[1])}, .gradient = weights}});
  weights.copy_(last);
}

void StageState::measure_norms(SegmentId first, int segments, plan::Shard shard) {
  torch::NoGradGuard no_grad;
  const plan::ElementRange tensors = tensors_of(first, segments);
  norms_.narrow(0, tensors.first, tensors.count).zero_();
  const plan::ElementRange range = part_of(layout_, first, segments, shard);
  const std::vector<Part> own = parts(first, segments, range);
  if (own.empty()) return;
  std::vector<torch::Tensor> values;
  for (const Part& part : own) {
    values.push_back(own_weights(first, part.range));
    values.push_back(summed_gradients(first, part.range));
  }
  const torch::Tensor squares = at::stack(at::_foreach_norm(values)).to(torch::kFloat64).square_();
  const auto count = static_cast<std::int64_t>(own.size());
  norms_.narrow(0, own.front().tensor, count).copy_(squares.view({count, plan::sums_of_squares}));
}

comm::BufferView StageState::norms(SegmentId first, int segments) const {
  const plan::ElementRange tensors = tensors_of(first, segments);
  const torch::Tensor view = norms_.narrow(0, tensors.first, tensors.count);
  return {view.data_ptr(), static_cast<std::int64_t>(view.nbytes()), comm::ElementType::f64, !view.is_cpu()};
}

StageState::Snapshot StageState::snapshot(const std::function<void(SegmentId)>& bring) const {
  torch::NoGradGuard no_grad;
  Snapshot result;
  const torch::Tensor share = has_share_alone() ? spread_share() : torch::Tensor();
  for (std::size_t s = 0; s < newest_.size(); ++s) {
    bring(layout_.segments[s]);
    for (const modules::LayerTensors& layer : slots_[newest_[s].value % slots_.size()][s]) {
      std::vector<torch::Tensor> parameters, buffers;
      for (const auto& p : layer.parameters) {
        const auto here = share.defined() ? share.as_strided(p.sizes(), p.strides(), p.storage_offset()) : p.detach();
        parameters.push_back(here.to(torch::kCPU, torch::kFloat64, false, true).contiguous());
      }
      for (const auto& b : layer.buffers) buffers.push_back(b.to(torch::kCPU, torch::kFloat64, false, true));
      result.parameters.push_back(std::move(parameters));
      result.buffers.push_back(std::move(buffers));
    }
  }
  return result;
}

}  // namespace parabench::exec
