#include "parallelism/exec/tuning.h"

#include <mutex>
#include <set>
#include <utility>

#include "models/spec/loss.h"
#include "models/torch/tensor.h"
#include "parallelism/exec/segment_runner.h"

namespace parabench::exec {
namespace {

/// No micro-batch of any plan.
const MicroBatchId trial(-1);

std::set<int> piece_sizes(const plan::Plan& plan, ReplicaId replica) {
  return {plan.pieces[replica.value].begin(), plan.pieces[replica.value].end()};
}

}  // namespace

void tune(const plan::Plan& plan, const models::ModelSpec& model, StageState& state, Device& device, Rank rank) {
  static std::mutex turn;
  const std::lock_guard lock(turn);
  device.enter(/*computes=*/true);
  const CountScope scope(device, MemoryCategory::workspace);
  SegmentRunner runner(plan, model, state, rank);
  const std::vector<TensorSpec> all = models::boundaries(model);
  const torch::TensorOptions options = torch::TensorOptions().device(device.where());
  for (SegmentId s : plan::segments_held(plan, rank)) {
    const bool first = s == SegmentId(0), last = s == plan::last_segment(plan);
    const TensorSpec in = all[plan.segments[s.value].first_layer];
    const Precision precision = plan.spec.precision;
    const torch::ScalarType type = in.kind() == ElementKind::sums ? torch::kFloat64
                                   : first                        ? master_type(precision)
                                                                  : activation_type(precision);
    for (const int samples : piece_sizes(plan, plan::replica_of(plan, rank, s))) {
      const plan::Op forward = plan::pass(plan::OpKind::forward, s, trial, StepId(0), VersionId(0)),
                     backward = plan::pass(plan::OpKind::backward, s, trial, StepId(0), VersionId(0));
      const std::vector<std::int64_t> sizes = modules::sizes_of(in, samples);
      torch::Tensor input = in.kind() == ElementKind::int64 ? torch::zeros(sizes, options.dtype(torch::kInt64))
                                                            : torch::rand(sizes, options.dtype(type));
      torch::Tensor labels;
      if (last)
        labels = torch::zeros(modules::sizes_of(models::labels_of(all.back()), samples), options.dtype(torch::kInt64));
      const torch::Tensor output = runner.rehearse(forward, samples, laid_out(input, plan.spec.layout), labels);
      runner.backward(backward, last ? torch::Tensor() : torch::rand_like(output));
      state.drop_gradients(s);
    }
  }
  device.synchronise();
  device.release_unused();
}

}  // namespace parabench::exec
