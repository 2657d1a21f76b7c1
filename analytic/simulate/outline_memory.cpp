#include "analytic/simulate/outline_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "analytic/memory/allocations.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/memory/resident.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/strategies/pipeline.h"

namespace parabench::analytic {
namespace {

constexpr int none = -1;

/// Moments of a micro-batch on a rank: the begin and the end of each kind of pass of a chunk, the post of a receive and
/// the end of a send for it; and the end of the updates.
struct Moments {
  int chunks = 1;
  static constexpr int kinds = RankSeconds::kinds;
  int pass(plan::OpKind kind, int chunk, bool ends) const {
    return (chunk * kinds + static_cast<int>(kind)) * 2 + ends;
  }
  int message(bool sends, bool forwards, int chunk) const {
    return chunks * kinds * 2 + (chunk * 2 + sends) * 2 + forwards;
  }
  int update(int place) const { return chunks * (kinds * 2 + 4) + place; }
  int count() const { return update(chunks); }
};

/// Bytes that come or go at a moment.
struct Change {
  std::int64_t total = 0;
  std::array<std::int64_t, enum_names<MemoryCategory>.size()> category{};
  void add(const Allocation& a) {
    total += a.bytes;
    category[static_cast<int>(a.category)] += a.bytes;
  }
};
struct Held {
  Change ends, begins;
};

/// Schedules that split some backwards alone have two chunks; of more than this all do, or none.
constexpr int last = 60;

/// Which micro-batches hold the same: by samples, whether they start gradients, and which backwards run in which way.
class Kinds {
 public:
  Kinds(const plan::PipelineOutline& outline, Rank rank) {
    const std::vector<int>& pieces = outline.plan.pieces.front();
    const bool leaves_out_last = outline.plan.spec.recompute == Recompute::except_last;
    std::vector<std::uint64_t> keys(pieces.size());
    for (std::size_t m = 0; m < pieces.size(); ++m) {
      keys[m] = (m == 0) | (pieces[m] < pieces.front()) << 1 | (leaves_out_last && m + 1 == pieces.size()) << 2;
    }
    for (const plan::StagePass& pass : outline.orders[rank.value])
      if (pass.kind == plan::OpKind::backward) keys[pass.micro_batch] |= std::uint64_t{8} << std::min(pass.chunk, last);
    std::map<std::uint64_t, int> known;
    for (std::size_t m = 0; m < keys.size(); ++m) {
      if (m > 0 && keys[m] == keys[m - 1]) {
        of_.push_back(of_.back());
        continue;
      }
      const auto [kind, is_new] = known.try_emplace(keys[m], static_cast<int>(known.size()));
      if (is_new) first_.push_back(static_cast<int>(m));
      of_.push_back(kind->second);
    }
  }

  int of(int micro_batch) const { return of_[micro_batch]; }
  const std::vector<int>& first() const { return first_; }  ///< micro-batch of each kind, ascending

 private:
  std::vector<int> of_, first_;
};

/// What micro-batches of each kind hold: allocations() of a rank that has one of each, every moment of whose operations
/// is a number of its own.
class Holdings {
 public:
  /// `window`, `timeline`: of the outline, where those of the rank are put.
  Holdings(const plan::PipelineOutline& outline, const Sizes& sizes, const MemoryModel& memory, Rank rank,
           const Kinds& kinds, const Moments& moments, plan::Plan& window, plan::Timeline& timeline)
      : held_(kinds.first().size() * moments.count()), moments_(moments.count()) {
    plan::RankProgram& program = window.ranks[rank.value];
    program = plan::written_program(outline, rank, kinds.first());
    window.steps = 1;
    auto& spans = timeline.ranks[rank.value];
    spans.clear();
    for (const plan::Lane& lane : program.lanes) spans.emplace_back(lane.ops.size());
    const int devices = static_cast<int>(outline.orders.size());
    std::vector<int> chunks(outline.plan.stages, none);
    for (int chunk = 0; chunk < std::ssize(program.holds); ++chunk)
      chunks[plan::stage_of_chunk(outline.stages, devices, rank.value, chunk).value] = chunk;

    std::vector<std::pair<int, int>> places;  // by number: kind of micro-batch, moment
    const auto number = [&](const plan::Op& op, int moment) {
      places.emplace_back(op.kind == plan::OpKind::update ? 0 : kinds.of(op.micro_batch.value), moment);
      return static_cast<double>(places.size() - 1);
    };
    const auto message = [&](const plan::Op& pass, bool sends) {
      for (std::size_t l = 1; l < program.lanes.size(); ++l) {
        const plan::LaneKey& key = program.lanes[l].key;
        const bool forwards = pass.kind == plan::OpKind::forward;
        if ((key.kind == plan::LaneKind::send) != sends || (key.purpose == plan::Payload::activation) != forwards)
          continue;
        for (std::size_t i = 0; i < program.lanes[l].ops.size(); ++i) {
          const plan::Op& op = program.lanes[l].ops[i];
          if (op.segment != pass.segment || op.micro_batch != pass.micro_batch) continue;
          const int moment = moments.message(sends, forwards, chunks[pass.segment.value]);
          spans[l][i].start = number(op, sends ? none : moment);
          spans[l][i].end = number(op, sends ? moment : none);
        }
      }
    };
    int updates = 0;
    for (std::size_t i = 0; i < program.compute().size(); ++i) {
      const plan::Op& op = program.compute()[i];
      const bool exchanges = op.kind == plan::OpKind::forward || plan::makes_input_gradient(op.kind);
      if (exchanges) message(op, false);
      plan::Span& span = spans[plan::compute_lane][i];
      const bool is_pass = plan::is_pass(op.kind);
      const int chunk = chunks[op.segment.value];
      span.start = number(op, is_pass ? moments.pass(op.kind, chunk, false) : none);
      span.end = number(op, is_pass ? moments.pass(op.kind, chunk, true) : moments.update(updates++));
      if (exchanges) message(op, true);
    }
    for (const Allocation& a : allocations(window, sizes, memory, timeline, rank)) {
      if (std::isinf(a.from) && std::isinf(a.until)) {
        always_.add(a);
        continue;
      }
      const auto [kind, moment] = places[static_cast<std::size_t>(a.from)];
      const auto [last_kind, last_moment] = places[static_cast<std::size_t>(a.until)];
      at(kind, moment).begins.add(a);
      at(last_kind, last_moment).ends.add(a);
    }
  }

  const Held& at(int kind, int moment) const { return held_[static_cast<std::size_t>(kind) * moments_ + moment]; }
  const Change& always() const { return always_; }

 private:
  Held& at(int kind, int moment) { return held_[static_cast<std::size_t>(kind) * moments_ + moment]; }

  std::vector<Held> held_;
  int moments_;
  Change always_;
};

struct Event {
  double time = 0;
  const Held* held = nullptr;
};

void apply(MemoryUsage& now, const Change& change, int sign) {
  if (change.total == 0) return;
  for (std::size_t c = 0; c < change.category.size(); ++c) now.category[c] += sign * change.category[c];
}

/// Categories at the highest sum over events that come lane by lane, each in order. At one instant what ends goes
/// before what begins comes.
MemoryUsage highest(const std::vector<std::vector<Event>>& lanes, const Change& always) {
  std::vector<std::size_t> next(lanes.size(), 0), at_peak = next;
  std::int64_t total = 0, most = 0;
  for (;;) {
    double time = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < lanes.size(); ++l)
      if (next[l] < lanes[l].size()) time = std::min(time, lanes[l][next[l]].time);
    if (std::isinf(time)) break;
    for (std::size_t l = 0; l < lanes.size(); ++l)
      for (; next[l] < lanes[l].size() && lanes[l][next[l]].time == time; ++next[l])
        total += lanes[l][next[l]].held->begins.total - lanes[l][next[l]].held->ends.total;
    if (total <= most) continue;
    most = total;
    at_peak = next;
  }
  MemoryUsage peak;
  apply(peak, always, 1);
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    for (std::size_t i = 0; i < at_peak[l]; ++i) {
      apply(peak, lanes[l][i].held->ends, -1);
      apply(peak, lanes[l][i].held->begins, 1);
    }
  }
  return peak;
}

}  // namespace

OutlineMemory::OutlineMemory(const plan::PipelineOutline& outline, const SweptPipeline& swept, const Sizes& sizes,
                             const MemoryModel& memory)
    : outline_(outline),
      swept_(swept),
      sizes_(sizes),
      memory_(memory),
      process_bytes_(memory.process_bytes(outline.plan)),
      window_(outline.plan) {
  timeline_.ranks.resize(window_.ranks.size());
}

MemoryUsage OutlineMemory::of(Rank rank, std::span<const SweptOp> ops) {
  const bool remembers = outline_.plan.spec.device == DeviceKind::cuda;
  MemoryUsage usage = remembers ? by_operations(rank, ops) : by_kinds(rank, ops);
  usage.resident = resident_bytes(outline_.plan, sizes_, process_bytes_, rank, usage);
  window_.ranks[rank.value] = outline_.plan.ranks[rank.value];
  timeline_.ranks[rank.value].clear();
  return usage;
}

MemoryUsage OutlineMemory::by_kinds(Rank rank, std::span<const SweptOp> ops) {
  const Moments moments{.chunks = static_cast<int>(outline_.plan.ranks[rank.value].holds.size())};
  const Kinds kinds(outline_, rank);
  const Holdings holdings(outline_, sizes_, memory_, rank, kinds, moments, window_, timeline_);
  const int pieces = plan::micro_batches(outline_.plan), devices = static_cast<int>(outline_.orders.size());
  std::vector<std::vector<Event>> lanes(1);
  const auto add = [](std::vector<Event>& lane, double time, const Held& held) {
    if (held.begins.total != 0 || held.ends.total != 0) lane.push_back({time, &held});
  };
  lanes.front().reserve(2 * ops.size());
  for (const SweptOp& op : ops) {
    if (op.kind == plan::OpKind::update) {
      add(lanes.front(), op.span.end, holdings.at(0, moments.update(op.place)));
      continue;
    }
    const int kind = kinds.of(op.micro_batch);
    add(lanes.front(), op.span.start, holdings.at(kind, moments.pass(op.kind, op.place, false)));
    add(lanes.front(), op.span.end, holdings.at(kind, moments.pass(op.kind, op.place, true)));
  }
  std::vector<int> chunks(outline_.plan.stages, none);
  for (int chunk = 0; chunk < moments.chunks; ++chunk)
    chunks[plan::stage_of_chunk(outline_.stages, devices, rank.value, chunk).value] = chunk;
  for (const MessageLane& lane : swept_.lanes) {
    const bool sends = lane.sender == rank.value;
    if (!sends && lane.receiver != rank.value) continue;
    std::vector<Event>& events = lanes.emplace_back();
    events.reserve(lane.messages.size() * swept_.steps.size());
    double posted = 0;
    for (const SweptStep& step : swept_.steps) {
      const Arrivals& arrivals = lane.forwards ? step.activations : step.gradients;
      for (const auto& [stage, m] : lane.messages) {
        const double came = arrivals.came[static_cast<std::size_t>(stage) * pieces + m];
        const int here = sends ? stage + (lane.forwards ? -1 : 1) : stage;
        add(events, sends ? came : posted,
            holdings.at(kinds.of(m), moments.message(sends, lane.forwards, chunks[here])));
        posted = came;
      }
    }
    if (events.empty()) lanes.pop_back();
  }
  return highest(lanes, holdings.always());
}

MemoryUsage OutlineMemory::by_operations(Rank rank, std::span<const SweptOp> ops) {
  const plan::RankProgram once = plan::written_program(outline_, rank);
  const int pieces = plan::micro_batches(outline_.plan);
  window_.steps = static_cast<int>(swept_.steps.size());
  plan::RankProgram& program = window_.ranks[rank.value];
  program = once;
  auto& spans = timeline_.ranks[rank.value];
  for (std::size_t l = 0; l < once.lanes.size(); ++l) {
    program.lanes[l].ops.clear();
    auto& lane = spans.emplace_back();
    if (l == plan::compute_lane)
      for (const SweptOp& op : ops) lane.push_back(op.span);
    double posted = 0;
    for (int step = 0; step < window_.steps; ++step) {
      for (plan::Op op : once.lanes[l].ops) {
        if (l != plan::compute_lane) {
          const bool sends = op.kind == plan::OpKind::send;
          const Arrivals& arrivals =
              op.payload == plan::Payload::activation ? swept_.steps[step].activations : swept_.steps[step].gradients;
          const int stage = sends ? plan::other_segment(op, {}).value : op.segment.value;
          const std::size_t there = static_cast<std::size_t>(stage) * pieces + op.micro_batch.value;
          lane.push_back({.queued = posted, .start = posted, .end = arrivals.came[there]});  // of sends the end counts
          posted = lane.back().end;
        }
        op.step.value += step;
        if (plan::has_version(op)) op.version.value += step;
        program.lanes[l].ops.push_back(op);
      }
    }
  }
  return peak_memory(window_, sizes_, memory_, timeline_, rank);
}

}  // namespace parabench::analytic
