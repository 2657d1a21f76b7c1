#include "parallelism/plan/state/state_layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/optimizer.h"
#include "parallelism/plan/state/buffers.h"
#include "parallelism/plan/state/messages.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::plan {
namespace {

std::int64_t aligned(std::int64_t elements, int element_bytes) {
  const std::int64_t unit = slice_alignment_bytes / element_bytes;
  return (elements + unit - 1) / unit * unit;
}

std::ptrdiff_t place_of(const std::vector<SegmentId>& held, SegmentId segment) {
  return std::ranges::lower_bound(held, segment) - held.begin();
}

/// `master`: of a parameter.
int element_bytes(StateRole role, int master) {
  switch (role) {
    case StateRole::weights:
    case StateRole::shares:
    case StateRole::gradients:
    case StateRole::gradient_shares:
    case StateRole::buckets:
    case StateRole::errors:
    case StateRole::optimizer:
    case StateRole::outer: return master;
    case StateRole::encoded:
    case StateRole::projected: return 1;  // of several types
    case StateRole::updates: return sizeof(float);
    case StateRole::norms: return sizeof(double);
  }
  return 0;
}

/// What the rank's updates write, ascending.
std::vector<ElementRange> updated_ranges(const Plan& plan, const StateLayout& layout, Rank rank) {
  const auto is_served = [&](const Holding& holding) { return !updates(plan, rank, holding.stage); };
  if (std::ranges::any_of(plan.ranks[rank.value].holds, is_served)) return {};
  std::vector<ElementRange> ranges;
  bool shares = false;
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind != OpKind::update || op.version != VersionId(1)) continue;
    shares |= op.group.value >= 0;
    const ElementRange run = layout.run(op.segment, op.segments);
    const Shard shard = shard_of(plan, rank, op);
    const ElementRange range = shard_of(run, shard.index, shard.count, layout.element_bytes);
    if (range.count > 0) ranges.push_back(range);
  }
  if (!shares) return {{0, layout.elements}};
  std::ranges::sort(ranges, {}, &ElementRange::first);
  return ranges;
}

/// How an arena lies whose runs take `room` buffers by turns; 0: as a copy.
struct BufferedArena {
  std::vector<std::int64_t> shifts;  ///< by segment held
  std::int64_t elements = 0;
};
BufferedArena buffered(const Plan& plan, const StateLayout& layout, Rank rank, int room) {
  BufferedArena arena{std::vector<std::int64_t>(layout.segments.size(), 0), layout.elements};
  const Buffers buffers = buffers_of(plan, rank, room);
  if (room == 0 || buffers.runs.empty()) return arena;
  std::vector<std::int64_t> size(buffers.count, 0), begin(buffers.count, 0);
  for (std::size_t i = 0; i < buffers.runs.size(); ++i) {
    std::int64_t& most = size[buffers.buffer_of[i]];
    most = std::max(most, layout.run(buffers.runs[i].first, buffers.runs[i].segments).count);
  }
  std::exclusive_scan(size.begin(), size.end(), begin.begin(), std::int64_t{0});
  for (std::size_t i = 0; i < layout.segments.size(); ++i) {
    const SegmentRun& run = buffers.runs[buffers.run_of[layout.segments[i].value]];
    arena.shifts[i] = begin[buffers.of(run.first)] - layout.run(run.first, run.segments).first;
  }
  arena.elements = begin.back() + size.back();
  return arena;
}

/// The layers of a run of segments; lacks_copy: one of them is the copy of a tensor that the rank has for both ends.
struct LayerRun {
  int first = 0, count = 0;
  bool lacks_copy = false;
};
LayerRun layers_of(const Plan& plan, SegmentId first, int segments) {
  const Segment& last = plan.segments[first.value + segments - 1];
  const int first_layer = plan.segments[first.value].first_layer;
  return {first_layer, last.first_layer + last.layers - first_layer,
          plan.tie && plan.tie->shared && first <= plan.tie->copy && plan.tie->copy.value < first.value + segments};
}

}  // namespace

int parameter_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
    case Precision::bf16: return 4;
    case Precision::fp64: return 8;
  }
  return 0;
}

ParameterSizes::ParameterSizes(const models::ModelSpec& model) {
  for (auto& before : before_) before.push_back(0);
  tensors_.push_back(0);
  for (const models::LayerSpec& layer : model.layers) {
    const std::vector<models::ParameterSpec> tensors = models::parameters(layer);
    tensors_.push_back(tensors_.back() + static_cast<int>(tensors.size()));
    for (const models::ParameterSpec& tensor : tensors) {
      const models::ParameterPlace place{static_cast<int>(before_[0].size()) - 1,
                                         static_cast<int>(&tensor - tensors.data())};
      const std::int64_t rows = tensor.shape.empty() ? 1 : tensor.shape.front();
      shapes_.push_back({rows, tensor.elements() / rows, models::origin(model, place) != place});
    }
    for (std::size_t wide = 0; wide < before_.size(); ++wide) {
      std::int64_t sum = before_[wide].back();
      for (const models::ParameterSpec& tensor : tensors) sum += aligned(tensor.elements(), wide ? 8 : 4);
      before_[wide].push_back(sum);
    }
  }
  if (!model.tie) return;
  for (std::size_t wide = 0; wide < before_.size(); ++wide)
    tied_[wide] = aligned(models::tied_tensor(model).elements(), wide ? 8 : 4);
}

std::int64_t ParameterSizes::elements(int first_layer, int layers, int element_bytes) const {
  const auto& before = before_[element_bytes == 8];
  return before[first_layer + layers] - before[first_layer];
}

const ElementRange& StateLayout::slice(SegmentId segment) const { return slices[place_of(segments, segment)]; }

ElementRange StateLayout::in_weights(SegmentId segment, ElementRange part) const {
  return {part.first + weight_shifts[place_of(segments, segment)], part.count};
}

ElementRange StateLayout::in_gradients(SegmentId segment, ElementRange part) const {
  return {part.first + gradient_shifts[place_of(segments, segment)], part.count};
}

ElementRange StateLayout::run(SegmentId first, int count) const {
  // Backward order: the run's last segment lies first.
  const ElementRange &head = slice(SegmentId(first.value + count - 1)), &tail = slice(first);
  return {head.first, tail.end() - head.first};
}

std::int64_t StateLayout::bytes(StateRole role) const {
  std::int64_t sum = 0;
  for (const StateArena& arena : arenas) sum += arena.role == role ? arena.bytes : 0;
  return sum;
}

bool StateLayout::updates(const ElementRange& range) const {
  return std::ranges::any_of(
      updated, [&range](const ElementRange& part) { return part.first <= range.first && range.end() <= part.end(); });
}

std::int64_t StateLayout::state_of(std::int64_t element) const {
  std::int64_t before = 0;
  for (const ElementRange& range : updated) {
    if (range.first > element) break;
    before += std::min(element - range.first, range.count);
  }
  return before;
}

std::int64_t elements_of(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments,
                         int element_bytes) {
  const LayerRun run = layers_of(plan, first, segments);
  return sizes.elements(run.first, run.count, element_bytes) -
         (run.lacks_copy ? sizes.tied_elements(element_bytes) : 0);
}

int tensors_of(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments) {
  const LayerRun run = layers_of(plan, first, segments);
  return sizes.tensors(run.first, run.count) - (run.lacks_copy ? 1 : 0);
}

StateLayout state_layout(const Plan& plan, const ParameterSizes& sizes, Rank rank) {
  const RankProgram& program = plan.ranks[rank.value];
  StateLayout layout{.element_bytes = parameter_bytes(plan.spec.precision), .segments = segments_held(plan, rank)};
  layout.slices.resize(layout.segments.size());
  for (std::size_t i = layout.segments.size(); i-- > 0;) {
    const std::int64_t n = elements_of(plan, sizes, layout.segments[i], 1, layout.element_bytes);
    layout.slices[i] = {layout.elements, n};
    layout.elements += n;
  }
  layout.updated = updated_ranges(plan, layout, rank);
  std::int64_t updated = 0;
  for (const ElementRange& range : layout.updated) updated += range.count;
  BufferedArena weights = buffered(plan, layout, rank, plan.room.weights),
                gradients = buffered(plan, layout, rank, plan.room.gradients);
  layout.weight_shifts = std::move(weights.shifts);
  layout.gradient_shifts = std::move(gradients.shifts);

  const bool has_share_alone = served_in_shares(plan) && updates(plan, rank, StageId(0));
  // A tied sum alone goes through the communicator's own buffers: arenas of its memory are as large on every rank.
  const bool sums_in_buckets = sums_by_reducer(plan.spec);
  const bool sums = has_collectives(program, Payload::gradients) && !sums_in_buckets;
  const bool gathers = has_collectives(program, Payload::parameters);
  const auto add = [&](StateRole role, MemoryCategory category, std::int64_t elements) {
    const int bytes = element_bytes(role, layout.element_bytes);
    const bool exchanged = (role == StateRole::gradients && sums) || (role == StateRole::weights && gathers) ||
                           role == StateRole::encoded || role == StateRole::projected;
    layout.arenas.push_back({role, category, exchanged, elements, elements * bytes});
  };
  for (int slot = 0; slot < program.weight_versions && !has_share_alone; ++slot) {
    add(StateRole::weights, slot == 0 ? MemoryCategory::parameters : MemoryCategory::weight_versions, weights.elements);
  }
  if ((gathers && plan.room.weights > 0) || has_share_alone)
    add(StateRole::shares, MemoryCategory::parameters, updated);
  if (sums_in_buckets)
    add(StateRole::buckets, MemoryCategory::communication, layout.elements);
  else if (reduces(program) && !has_share_alone)
    add(StateRole::gradients, MemoryCategory::gradients, gradients.elements);
  if ((plan.scatters_pieces && reduces(program)) || has_share_alone)
    add(StateRole::gradient_shares, MemoryCategory::gradients, updated);
  if (has_collectives(program, Payload::encoded)) {
    const int segments = static_cast<int>(plan.segments.size());
    const Compression by = compression(plan.spec);
    const MessageBytes bytes = message_bytes(plan, sizes, SegmentId(0), segments);
    if (by.feeds_back()) add(StateRole::errors, MemoryCategory::gradients, layout.elements);
    const std::int64_t buffers = by.kind == CompressionKind::topk ? plan.replicas : 1;
    add(StateRole::encoded, MemoryCategory::communication, bytes.encoded * buffers);
    if (bytes.projected > 0) add(StateRole::projected, MemoryCategory::communication, bytes.projected);
  }
  for (int state = state_count(optimizer_rule(plan.spec)); state > 0; --state) {
    add(StateRole::optimizer, MemoryCategory::optimizer, updated);
  }
  for (int state = 0; state < 2 && plan.averaging.every > 0 && !plan.averaging.is_mean(); ++state)
    add(StateRole::outer, MemoryCategory::optimizer, updated);
  if (find_optimizer(plan.spec.optimizer.name).counts_updates) {
    add(StateRole::updates, MemoryCategory::optimizer, std::ssize(layout.segments));
  }
  if (has_collectives(program, Payload::norms)) {
    std::int64_t tensors = 0;
    for (SegmentId s : layout.segments) tensors += tensors_of(plan, sizes, s, 1);
    add(StateRole::norms, MemoryCategory::communication, sums_of_squares * tensors);
  }
  return layout;
}

std::vector<ParameterSlice> parameter_slices(const StateLayout& layout, const Plan& plan,
                                             const models::ModelSpec& model, SegmentId segment) {
  std::vector<ParameterSlice> slices;
  const Segment& run = plan.segments[segment.value];
  std::int64_t first = layout.slice(segment).first;
  for (int layer = run.first_layer; layer < run.first_layer + run.layers; ++layer) {
    int index = 0;
    for (models::ParameterSpec& tensor : models::parameters(model.layers[layer])) {
      const models::ParameterPlace place{layer, index++};
      if (plan.tie && plan.tie->shared && models::origin(model, place) != place) continue;
      const std::int64_t elements = tensor.elements();
      slices.push_back({layer, place.parameter, std::move(tensor), {first, elements}});
      first += aligned(elements, layout.element_bytes);
    }
  }
  return slices;
}

ElementRange shard_of(ElementRange range, int shard, int shards, int element_bytes) {
  const std::int64_t unit = slice_alignment_bytes / element_bytes;
  const std::int64_t units = (range.count + unit - 1) / unit;
  const auto begin = [&](int i) { return std::min(range.count, units * i / shards * unit); };
  return {range.first + begin(shard), begin(shard + 1) - begin(shard)};
}

Shard shard_of(const Plan& plan, Rank rank, const Op& op) {
  if (op.group.value < 0) return {};
  const std::vector<Rank>& members = plan.groups[op.group.value].ranks;
  const Rank member = is_served(op) && !std::ranges::binary_search(members, rank) ? op.peer : rank;
  return {static_cast<int>(std::ranges::lower_bound(members, member) - members.begin()),
          static_cast<int>(members.size())};
}

Shard moved_part(const Plan& plan, Rank rank, const Op& op) {
  if (is_served(op)) return shard_of(plan, rank, op);
  if (op.payload == Payload::gradients && op.port > 0) return {op.port - 1, parts_of(plan, op.segment)};
  if (op.payload != Payload::gradient_shares) return {};
  const StageId stage = stage_of(plan, op.segment);
  for (const Lane& lane : plan.ranks[rank.value].lanes) {
    if (!is_collectives_of(lane.key, Payload::gradients) || lane.ops.empty()) continue;
    const Op& scatter = lane.ops.front();
    if (scatter.kind == OpKind::reduce_scatter && stage_of(plan, scatter.segment) == stage)
      return shard_of(plan, rank, scatter);
  }
  return {};
}

std::map<StateRole, std::int64_t> exchanged_arenas(const Plan& plan, const models::ModelSpec& model) {
  const ParameterSizes sizes(model);
  std::map<StateRole, std::int64_t> largest;
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank) {
    for (const StateArena& arena : state_layout(plan, sizes, rank).arenas)
      if (arena.exchanged) largest[arena.role] = std::max(largest[arena.role], arena.bytes);
  }
  return largest;
}

std::vector<int> layers_held(const Plan& plan, Rank rank) {
  std::vector<int> layers;
  for (SegmentId s : segments_held(plan, rank)) {
    const Segment& segment = plan.segments[s.value];
    for (int l = 0; l < segment.layers; ++l) layers.push_back(segment.first_layer + l);
  }
  return layers;
}

}  // namespace parabench::plan
