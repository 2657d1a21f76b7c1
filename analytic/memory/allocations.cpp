#include "analytic/memory/allocations.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <variant>

#include "analytic/memory/asked_bytes.h"
#include "analytic/memory/pass_spans.h"
#include "analytic/memory/skip_spans.h"
#include "base/compression.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/input_pieces.h"
#include "parallelism/plan/skip_ports.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::analytic {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

bool multiplies_matrices(std::span<const models::LayerSpec> layers) {
  return std::ranges::any_of(layers, [](const models::LayerSpec& layer) {
    return std::ranges::any_of(
        layer.nodes, [](const models::Node& n) { return std::holds_alternative<models::Linear>(n.operation); });
  });
}

class Ledger {
 public:
  Ledger(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory, const plan::Timeline& timeline,
         Rank rank)
      : plan_(plan),
        sizes_(sizes),
        memory_(memory),
        rank_(rank),
        ports_(plan),
        spans_(timeline.ranks[rank.value]),
        passes_(plan, rank, spans_),
        skips_(plan, rank, spans_, passes_),
        asked_(plan::segments_held(plan, rank).size()) {
    for_each_op([&](const plan::Op& op, const plan::Span& span) {
      if (op.kind == plan::OpKind::add) pushed_until_[{op.segment, op.step, op.peer}] = span.end;
    });
    if (plan.taken > 0) find_dropped();
    find_updates();
  }

  std::vector<Allocation> allocations() {
    add_states();
    if (on_gpu()) add_input();
    for_each_op([&](const plan::Op& op, const plan::Span& span) { add(op, span); });
    return std::move(allocations_);
  }

 private:
  const plan::RankProgram& program() const { return plan_.ranks[rank_.value]; }
  template <class Visit>
  void for_each_op(Visit visit) const {
    const auto& lanes = program().lanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      for (std::size_t i = 0; i < lanes[lane].ops.size(); ++i) visit(lanes[lane].ops[i], spans_[lane][i]);
    }
  }
  bool has_resident_input() const { return plan_.spec.input == InputKind::resident; }
  bool on_gpu() const { return plan_.spec.device == DeviceKind::cuda; }
  bool has_gradient_arena() const { return plan::reduces(program()) && !plan::sums_by_reducer(plan_.spec); }
  const plan::Span* find(plan::OpKind kind, const plan::Op& op, int segments_away = 0) const {
    return passes_.find(kind, op, segments_away);
  }
  const plan::Span* find_input_gradient(const plan::Op& op, int segments_away = 0) const {
    return passes_.find_input_gradient(op, segments_away);
  }
  const plan::Span* find_send(plan::Payload payload, const plan::Op& op) const {
    return passes_.find_send(payload, op);
  }
  using Of = AskedBytes::Of;
  template <class Ask>
  std::int64_t bytes(Of of, const plan::Op& op, Ask ask) {
    return asked_.bytes(passes_.row(op.segment), of, op, samples_of(plan_, rank_, op), ask);
  }
  std::int64_t saved_bytes(const plan::Op& op) {
    return bytes(Of::saved, op, [&] { return memory_.saved_bytes(plan_, rank_, op); });
  }
  std::int64_t peak_bytes(const plan::Op& op) {
    return bytes(Of::peak, op, [&] { return memory_.peak_bytes(plan_, rank_, op); });
  }
  std::int64_t payload_bytes(const plan::Op& op) {
    return bytes(Of::payload, op, [&] { return sizes_.payload_bytes(plan_, rank_, op); });
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
    const plan::StateLayout layout = plan::state_layout(plan_, sizes_.parameters(), rank_);
    for (const plan::StateArena& arena : layout.arenas) {
      hold(arena.category, arena.bytes, -forever, forever,
           arena.exchanged ? MemorySource::communicator : MemorySource::compute_stream);
    }
    const auto multiplies = [this](SegmentId s) { return multiplies_matrices(sizes_.layers(plan_.segments[s.value])); };
    if (std::ranges::any_of(layout.segments, multiplies)) {
      hold(MemoryCategory::workspace, memory_.device_overhead(plan_).matrix_workspace_bytes, -forever, forever);
    }
  }

  /// Where pieces pass through on their way from the host, or lie all the time.
  void add_input() {
    const auto [images, labels] = plan::input_pieces(plan_, rank_);
    if (has_resident_input()) {
      for (const plan::InputPiece& piece : plan::resident_pieces(images)) {
        hold(MemoryCategory::activations, sizes_.image_bytes(plan_.spec.precision, plan::samples_of(plan_, piece)),
             -forever, forever);
      }
      for (const auto* pieces : {&images, &labels}) {
        for (const plan::InputPiece& piece : plan::resident_pieces(*pieces))
          hold(MemoryCategory::activations, sizes_.label_bytes(plan::samples_of(plan_, piece)), -forever, forever);
      }
      return;
    }
    const auto add_slots = [this](std::int64_t bytes) {
      for (int slot = 0; slot < plan::upload_slots; ++slot)
        hold(MemoryCategory::communication, bytes, -forever, forever, MemorySource::copy_stream);
    };
    add_slots(sizes_.loaded_bytes(plan::most_samples(plan_, images)));
    add_slots(sizes_.label_bytes(plan::most_samples(plan_, images)));
    add_slots(sizes_.label_bytes(plan::most_samples(plan_, labels)));
  }

  void add(const plan::Op& op, const plan::Span& span) {
    if (plan_.spec.graph && !has_resident_input() && op.kind == plan::OpKind::forward && op.segment == SegmentId(0))
      add_fixed_images(op, span);
    switch (op.kind) {
      case plan::OpKind::forward: return op.discards ? add_discarding(op, span) : add_forward(op, span);
      case plan::OpKind::recompute: return add_forward(op, span);
      case plan::OpKind::backward:
      case plan::OpKind::backward_input:
      case plan::OpKind::backward_weight: return add_backward(op, span);
      case plan::OpKind::receive:
        if (op.payload == plan::Payload::gradients) return add_pushed(op, span);
        if (op.payload == plan::Payload::parameters) return;  // where the weights lie
        if (op.payload == plan::Payload::activation_gradient) return add_gradient(op, span);
        return op.port == 0 ? add_input(op, span) : add_skip(op, span);
      case plan::OpKind::encode: return add_selection(op, span);
      case plan::OpKind::send:  // the graph holds an output anyway, a gradient is held since the backward that made it
      case plan::OpKind::norms:
      case plan::OpKind::update:
      case plan::OpKind::add:
      case plan::OpKind::average:
      case plan::OpKind::project:
      case plan::OpKind::decode:
      case plan::OpKind::all_reduce:  // all in place
      case plan::OpKind::reduce_scatter:
      case plan::OpKind::all_gather:
      case plan::OpKind::broadcast: return;
    }
  }

  /// The magnitudes among which top-k selects, of a tensor at a time; other encodes need no room.
  void add_selection(const plan::Op& encode, const plan::Span& span) {
    if (compression(plan_.spec).kind != CompressionKind::topk) return;
    std::int64_t largest = 0;
    for (int s = encode.segment.value; s < encode.segment.value + encode.segments; ++s) {
      const plan::Segment& segment = plan_.segments[s];
      for (int layer = segment.first_layer; layer < segment.first_layer + segment.layers; ++layer)
        largest = std::max(largest, sizes_.largest_parameter_bytes(plan_.spec.precision, layer));
    }
    hold(MemoryCategory::workspace, largest, span.start, span.end);
  }

  /// Where some gradients come too late: all of them lie there until others take their place.
  void find_dropped() {
    for (std::size_t l = 0; l < program().lanes.size(); ++l) {
      const plan::Lane& lane = program().lanes[l];
      if (lane.key.kind != plan::LaneKind::receive || lane.key.purpose != plan::Payload::gradients) continue;
      for (std::size_t i = 0; i < lane.ops.size(); ++i)
        pushed_until_[{lane.ops[i].segment, lane.ops[i].step, lane.ops[i].peer}] =
            i + 1 < lane.ops.size() ? spans_[l][i + 1].start : forever;
    }
  }

  /// Gradients that a server received, until it has added them.
  void add_pushed(const plan::Op& receive, const plan::Span& span) {
    hold(MemoryCategory::communication, sizes_.payload_bytes(plan_, rank_, receive), span.start,
         pushed_until_.at({receive.segment, receive.step, receive.peer}), MemorySource::communication_stream);
  }

  /// A received activation.
  void add_input(const plan::Op& op, const plan::Span& span) {
    const std::int64_t bytes = payload_bytes(op);
    const plan::Span* forward = find(plan::OpKind::forward, op);
    if (!forward) return;
    const plan::Span* input_gradient = find_input_gradient(op);
    hold(MemoryCategory::communication, bytes, span.start, forward->start, MemorySource::communication_stream);
    hold(MemoryCategory::activations, bytes, forward->start, (input_gradient ? input_gradient : forward)->end,
         MemorySource::communication_stream);
  }

  /// A received skip.
  void add_skip(const plan::Op& op, const plan::Span& span) {
    const std::int64_t bytes = sizes_.payload_bytes(plan_, rank_, op);
    const plan::Span* forward = find(plan::OpKind::forward, op);
    if (!forward) return;
    hold(MemoryCategory::communication, bytes, span.start, forward->start, MemorySource::communication_stream);
    hold(MemoryCategory::activations, bytes, forward->start, skips_.taken_until(op, plan_.skips[op.port - 1].tensor),
         MemorySource::communication_stream);
  }

  /// What a forward without a graph makes for other segments: until these have run their backwards, and it is sent.
  void add_made_skips(const plan::Op& op, const plan::Span& span, double output_until) {
    int before = -1;
    for (const int port : ports_.leaving[op.segment.value]) {
      const int tensor = plan_.skips[port - 1].tensor;
      if (std::exchange(before, tensor) == tensor) continue;
      const Sizes::SkipMemory memory = sizes_.skip_memory(plan_, op.segment, tensor);
      if (memory == Sizes::SkipMemory::input) continue;  // held for the recompute anyway
      double until = skips_.taken_until(op, tensor);
      for (int same = port; same > 0 && same <= std::ssize(plan_.skips) && plan_.skips[same - 1].tensor == tensor;
           ++same)
        until = std::max(until, skips_.sent_until(plan::Payload::activation, op, same));
      const double from = memory == Sizes::SkipMemory::output ? std::max(span.end, output_until) : span.end;
      hold(MemoryCategory::activations, sizes_.skip_bytes(plan_, rank_, op, tensor), from, until);
    }
  }

  /// The gradients of what a segment took: until the backward of the segment that made it, or until they are sent.
  /// Those of several takers are added to that of the last, whose backward runs first.
  void add_skip_gradients(const plan::Op& op, const plan::Span& span) {
    for (const int port : ports_.entering[op.segment.value]) {
      const plan::SkipPort& skip = plan_.skips[port - 1];
      double until = -forever;
      bool is_first = true;
      if (skips_.computes_here(op, skip.from)) until = find_input_gradient(op, skip.from.value - op.segment.value)->end;
      for (int other = 1; other <= std::ssize(plan_.skips); ++other) {
        const plan::SkipPort& same = plan_.skips[other - 1];
        if (same.tensor != skip.tensor || !skips_.computes_here(op, same.to)) continue;
        is_first = is_first && same.to <= skip.to;
        plan::Op taker = op;
        taker.segment = same.to;
        until = std::max(until, skips_.sent_until(plan::Payload::activation_gradient, taker, other));
      }
      if (is_first) hold(MemoryCategory::workspace, sizes_.skip_bytes(plan_, rank_, op, skip.tensor), span.end, until);
    }
  }

  /// A received gradient.
  void add_gradient(const plan::Op& op, const plan::Span& span) {
    const plan::Span* taker = find_input_gradient(op);
    hold(MemoryCategory::communication, payload_bytes(op), span.start, (taker ? taker : &span)->end,
         MemorySource::communication_stream);
  }

  void add_forward(const plan::Op& op, const plan::Span& span) {
    const std::int64_t saved = saved_bytes(op);
    const plan::Span* input_gradient = find_input_gradient(op);
    const double until = (input_gradient ? input_gradient : &span)->end;
    if (on_gpu()) {
      hold_tensors(MemoryCategory::activations, saved, sizes_.made_tensors(plan_, rank_, op), span.start, until);
    } else {
      hold(MemoryCategory::activations, saved, span.start, until);
    }
    hold(MemoryCategory::activations, peak_bytes(op), span.start, span.end);
    if (const plan::Span* weights = find(plan::OpKind::backward_weight, op); weights && input_gradient) {
      const auto ask = [&] { return sizes_.kept_for_weights(plan_, rank_, op); };
      hold(MemoryCategory::activations, bytes(Of::for_weights, op, ask), input_gradient->end, weights->end);
    }
  }

  /// A captured step reads its images where they always lie: they are there before their forward and after their
  /// backward as well.
  void add_fixed_images(const plan::Op& op, const plan::Span& forward) {
    const auto& ops = program().compute();
    const auto begin = std::ranges::lower_bound(ops, op.step, {}, &plan::Op::step);
    const auto end = std::ranges::upper_bound(ops, op.step, {}, &plan::Op::step);
    const plan::Span& first = spans_[plan::compute_lane][begin - ops.begin()];
    const plan::Span& last = spans_[plan::compute_lane][end - ops.begin() - 1];
    const std::int64_t bytes = sizes_.image_bytes(plan_, rank_, op);
    hold(MemoryCategory::activations, bytes, first.start, forward.start);
    const plan::Span* backward = find_input_gradient(op);
    hold(MemoryCategory::activations, bytes, (backward ? backward : &forward)->end, last.end);
  }

  /// A forward without a graph: images wait for the recompute, whose graph has them, the output for its taker.
  void add_discarding(const plan::Op& op, const plan::Span& span) {
    const plan::Span* again = find(plan::OpKind::recompute, op);
    if (again && op.segment == SegmentId(0) && !has_resident_input()) {
      hold(MemoryCategory::activations, sizes_.image_bytes(plan_, rank_, op), span.start, again->start);
    }
    hold(MemoryCategory::activations, sizes_.temporary_bytes(plan_, rank_, op), span.start, span.end);
    // The next segment's recompute reads it here, or its owner has its own copy.
    const plan::Span* taker = find_input_gradient(op, +1);
    if (!taker) taker = find_send(plan::Payload::activation, op);
    if (taker) hold(MemoryCategory::activations, sizes_.output_bytes(plan_, rank_, op), span.end, taker->end);
    add_made_skips(op, span, taker ? taker->end : span.end);
  }

  void add_backward(const plan::Op& op, const plan::Span& span) {
    const std::int64_t temporaries = peak_bytes(op);
    if (on_gpu()) {
      // Most of them are the gradients on both sides of one operation.
      hold_tensors(MemoryCategory::workspace, temporaries, std::array<std::int64_t, 2>{1, 1}, span.start, span.end);
    } else {
      hold(MemoryCategory::workspace, temporaries, span.start, span.end);
    }
    if (plan::makes_input_gradient(op.kind)) {
      const plan::Span* taker = find_input_gradient(op, -1);
      if (!taker) taker = find_send(plan::Payload::activation_gradient, op);
      const auto ask = [&] { return sizes_.input_bytes(plan_, rank_, op); };
      if (taker) hold(MemoryCategory::workspace, bytes(Of::input, op, ask), span.end, taker->end);
      add_skip_gradients(op, span);
    }
    if (plan::makes_weight_gradient(op.kind) && !op.accumulates && !has_gradient_arena()) hold_gradients(op, span.end);
  }

  /// The updates of each segment in their order, and which passes start the gradients of a tensor that two segments of
  /// the rank share: those before which no other one made any since the last update.
  void find_updates() {
    updates_.resize(plan_.segments.size());
    const std::optional<plan::TiedSegments>& tie = plan_.tie;
    bool started = false;
    const auto& ops = program().compute();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const plan::Op& op = ops[i];
      if (op.kind == plan::OpKind::update) {
        for (int s = 0; s < op.segments; ++s) updates_[op.segment.value + s].push_back(&spans_[plan::compute_lane][i]);
      }
      if (!tie) continue;
      if (op.kind == plan::OpKind::update && op.segment <= tie->original &&
          tie->original.value < op.segment.value + op.segments)
        started = false;
      if (!plan::makes_weight_gradient(op.kind) || (op.segment != tie->original && op.segment != tie->copy)) continue;
      if (!std::exchange(started, true)) starts_tied_.insert(&op);
    }
  }

  /// The end of the first update of a segment that comes after `from`.
  double updated_after(SegmentId segment, double from) const {
    const auto& updates = updates_[segment.value];
    const auto first = std::ranges::lower_bound(updates, from, {}, &plan::Span::start);
    return first == updates.end() ? spans_[plan::compute_lane].back().end : (*first)->end;
  }

  /// Until the first update of the segment after it.
  void hold_gradients(const plan::Op& starting, double from) {
    std::int64_t bytes = sizes_.parameter_bytes(plan_, starting.segment, 1);
    std::vector<std::int64_t> tensors;
    if (on_gpu()) tensors = sizes_.parameter_tensors(plan_, starting.segment);
    const std::optional<plan::TiedSegments>& tie = plan_.tie;
    const bool shares = tie && tie->shared && tie->original != tie->copy &&
                        (starting.segment == tie->original || starting.segment == tie->copy);
    if (shares) {
      const std::int64_t tied = sizes_.tied_bytes(plan_.spec.precision);
      if (starting.segment == tie->original) {
        bytes -= tied;
        if (on_gpu()) tensors.erase(std::ranges::find(tensors, sizes_.tied_tensor_bytes(plan_.spec.precision)));
      }
      if (starts_tied_.contains(&starting))
        hold(MemoryCategory::gradients, tied, from, updated_after(tie->original, from));
    }
    const double until = updated_after(starting.segment, from);
    if (on_gpu()) {
      hold_tensors(MemoryCategory::gradients, bytes, tensors, from, until);
    } else {
      hold(MemoryCategory::gradients, bytes, from, until);
    }
  }

  const plan::Plan& plan_;
  const Sizes& sizes_;
  const MemoryModel& memory_;
  Rank rank_;
  plan::PortsOfSegments ports_;
  const std::vector<std::vector<plan::Span>>& spans_;  ///< [lane][index]
  PassSpans passes_;
  SkipSpans skips_;
  AskedBytes asked_;
  std::map<std::tuple<SegmentId, StepId, Rank>, double> pushed_until_;  ///< on a server, by run and worker
  std::vector<std::vector<const plan::Span*>> updates_;                 ///< by segment
  std::unordered_set<const plan::Op*> starts_tied_;
  std::vector<Allocation> allocations_;
};

}  // namespace

std::vector<Allocation> allocations(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                                    const plan::Timeline& timeline, Rank rank) {
  return Ledger(plan, sizes, memory, timeline, rank).allocations();
}

}  // namespace parabench::analytic
