#include "analytic/simulate/predict_outline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/pipeline_sweep.h"
#include "analytic/simulate/step_parts.h"
#include "analytic/simulate/terms.h"
#include "base/statistics.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/strategies/pipeline.h"

namespace parabench::analytic {
namespace {

/// What one rank does over the steps of a sweep, operation by operation.
class RankHistory {
 public:
  RankHistory(const plan::PipelineOutline& outline, const SweptPipeline& swept, Rank rank)
      : swept_(swept),
        seconds_(swept.seconds[rank.value]),
        micro_batches_(plan::micro_batches(outline.plan)),
        pieces_(outline.plan.pieces.front()),
        once_(plan::written_program(outline, rank)),
        chunk_(outline.plan.stages, -1) {
    const int devices = static_cast<int>(outline.orders.size());
    for (int chunk = 0; chunk < std::ssize(once_.holds); ++chunk)
      chunk_[plan::stage_of_chunk(outline.stages, devices, rank.value, chunk).value] = chunk;
  }

  /// The rank's lanes and spans in a window of all steps, and its breakdown over the measured ones.
  Breakdown write(plan::RankProgram& program, std::vector<std::vector<plan::Span>>& spans) {
    program = once_;
    for (plan::Lane& lane : program.lanes) lane.ops.clear();
    spans.resize(program.lanes.size());
    for (std::size_t l = 0; l < program.lanes.size(); ++l) {
      const std::size_t size = once_.lanes[l].ops.size() * swept_.steps.size();
      program.lanes[l].ops.reserve(size);
      spans[l].reserve(size);
    }
    for (int step = 0; step < std::ssize(swept_.steps); ++step) {
      for (std::size_t l = 0; l < program.lanes.size(); ++l) {
        for (plan::Op op : once_.lanes[l].ops) {
          op.step.value += step;
          if (plan::has_version(op)) op.version.value += step;
          program.lanes[l].ops.push_back(op);
          spans[l].push_back(l == plan::compute_lane ? computed(op, step, spans[l]) : moved(op, step, spans[l]));
        }
      }
    }
    const int measured = static_cast<int>(swept_.steps.size()) - swept_.discarded;
    for (const auto& [name, part] : breakdown_fields) breakdown_.*part /= measured;
    return breakdown_;
  }

 private:
  std::size_t place(int stage, const plan::Op& op) const {
    return static_cast<std::size_t>(stage) * micro_batches_ + op.micro_batch.value;
  }

  plan::Span computed(const plan::Op& op, int step, const std::vector<plan::Span>& before) {
    plan::Span span{.queued = before.empty() ? 0 : before.back().end};
    span.start = span.queued;
    const SweptStep& swept = swept_.steps[step];
    const int stage = op.segment.value;
    const Arrivals* awaited = nullptr;
    if (op.kind == plan::OpKind::forward) awaited = &swept.activations;
    if (plan::makes_input_gradient(op.kind)) awaited = &swept.gradients;
    const bool counts = step >= swept_.discarded;
    // What the rank made itself has no arrival, and comparing with it is false.
    if (awaited && awaited->came[place(stage, op)] > span.queued) {
      span.start = awaited->came[place(stage, op)];
      const double split = std::min(std::max(span.queued, awaited->made[place(stage, op)]), span.start);
      if (counts) breakdown_.bubble += split - span.queued;
      if (counts) breakdown_.communication_exposed += span.start - split;
    }
    const double seconds =
        op.kind == plan::OpKind::update
            ? seconds_.updates[updated_++ % seconds_.updates.size()]
            : seconds_.of(op.kind, chunk_[stage], pieces_[op.micro_batch.value] < pieces_.front(), op.accumulates);
    span.end = span.start + seconds;
    if (counts) part_of(op.kind) += span.end - span.start;
    return span;
  }

  double& part_of(plan::OpKind kind) {
    if (kind == plan::OpKind::forward) return breakdown_.forward;
    if (kind == plan::OpKind::recompute) return breakdown_.recompute;
    return kind == plan::OpKind::update ? breakdown_.update : breakdown_.backward;
  }

  /// Of a message: at its receiver's end by its segment, at its sender's by the one at the other end.
  plan::Span moved(const plan::Op& op, int step, const std::vector<plan::Span>& before) const {
    const SweptStep& swept = swept_.steps[step];
    const Arrivals& arrivals = op.payload == plan::Payload::activation ? swept.activations : swept.gradients;
    const bool sends = op.kind == plan::OpKind::send;
    const int stage = sends ? plan::other_segment(op, {}).value : op.segment.value;
    plan::Span span{.queued = before.empty() ? 0 : before.back().end};
    span.start = sends ? std::max(span.queued, arrivals.made[place(stage, op)]) : span.queued;
    span.end = arrivals.came[place(stage, op)];
    return span;
  }

  const SweptPipeline& swept_;
  const RankSeconds& seconds_;
  int micro_batches_;
  const std::vector<int>& pieces_;
  plan::RankProgram once_;
  std::vector<int> chunk_;  ///< by stage
  std::size_t updated_ = 0;
  Breakdown breakdown_;
};

double median_step(const SweptPipeline& swept) {
  std::vector<double> seconds;
  for (std::size_t i = swept.discarded; i < swept.steps.size(); ++i)
    seconds.push_back(swept.steps[i].completed - (i == 0 ? 0 : swept.steps[i - 1].completed));
  return median(seconds);
}

}  // namespace

Predicted predict_outline(plan::PipelineOutline outline, const Sizes& sizes, const TimeModel& time,
                          const MemoryModel& memory, int warmup, int steps) {
  const SweptPipeline swept = sweep(outline, time, plan::window(outline.plan, warmup, steps));
  const plan::Plan& plan = outline.plan;
  Predicted result;
  result.step_time_s = median_step(swept);
  result.isolated_step_time_s = swept.steps.front().completed;
  if (result.step_time_s > 0) result.throughput_samples_per_s = plan::trained_samples(plan) / result.step_time_s;
  result.interval_s = {result.step_time_s, result.step_time_s};
  plan::Plan window = plan;
  window.steps = static_cast<int>(swept.steps.size());
  plan::Timeline timeline;
  timeline.ranks.resize(plan.ranks.size());
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank) {
    plan::RankProgram program;
    std::vector<std::vector<plan::Span>> spans;
    const Breakdown parts = RankHistory(outline, swept, rank).write(program, spans);
    std::swap(window.ranks[rank.value], program);
    std::swap(timeline.ranks[rank.value], spans);
    result.ranks.push_back(
        {.rank = rank, .peak_memory = peak_memory(window, sizes, memory, timeline, rank), .breakdown_s = parts});
    std::swap(window.ranks[rank.value], program);
    std::swap(timeline.ranks[rank.value], spans);
  }
  const Rank busiest = busiest_rank(result.ranks);
  window = plan;
  window.ranks[busiest.value] = plan::written_program(outline, busiest);
  result.step_parts = step_parts(window, time, busiest);
  result.terms = terms_of(plan, sizes, time, memory, result.ranks, result.step_time_s);
  result.second_opinion_step_time_s = second_opinions(plan, sizes, time);
  return result;
}

}  // namespace parabench::analytic
