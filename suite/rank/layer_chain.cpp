#include "suite/rank/layer_chain.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/statistics.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/executor.h"
#include "parallelism/exec/tuning.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/skip_ports.h"
#include "parallelism/plan/strategies/placement.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/ties.h"

namespace parabench::rank {
namespace {

/// Of the case what a layer's time depends on; the keys of its strategy mean nothing to a single rank.
Case alone(const Case& of, int samples) {
  return {.model = of.model,
          .dataset = of.dataset,
          .strategy = {"sequential", {}},
          .batch = samples,
          .precision = of.precision,
          .layout = of.layout,
          .device = of.device,
          .comm = CommKind::threads,
          .threads = threads_of_operation(of),
          .loader = of.loader,
          .input = of.input,
          .optimizer = of.optimizer,
          .lr = 0,
          .momentum = of.momentum,
          .weight_decay = of.weight_decay,
          .seed = of.seed};
}

/// A step of a sequential plan over these segments.
plan::Plan over(plan::Plan step, const std::vector<plan::Segment>& segments, const models::ModelSpec& model) {
  step.segments = segments;
  for (plan::Segment& segment : step.segments) segment.stage = StageId(0);
  step.skips = plan::skip_ports(step.segments, model);
  step.statistics = plan::statistics_segments(step.segments, model);
  step.tie = plan::tied_segments(step, model);
  step.ranks[0].compute().clear();
  for (const plan::OpKind kind : {plan::OpKind::forward, plan::OpKind::backward})
    plan::pass_stage(step, step.ranks[0], kind, StageId(0), MicroBatchId(0), StepId(0), VersionId(0));
  const std::vector<plan::SegmentRun> whole = plan::whole_stages(step);
  return plan::mark_accumulation(plan::add_updates(std::move(step), whole));
}

/// The step of a sequential plan with its backwards split, all W behind all I.
plan::Plan split_backwards(plan::Plan plan) {
  std::vector<plan::Op> ops, weights;
  for (const plan::Op& op : plan.ranks[0].compute()) {
    if (op.kind == plan::OpKind::backward) {
      ops.push_back(plan::pass(plan::OpKind::backward_input, op.segment, op.micro_batch, op.step, op.version));
      weights.push_back(plan::pass(plan::OpKind::backward_weight, op.segment, op.micro_batch, op.step, op.version));
      continue;
    }
    if (op.kind == plan::OpKind::update) ops.insert(ops.end(), weights.begin(), weights.end());
    ops.push_back(op);
  }
  plan.ranks[0].compute() = std::move(ops);
  return plan;
}

/// The same step with a second micro-batch of as many samples behind the first, to whose gradients it adds.
plan::Plan with_second_micro_batch(plan::Plan plan) {
  plan.spec.batch *= 2;
  plan.pieces.front().push_back(plan.pieces.front().front());
  const std::vector<plan::Op> once = std::exchange(plan.ranks[0].compute(), {});
  std::vector<plan::Op>& ops = plan.ranks[0].compute();
  for (MicroBatchId m(0); m.value < 2; ++m)
    for (plan::Op op : once) {
      if (!plan::is_pass(op.kind)) continue;
      op.micro_batch = m;
      op.accumulates = m.value > 0 && plan::makes_weight_gradient(op.kind);
      ops.push_back(op);
    }
  std::ranges::copy_if(once, std::back_inserter(ops), [](const plan::Op& op) { return !plan::is_pass(op.kind); });
  return plan;
}

/// Of all of them, whole backwards included.
double segments_s(const LayerChain& chain) {
  double sum = 0;
  for (const analytic::LayerTiming& t : chain.timings) sum += t.forward_s + t.backward_s;
  return sum;
}

/// Segments as parts of a step that takes `step_s`, of which the update and `overhead_s` in all are not theirs: each
/// keeps its share of the time.
void fit_into(LayerChain& chain, double step_s, double overhead_s) {
  stretch(chain, std::max(0.0, step_s - chain.update_s - overhead_s) / segments_s(chain));
  chain.step_s = step_s;
}

/// The same for the halves of backwards, which were measured in steps of their own, beside the chain's forwards.
void fit_halves_into(LayerChain& chain, double step_s, double overhead_s) {
  double others_s = chain.update_s + overhead_s, halves_s = 0;
  for (const analytic::LayerTiming& t : chain.timings) {
    others_s += t.forward_s;
    halves_s += t.split->input_s + t.split->weight_s;
  }
  const double factor = std::max(0.0, step_s - others_s) / halves_s;
  for (analytic::LayerTiming& t : chain.timings)
    for (double* s : {&t.split->input_s, &t.split->weight_s}) *s *= factor;
}

/// Between the operations of a step, and before the first.
double overhead_of(const plan::Plan& step, const LayerChain& chain) {
  return chain.overhead_s * static_cast<double>(step.ranks[0].compute().size());
}

}  // namespace

/// What the timed steps took and held.
struct LayerChains::Samples {
  std::map<std::pair<plan::OpKind, int>, std::vector<double>> seconds;  ///< by kind and segment
  std::map<std::pair<plan::OpKind, int>, exec::OpMemory> memory;        ///< of the last step's last micro-batch
  std::vector<double> gaps, steps;  ///< between operations; from a step's first begin to its last end

  double median_s(plan::OpKind kind, int segment) const { return median(seconds.at({kind, segment})); }
  std::int64_t peak_bytes(plan::OpKind kind, int segment) const {
    const exec::OpMemory& pass = memory.at({kind, segment});
    return pass.peak - pass.before;
  }
  analytic::LayerTiming timing(int segment, int samples) const {
    const exec::OpMemory& forward = memory.at({plan::OpKind::forward, segment});
    return {.samples = samples,
            .forward_s = median_s(plan::OpKind::forward, segment),
            .backward_s = median_s(plan::OpKind::backward, segment),
            .saved_bytes = forward.after - forward.before,
            .forward_peak_bytes = peak_bytes(plan::OpKind::forward, segment),
            .backward_peak_bytes = peak_bytes(plan::OpKind::backward, segment)};
  }
  analytic::SplitTiming split_timing(int segment) const {
    return {.input_s = median_s(plan::OpKind::backward_input, segment),
            .weight_s = median_s(plan::OpKind::backward_weight, segment),
            .input_peak_bytes = peak_bytes(plan::OpKind::backward_input, segment),
            .weight_peak_bytes = peak_bytes(plan::OpKind::backward_weight, segment)};
  }
};

exec::Execution LayerChains::train(const plan::Plan& plan, StepId measure_from, const Ready& ready) {
  exec::Execution execution;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    // Whatever the plan, a rank alone holds the same of the model, and nothing that is its communicator's.
    if (!state_) state_ = std::make_unique<exec::StageState>(plan, launch_.model, comm, device_);
    exec::RankInput input = exec::open_input(plan, Rank(0), launch_.source, launch_.input, device_);
    ready();
    execution = exec::execute(plan, launch_.model, *state_, comm, input, device_, measure_from);
  });
  return execution;
}

LayerChains::Samples LayerChains::run(const plan::Plan& step, const ChainSteps& steps, const Ready& ready) {
  const plan::Plan plan = plan::unroll(step, steps.discarded + steps.timed);
  const exec::Execution execution = train(plan, StepId(steps.discarded), ready);
  Samples samples;
  const auto& ops = plan.ranks[0].compute();
  const auto& spans = execution.spans[plan::compute_lane];
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].step.value < steps.discarded) continue;
    const std::pair key{ops[i].kind, ops[i].segment.value};
    samples.seconds[key].push_back(spans[i].work());
    samples.memory[key] = execution.memory[i];
    const bool begins = i == 0 || ops[i - 1].step < ops[i].step;
    if (!begins) samples.gaps.push_back(spans[i].start - spans[i - 1].end);
    if (begins) samples.steps.push_back(0);
    // Without what the step waited for its batch.
    samples.steps.back() += spans[i].work() + (begins ? 0 : samples.gaps.back());
  }
  return samples;
}

double LayerChains::replayed_step_s(plan::Plan step, int steps, const Ready& ready) {
  step.spec.graph = true;
  const int first = plan::graph_capture_step + 1;
  const plan::Plan plan = plan::unroll(step, first + steps);
  const exec::Execution execution = train(plan, StepId(first), ready);
  const auto& spans = execution.spans[plan::compute_lane];
  const std::size_t length = spans.size() / static_cast<std::size_t>(plan.steps);
  std::vector<double> seconds;
  for (std::size_t i = first * length; i < spans.size(); i += length) seconds.push_back(spans[i].end - spans[i].start);
  return median(seconds);
}

void stretch(LayerChain& chain, double factor) {
  for (analytic::LayerTiming& t : chain.timings) {
    for (const auto seconds : pass_seconds) t.*seconds *= factor;
    if (!t.split) continue;
    for (const auto seconds : half_seconds) (*t.split).*seconds *= factor;
  }
}

void deviate(LayerChain& chain, double deviation_s) {
  const double all_s = segments_s(chain);
  if (!(all_s > 0)) return;
  const double share = deviation_s / deviation_per_mad / all_s;
  for (analytic::LayerTiming& t : chain.timings) {
    t.forward_mad_s = share * t.forward_s;
    t.backward_mad_s = share * t.backward_s;
    if (!t.split) continue;
    t.split->input_mad_s = share * t.split->input_s;
    t.split->weight_mad_s = share * t.split->weight_s;
  }
}

void tune_layers(const Launch& launch, exec::Device& device, int samples) {
  const plan::Plan step = plan::make_plan(alone(launch.plan.spec, samples), launch.model, {}, 1);
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    exec::StageState state(step, launch.model, comm, device);
    exec::tune(step, launch.model, state, device, Rank(0));
  });
}

plan::Plan LayerChains::step_of(int samples) const {
  return over(plan::make_plan(alone(launch_.plan.spec, samples), launch_.model, {}, 1), segments_, launch_.model);
}

LayerChain LayerChains::time(int samples, const ChainSteps& steps, const Ready& ready) {
  const plan::Plan step = step_of(samples);
  const Samples whole = run(step, steps, ready);
  LayerChain chain{.segments = segments_};
  const int segments = static_cast<int>(segments_.size());
  for (int s = 0; s < segments; ++s) chain.timings.push_back(whole.timing(s, samples));
  chain.update_s = whole.median_s(plan::OpKind::update, 0);
  chain.overhead_s = median(whole.gaps);
  chain.steps_s = whole.steps;
  fit_into(chain, median(whole.steps), overhead_of(step, chain));
  if (plan::uses(launch_.plan, plan::OpKind::backward_input)) {
    const plan::Plan split = split_backwards(step);
    const Samples parts = run(split, steps, ready);
    for (int s = 0; s < segments; ++s) chain.timings[s].split = parts.split_timing(s);
    fit_halves_into(chain, median(parts.steps), overhead_of(split, chain));
  }
  // Nobody sees into a graph, in which nothing stands between operations.
  if (launch_.plan.spec.graph) fit_into(chain, replayed_step_s(step, steps.timed, ready), 0);
  deviate(chain, deviation_per_mad * mad(whole.steps));
  return chain;
}

void LayerChains::measure_adding(LayerChain& chain, int samples) {
  const plan::Plan once = step_of(samples);
  const ChainSteps one{.timed = 1, .discarded = 0};
  const Samples whole = run(with_second_micro_batch(once), one, [] {});
  for (int s = 0; s < std::ssize(chain.timings); ++s)
    chain.timings[s].adding_peak_bytes = whole.peak_bytes(plan::OpKind::backward, s);
  if (!plan::uses(launch_.plan, plan::OpKind::backward_input)) return;
  const Samples parts = run(with_second_micro_batch(split_backwards(once)), one, [] {});
  for (int s = 0; s < std::ssize(chain.timings); ++s)
    chain.timings[s].split->adding_weight_peak_bytes = parts.peak_bytes(plan::OpKind::backward_weight, s);
}

}  // namespace parabench::rank
