#include "parallelism/exec/tuning.h"

#include <mutex>
#include <set>
#include <utility>

#include "parallelism/exec/segment_runner.h"

namespace parabench {
namespace {

/// No micro-batch of any plan.
const MicroBatchId trial(-1);

std::set<int> piece_sizes(const Plan& plan, ReplicaId replica) {
  return {plan.pieces[replica.value].begin(), plan.pieces[replica.value].end()};
}

}  // namespace

void tune(const Plan& plan, const ModelSpec& model, StageState& state, Device& device, Rank rank) {
  static std::mutex turn;
  const std::lock_guard lock(turn);
  device.enter(/*computes=*/true);
  const CountScope scope(device, MemoryCategory::workspace);
  SegmentRunner runner(plan, model, state, rank);
  const std::vector<Shape> all = shapes(model);
  const torch::TensorOptions options = torch::TensorOptions().device(device.where());
  for (SegmentId s : segments_held(plan, rank)) {
    const bool first = s == SegmentId(0), last = s == last_segment(plan);
    const Shape in = all[plan.segments[s.value].first_layer];
    const Precision precision = plan.spec.precision;
    const torch::ScalarType type = first ? master_type(precision) : activation_type(precision);
    for (const int samples : piece_sizes(plan, replica_of(plan, rank, s))) {
      const Op forward = pass(OpKind::forward, s, trial, StepId(0), VersionId(0)),
               backward = pass(OpKind::backward, s, trial, StepId(0), VersionId(0));
      torch::Tensor input = torch::rand({samples, in.channels, in.height, in.width}, options.dtype(type));
      const torch::Tensor labels = last ? torch::zeros({samples}, options.dtype(torch::kInt64)) : torch::Tensor();
      const torch::Tensor output = runner.rehearse(forward, input.contiguous(memory_format(plan.spec.layout)), labels);
      runner.backward(backward, last ? torch::Tensor() : torch::rand_like(output));
      state.drop_gradients(s);
    }
  }
  device.synchronise();
  device.release_unused();
}

}  // namespace parabench
