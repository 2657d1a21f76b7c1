#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analytic/simulate.h"
#include "analytic/sizes.h"

namespace parabench {
namespace {

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

struct Change {
  double time;
  MemoryCategory category;
  std::int64_t bytes;
};

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

  std::vector<Change> changes() {
    for (const Lane lane : all_lanes) {
      const auto& ops = program().lane(lane);
      for (std::size_t i = 0; i < ops.size(); ++i) add(ops[i], spans_[static_cast<int>(lane)][i]);
    }
    return std::move(changes_);
  }

 private:
  const RankProgram& program() const { return plan_.ranks[rank_.value]; }
  static Place place(OpKind kind, const Op& op, int segments_away) {
    return {kind, op.segment.value + segments_away, op.micro_batch.value, op.step};
  }
  const Span* find(OpKind kind, const Op& op, int segments_away = 0) const {
    const auto found = places_.find(place(kind, op, segments_away));
    return found == places_.end() ? nullptr : found->second;
  }

  void hold(MemoryCategory category, std::int64_t bytes, double from, double until) {
    if (bytes == 0) return;
    changes_.push_back({from, category, bytes});
    changes_.push_back({until, category, -bytes});
  }

  void add(const Op& op, const Span& span) {
    const Span* backward = find(OpKind::backward, op);
    switch (op.kind) {
      case OpKind::forward:
        hold(MemoryCategory::activations, cost_.saved_bytes(plan_, rank_, op), span.start,
             backward ? backward->end : span.end);
        hold(MemoryCategory::activations, cost_.peak_bytes(plan_, rank_, op), span.start, span.end);
        return;
      case OpKind::backward: {
        hold(MemoryCategory::workspace, cost_.peak_bytes(plan_, rank_, op), span.start, span.end);
        const Span* taker = find(OpKind::backward, op, -1);
        if (!taker) taker = find(OpKind::send_backward, op);
        if (taker) hold(MemoryCategory::workspace, input_bytes(op), span.end, taker->end);
        if (starts_gradients(op) && !reduces(program())) hold_gradients(op, span.end);
        return;
      }
      case OpKind::recv_forward: {
        const std::int64_t bytes = sizes_.message_bytes(plan_, rank_, op);
        const Span* forward = find(OpKind::forward, op);
        if (!forward) return;
        hold(MemoryCategory::communication, bytes, span.start, forward->start);
        hold(MemoryCategory::activations, bytes, forward->start, backward ? backward->end : forward->end);
        return;
      }
      case OpKind::recv_backward:
        hold(MemoryCategory::communication, sizes_.message_bytes(plan_, rank_, op), span.start,
             backward ? backward->end : span.end);
        return;
      case OpKind::send_forward:   // the graph holds the output anyway
      case OpKind::send_backward:  // held since the backward that made it
      case OpKind::all_reduce:
      case OpKind::update: return;
    }
  }

  /// Until the update of the segment, which works on a run under micro-batch 0 like the backward that starts them.
  void hold_gradients(const Op& backward, double from) {
    const Span* update = find(OpKind::update, backward);
    hold(MemoryCategory::gradients, sizes_.parameter_bytes(plan_, backward.segment, 1), from,
         update ? update->end : spans_[static_cast<int>(Lane::compute)].back().end);
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
  std::vector<Change> changes_;
};

}  // namespace

MemoryUsage peak_memory(const Plan& plan, const ModelSpec& model, const CostModel& cost, const Timeline& timeline,
                        Rank rank) {
  const Sizes sizes(model);
  const RankProgram& program = plan.ranks[rank.value];
  const SegmentRange held = segments_of(plan, program.stage);
  const std::int64_t copy = sizes.parameter_bytes(plan, held.first, held.last.value - held.first.value + 1);
  MemoryUsage now;
  now[MemoryCategory::parameters] = copy;
  now[MemoryCategory::gradients] = reduces(program) ? copy : 0;
  now[MemoryCategory::optimizer] = plan.spec.momentum != 0 ? copy : 0;
  now[MemoryCategory::weight_versions] = (program.weight_versions - 1) * copy;

  std::vector<Change> changes = Ledger(plan, sizes, cost, timeline, rank).changes();
  // At one instant what ends is released before what starts is allocated.
  std::ranges::sort(changes, {}, [](const Change& c) { return std::tuple(c.time, c.bytes > 0, c.category); });
  MemoryUsage peak = now;
  std::int64_t total = now.total_counted(), highest = total;
  for (const Change& c : changes) {
    now[c.category] += c.bytes;
    total += c.bytes;
    if (total > highest) {
      highest = total;
      peak = now;
    }
  }
  return peak;
}

}  // namespace parabench
