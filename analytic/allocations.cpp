#include "analytic/allocations.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>
#include <variant>

namespace parabench {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

/// The operation of `kind` that handles the same segment, micro-batch and step, as a key.
struct Place {
  OpKind kind;
  int segment, micro_batch, step;
  bool operator==(const Place&) const = default;
};
struct PlaceHash {
  std::size_t operator()(const Place& p) const {
    std::uint64_t h = static_cast<std::uint64_t>(p.kind);
    for (const int field : {p.segment, p.micro_batch, p.step}) {
      h = (h ^ static_cast<std::uint32_t>(field)) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 32;
    }
    return h;
  }
};

bool multiplies_matrices(std::span<const LayerSpec> layers) {
  return std::ranges::any_of(layers, [](const LayerSpec& layer) {
    return std::ranges::any_of(layer.body, [](const Step& s) { return std::holds_alternative<Linear>(s.operation); });
  });
}

class Ledger {
 public:
  Ledger(const Plan& plan, const Sizes& sizes, const CostModel& cost, const Timeline& timeline, Rank rank)
      : plan_(plan), sizes_(sizes), cost_(cost), rank_(rank), spans_(timeline.ranks[rank.value]) {
    for (const Lane lane : all_lanes) {
      const auto& ops = program().lane(lane);
      for (std::size_t i = 0; i < ops.size(); ++i) {
        for (int s = 0; s < ops[i].segments; ++s)
          places_.try_emplace(place(ops[i].kind, ops[i], s), &spans_[static_cast<int>(lane)][i]);
      }
    }
  }

  std::vector<Allocation> allocations() {
    add_states();
    for (const Lane lane : all_lanes) {
      const auto& ops = program().lane(lane);
      for (std::size_t i = 0; i < ops.size(); ++i) add(ops[i], spans_[static_cast<int>(lane)][i]);
    }
    return std::move(allocations_);
  }

 private:
  const RankProgram& program() const { return plan_.ranks[rank_.value]; }
  bool on_gpu() const { return plan_.spec.device == DeviceKind::cuda; }
  static Place place(OpKind kind, const Op& op, int segments_away) {
    return {kind, op.segment.value + segments_away, op.micro_batch.value, op.step};
  }
  const Span* find(OpKind kind, const Op& op, int segments_away = 0) const {
    const auto found = places_.find(place(kind, op, segments_away));
    return found == places_.end() ? nullptr : found->second;
  }

  void hold(MemoryCategory category, std::int64_t bytes, double from, double until,
            MemorySource source = MemorySource::compute_stream) {
    if (bytes > 0 && from < until) allocations_.push_back({category, bytes, from, until, source});
  }

  /// `bytes` as tensors that are to each other as `tensors`; as one where there are none.
  void hold_tensors(MemoryCategory category, std::int64_t bytes, std::span<const std::int64_t> tensors, double from,
                    double until) {
    auto sum = static_cast<double>(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}));
    for (std::size_t i = 0; i + 1 < tensors.size(); ++i) {
      const auto tensor = static_cast<double>(tensors[i]);
      const auto share = static_cast<std::int64_t>(static_cast<double>(bytes) * tensor / sum);
      hold(category, share, from, until);
      bytes -= share;
      sum -= tensor;
    }
    hold(category, bytes, from, until);
  }

  void add_states() {
    const SegmentRange held = segments_of(plan_, program().stage);
    const std::int64_t copy = sizes_.parameter_bytes(plan_, held.first, held.last.value - held.first.value + 1);
    hold(MemoryCategory::parameters, copy, -forever, forever);
    for (int version = 1; version < program().weight_versions; ++version) {
      hold(MemoryCategory::weight_versions, copy, -forever, forever);
    }
    if (reduces(program())) {
      hold(MemoryCategory::gradients, copy, -forever, forever, MemorySource::communicator);
    }
    if (plan_.spec.momentum != 0) hold(MemoryCategory::optimizer, copy, -forever, forever);
    bool multiplies = false;
    for (SegmentId s = held.first; s <= held.last; ++s) {
      multiplies = multiplies || multiplies_matrices(sizes_.layers(plan_.segments[s.value]));
    }
    if (multiplies) {
      hold(MemoryCategory::workspace, cost_.device_overhead(plan_).matrix_workspace_bytes, -forever, forever);
    }
  }

  void add(const Op& op, const Span& span) {
    const Span* backward = find(OpKind::backward, op);
    switch (op.kind) {
      case OpKind::forward: return add_forward(op, span, backward);
      case OpKind::backward: return add_backward(op, span);
      case OpKind::recv_forward: {
        const std::int64_t bytes = sizes_.message_bytes(plan_, rank_, op);
        const Span* forward = find(OpKind::forward, op);
        if (!forward) return;
        hold(MemoryCategory::communication, bytes, span.start, forward->start, MemorySource::communication_stream);
        hold(MemoryCategory::activations, bytes, forward->start, backward ? backward->end : forward->end,
             MemorySource::communication_stream);
        return;
      }
      case OpKind::recv_backward:
        hold(MemoryCategory::communication, sizes_.message_bytes(plan_, rank_, op), span.start,
             backward ? backward->end : span.end, MemorySource::communication_stream);
        return;
      case OpKind::send_forward:   // the graph holds the output anyway
      case OpKind::send_backward:  // held since the backward that made it
      case OpKind::all_reduce:
      case OpKind::update: return;
    }
  }

  void add_forward(const Op& op, const Span& span, const Span* backward) {
    const std::int64_t saved = cost_.saved_bytes(plan_, rank_, op);
    const double until = backward ? backward->end : span.end;
    if (on_gpu()) {
      hold_tensors(MemoryCategory::activations, saved, sizes_.made_tensors(plan_, rank_, op), span.start, until);
    } else {
      hold(MemoryCategory::activations, saved, span.start, until);
    }
    hold(MemoryCategory::activations, cost_.peak_bytes(plan_, rank_, op), span.start, span.end);
  }

  void add_backward(const Op& op, const Span& span) {
    const std::int64_t temporaries = cost_.peak_bytes(plan_, rank_, op);
    if (on_gpu()) {
      // Most of them are the gradients on both sides of one operation.
      hold_tensors(MemoryCategory::workspace, temporaries, std::array<std::int64_t, 2>{1, 1}, span.start, span.end);
    } else {
      hold(MemoryCategory::workspace, temporaries, span.start, span.end);
    }
    const Span* taker = find(OpKind::backward, op, -1);
    if (!taker) taker = find(OpKind::send_backward, op);
    if (taker) hold(MemoryCategory::workspace, input_bytes(op), span.end, taker->end);
    if (starts_gradients(op) && !reduces(program())) hold_gradients(op, span.end);
  }

  /// Until the update of the segment, which works on a run under micro-batch 0 like the backward that starts them.
  void hold_gradients(const Op& backward, double from) {
    const Span* update = find(OpKind::update, backward);
    const double until = update ? update->end : spans_[static_cast<int>(Lane::compute)].back().end;
    const std::int64_t bytes = sizes_.parameter_bytes(plan_, backward.segment, 1);
    if (on_gpu()) {
      hold_tensors(MemoryCategory::gradients, bytes, sizes_.parameter_tensors(plan_, backward.segment), from, until);
    } else {
      hold(MemoryCategory::gradients, bytes, from, until);
    }
  }

  std::int64_t input_bytes(const Op& op) const {
    return sizes_.input(plan_.segments[op.segment.value].first_layer).elements() * samples_of(plan_, rank_, op) *
           activation_bytes(plan_.spec.precision);
  }

  const Plan& plan_;
  const Sizes& sizes_;
  const CostModel& cost_;
  Rank rank_;
  const std::array<std::vector<Span>, lane_count>& spans_;
  std::unordered_map<Place, const Span*, PlaceHash> places_;
  std::vector<Allocation> allocations_;
};

}  // namespace

std::vector<Allocation> allocations(const Plan& plan, const Sizes& sizes, const CostModel& cost,
                                    const Timeline& timeline, Rank rank) {
  return Ledger(plan, sizes, cost, timeline, rank).allocations();
}

}  // namespace parabench
