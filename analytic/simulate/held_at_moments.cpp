#include "analytic/simulate/held_at_moments.h"

#include <cmath>
#include <utility>

#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/strategies/pipeline.h"

namespace parabench::analytic {
namespace {

constexpr int none = -1;

}  // namespace

std::vector<int> chunks_of(const plan::PipelineOutline& outline, Rank rank) {
  std::vector<int> chunks(outline.plan.stages, none);
  const int devices = static_cast<int>(outline.orders.size());
  for (int chunk = 0; chunk < std::ssize(outline.plan.ranks[rank.value].holds); ++chunk)
    chunks[plan::stage_of_chunk(outline.stages, devices, rank.value, chunk).value] = chunk;
  return chunks;
}

HeldAtMoments::HeldAtMoments(const plan::PipelineOutline& outline, const Sizes& sizes, const MemoryModel& memory,
                             Rank rank, const MicroBatchKinds& kinds, plan::RankProgram once, plan::Plan& window,
                             plan::Timeline& timeline)
    : moments_{.chunks = static_cast<int>(outline.plan.ranks[rank.value].holds.size())},
      changes_(kinds.first().size() * moments_.count()) {
  plan::RankProgram& program = window.ranks[rank.value];
  program = std::move(once);
  window.steps = 1;
  auto& spans = timeline.ranks[rank.value];
  spans.clear();
  for (const plan::Lane& lane : program.lanes) spans.emplace_back(lane.ops.size());
  const std::vector<int> chunks = chunks_of(outline, rank);

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
        const int moment = moments_.message(sends, forwards, chunks[pass.segment.value]);
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
    span.start = number(op, is_pass ? moments_.pass(op.kind, chunk, false) : none);
    span.end = number(op, is_pass ? moments_.pass(op.kind, chunk, true) : moments_.update(updates++));
    if (exchanges) message(op, true);
  }
  for (const Allocation& a : allocations(window, sizes, memory, timeline, rank)) {
    if (std::isinf(a.from) && std::isinf(a.until)) {
      always_.add(a, 1);
      continue;
    }
    const auto [kind, moment] = places[static_cast<std::size_t>(a.from)];
    const auto [last_kind, last_moment] = places[static_cast<std::size_t>(a.until)];
    changes_[place(kind, moment)].add(a, 1);
    changes_[place(last_kind, last_moment)].add(a, -1);
  }
}

}  // namespace parabench::analytic
