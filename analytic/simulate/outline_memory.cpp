#include "analytic/simulate/outline_memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "analytic/memory/peak_memory.h"
#include "analytic/memory/resident.h"
#include "parallelism/plan/dependencies.h"

namespace parabench::analytic {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The first instant after which the sum over `totals` of what has happened is highest. Lanes are in order, and end
/// with an event that never happens. Before any event the sum is 0; nullopt where it is never above.
template <class Lanes>
std::optional<double> highest_at(const Lanes& lanes, const std::vector<std::int64_t>& totals) {
  std::vector<const typename Lanes::value_type::value_type*> next = {lanes.front().data()};
  for (std::size_t l = 1; l < lanes.size(); ++l)
    if (lanes[l].size() > 1) next.push_back(lanes[l].data());
  std::int64_t total = 0, most = 0;
  std::optional<double> at;
  const auto pass = [&](auto*& event, double time) {
    for (; event->time == time; ++event) total += totals[event->change];
  };
  const auto compare = [&](double time) {
    if (total <= most) return;
    most = total;
    at = time;
  };
  for (;;) {
    double others = never;
    for (std::size_t l = 1; l < next.size(); ++l) others = std::min(others, next[l]->time);
    while (next.front()->time < others) {
      const double time = next.front()->time;
      pass(next.front(), time);
      compare(time);
    }
    if (others == never) return at;
    for (auto*& event : next) pass(event, others);
    compare(others);
  }
}

/// Of a step, in their order: the stage that receives, its micro-batch, and when it came.
template <class Visit>
void for_each_message(const plan::PipelineOutline& outline, const MessageLane& lane, const SweptStep& step,
                      Visit visit) {
  const auto pieces = static_cast<std::size_t>(plan::micro_batches(outline.plan));
  const auto& came = (lane.forwards ? step.activations : step.gradients).came;
  const auto is_stage = [](int from) { return from >= 0; };
  if (std::ranges::count_if(lane.from_chunks, is_stage) == 1) {
    // Every stage has its micro-batches in rising order.
    const int stage = *std::ranges::find_if(lane.from_chunks, is_stage) + (lane.forwards ? 1 : -1);
    for (std::size_t m = 0; m < pieces; ++m) visit(stage, static_cast<int>(m), came[stage * pieces + m]);
    return;
  }
  for (const plan::StagePass& pass : outline.orders[lane.sender]) {
    const int stage = receiving_stage(lane, pass), m = pass.micro_batch;
    if (stage >= 0) visit(stage, m, came[stage * pieces + m]);
  }
}

/// Whether any message of the lane changes what is held.
template <class ChangeOf>
bool changes_any(const MessageLane& lane, const MicroBatchKinds& kinds, const std::vector<char>& changes,
                 ChangeOf change_of) {
  for (const int from : lane.from_chunks) {
    for (int kind = 0; from >= 0 && kind < std::ssize(kinds.first()); ++kind)
      if (changes[change_of(from + (lane.forwards ? 1 : -1), kind)]) return true;
  }
  return false;
}

}  // namespace

OutlineMemory::OutlineMemory(const plan::PipelineOutline& outline, const SweptPipeline& swept, const Sizes& sizes,
                             const MemoryModel& memory)
    : outline_(outline),
      swept_(swept),
      sizes_(sizes),
      memory_(memory),
      kinds_(outline),
      lanes_of_(outline.orders.size()),
      process_bytes_(memory.process_bytes(outline.plan)),
      window_(outline.plan) {
  timeline_.ranks.resize(window_.ranks.size());
  for (int lane = 0; lane < std::ssize(swept.lanes); ++lane) {
    lanes_of_[swept.lanes[lane].sender].push_back(lane);
    lanes_of_[swept.lanes[lane].receiver].push_back(lane);
  }
  std::set<int> first(kinds_.first().begin(), kinds_.first().end());
  for (Rank rank; rank.value < std::ssize(outline.orders); ++rank) {
    if (!splits_some(outline, rank)) continue;
    const MicroBatchKinds own(outline, rank);
    first.insert(own.first().begin(), own.first().end());
  }
  first_passes_ = plan::passes_of(outline, {first.begin(), first.end()});
}

MemoryUsage OutlineMemory::of(Rank rank, std::span<const SweptOp> ops) {
  const bool remembers = outline_.plan.spec.device == DeviceKind::cuda;
  MemoryUsage usage = remembers                     ? by_operations(rank, ops)
                      : splits_some(outline_, rank) ? by_kinds(rank, ops, MicroBatchKinds(outline_, rank))
                                                    : by_kinds(rank, ops, kinds_);
  usage.resident = resident_bytes(outline_.plan, sizes_, process_bytes_, rank, usage);
  window_.ranks[rank.value] = plan::RankProgram(outline_.plan.ranks[rank.value]);  // moved, lest lanes keep their room
  timeline_.ranks[rank.value].clear();
  return usage;
}

MemoryUsage OutlineMemory::by_kinds(Rank rank, std::span<const SweptOp> ops, const MicroBatchKinds& kinds) {
  const HeldAtMoments held(outline_, sizes_, memory_, rank, kinds,
                           plan::written_program(outline_, rank, kinds.first(), first_passes_), window_, timeline_);
  std::vector<std::int64_t> totals;
  std::vector<char> changes;
  for (const Change& change : held.changes()) {
    totals.push_back(change.total);
    changes.push_back(!change.is_none());
  }
  events_.resize(1 + lanes_of_[rank.value].size());
  for (std::vector<Event>& lane : events_) lane.clear();
  std::vector<double> repeats(events_.size(), never);  // when the first event of a lane comes again, where too soon
  const Moments& moments = held.moments();
  // What changes nothing is written over by what comes next.
  std::vector<Event>& own = events_.front();
  own.resize(2 * ops.size() + 1);
  Event* next = own.data();
  const auto add = [&](double time, int change) {
    *next = {time, change};
    next += changes[change];
  };
  for (const SweptOp& op : ops) {
    if (op.kind == plan::OpKind::update) {
      add(op.span.end, held.place(0, moments.update(op.place)));
      continue;
    }
    const int begins = held.place(kinds.of(op.micro_batch), moments.pass(op.kind, op.place, false));
    add(op.span.start, begins);
    add(op.span.end, begins + 1);
  }
  own.resize(next - own.data());
  const std::vector<int> chunks = chunks_of(outline_, rank);
  for (std::size_t l = 1; l < events_.size(); ++l) {
    const MessageLane& lane = swept_.lanes[lanes_of_[rank.value][l - 1]];
    const bool sends = lane.sender == rank.value;
    const auto change_of = [&](int stage, int kind) {
      const int here = sends ? stage + (lane.forwards ? -1 : 1) : stage;
      return held.place(kind, moments.message(sends, lane.forwards, chunks[here]));
    };
    if (!changes_any(lane, kinds, changes, change_of)) continue;
    events_[l].resize(swept_.steps.size() * outline_.orders[lane.sender].size() + 1);
    next = events_[l].data();
    double posted = 0;
    for (const SweptStep& step : swept_.steps) {
      for_each_message(outline_, lane, step, [&](int stage, int m, double came) {
        add(sends ? came : posted, change_of(stage, kinds.of(m)));
        posted = came;
      });
    }
    events_[l].resize(next - events_[l].data());
    // The first receive of a step is posted once the last one of the step before has come.
    if (!sends && !events_[l].empty() && events_[l].front().time == 0) repeats[l] = posted;
  }
  if (swept_.period) repeat_until_known(repeats);
  for (std::vector<Event>& lane : events_) lane.push_back({never, 0});
  return usage_at(highest_at(events_, totals), held);
}

void OutlineMemory::repeat_until_known(const std::vector<double>& repeats) {
  double known = *swept_.period;
  for (std::size_t l = 0; l < events_.size(); ++l) {
    if (!events_[l].empty()) known = std::max(known, events_[l].back().time);
    if (repeats[l] < never) known = std::max(known, repeats[l]);
  }
  for (std::size_t l = 0; l < events_.size(); ++l) {
    const std::size_t once = events_[l].size();
    for (std::size_t i = 0; i < once; ++i) {
      const bool is_early = i == 0 && repeats[l] < never;
      const Event again{is_early ? repeats[l] : events_[l][i].time + *swept_.period, events_[l][i].change};
      if (again.time > known) break;
      events_[l].push_back(again);
    }
  }
}

MemoryUsage OutlineMemory::usage_at(std::optional<double> instant, const HeldAtMoments& held) const {
  MemoryUsage usage;
  const auto apply = [&](const Change& change, std::int64_t times) {
    for (std::size_t c = 0; c < change.category.size(); ++c) usage.category[c] += times * change.category[c];
  };
  apply(held.always(), 1);
  if (!instant) return usage;
  std::vector<std::int64_t> times(held.changes().size(), 0);
  for (const std::vector<Event>& lane : events_)
    for (const Event* event = lane.data(); event->time <= *instant; ++event) ++times[event->change];
  for (std::size_t change = 0; change < times.size(); ++change) apply(held.changes()[change], times[change]);
  return usage;
}

MemoryUsage OutlineMemory::by_operations(Rank rank, std::span<const SweptOp> ops) {
  const plan::RankProgram once = plan::written_program(outline_, rank);
  const int pieces = plan::micro_batches(outline_.plan);
  // Of a period two steps: what the allocator of the second one finds is what all others find.
  window_.steps = swept_.period ? 2 : static_cast<int>(swept_.steps.size());
  plan::RankProgram& program = window_.ranks[rank.value];
  program = once;
  auto& spans = timeline_.ranks[rank.value];
  for (std::size_t l = 0; l < once.lanes.size(); ++l) {
    program.lanes[l].ops.clear();
    auto& lane = spans.emplace_back();
    double posted = 0;
    for (int step = 0; step < window_.steps; ++step) {
      const SweptStep& swept = swept_.steps[swept_.period ? 0 : step];
      const double later = swept_.period ? step * *swept_.period : 0;
      if (l == plan::compute_lane && (swept_.period || step == 0)) {
        for (const SweptOp& op : ops)
          lane.push_back({op.span.queued + later, op.span.start + later, op.span.end + later});
      }
      for (plan::Op op : once.lanes[l].ops) {
        if (l != plan::compute_lane) {
          const bool sends = op.kind == plan::OpKind::send;
          const Arrivals& arrivals = op.payload == plan::Payload::activation ? swept.activations : swept.gradients;
          const int stage = sends ? plan::other_segment(op, {}).value : op.segment.value;
          const std::size_t there = static_cast<std::size_t>(stage) * pieces + op.micro_batch.value;
          // Of sends the end counts.
          lane.push_back({.queued = posted, .start = posted, .end = arrivals.came[there] + later});
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
