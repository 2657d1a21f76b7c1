#include "parallelism/exec/reducer/reducer_training.h"

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/clock.h"
#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "parallelism/exec/pulse.h"
#include "parallelism/exec/reducer/bucket_reducer.h"
#include "parallelism/exec/reducer/collective_thread.h"
#include "parallelism/plan/input_pieces.h"
#include "parallelism/plan/routes.h"

namespace parabench::exec {
namespace {

class ReducerTraining {
 public:
  ReducerTraining(const plan::Plan& plan, const models::ModelSpec& model, StageState& state, comm::Communicator& comm,
                  RankInput& input, Device& device, std::optional<StepId> measure_from);
  ~ReducerTraining() { pulse_.rests(); }
  ReducerTraining(const ReducerTraining&) = delete;
  ReducerTraining& operator=(const ReducerTraining&) = delete;

  Execution run();

 private:
  const std::vector<plan::Op>& ops() const { return program_.compute(); }
  void make_reducer();
  void begin(int index);
  void end(int index);
  /// The step whose operations begin at `first`.
  void train_step(int first);
  void forward(int index);
  void read_piece(int index);
  void read_loss(const plan::Op& op);
  void backward(int first);
  /// The backward has the gradient of a segment's output.
  void comes_to(SegmentId segment);
  /// Returns when the last of them ended.
  double note_sums(StepId step);

  const plan::Plan& plan_;
  const models::ModelSpec& model_;
  StageState& state_;
  comm::Communicator& comm_;
  RankInput& input_;
  Device& device_;
  std::optional<StepId> measure_from_;
  Pulse& pulse_;
  const plan::RankProgram& program_;
  const plan::Lane& sums_lane_;
  ReplicaId replica_;
  int segments_;
  std::vector<SegmentId> owners_;       ///< by the reducer's parameters: the segment that has the tensor
  std::vector<int> last_bucket_;        ///< by segment: the bucket that completes its gradients; -1 without parameters
  std::vector<ReducedBucket> buckets_;  ///< as the reducer has them now, without times
  CollectiveThread* sums_ = nullptr;

  modules::Ports ports_;
  torch::Tensor value_, labels_;  ///< of the forward under way; at its end the loss
  int backward_ = 0;              ///< the operation that the backward has come to
  std::size_t noted_ = 0;         ///< sums of the plan
  bool peaks_reset_ = false;
  Execution result_;
};

const plan::Lane& lane_of_sums(const plan::RankProgram& program) {
  const auto sums = [](const plan::Lane& lane) { return lane.key.kind == plan::LaneKind::collectives; };
  return *std::ranges::find_if(program.lanes, sums);
}

ReducerTraining::ReducerTraining(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
                                 comm::Communicator& comm, RankInput& input, Device& device,
                                 std::optional<StepId> measure_from)
    : plan_(plan),
      model_(model),
      state_(state),
      comm_(comm),
      input_(input),
      device_(device),
      measure_from_(measure_from),
      pulse_(pulse_of(comm.rank())),
      program_(plan.ranks[comm.rank().value]),
      sums_lane_(lane_of_sums(program_)),
      replica_(plan::replica_of(plan, comm.rank(), SegmentId(0))),
      segments_(static_cast<int>(plan.segments.size())) {
  for (const plan::Lane& lane : program_.lanes) result_.spans.emplace_back(lane.ops.size());
  result_.memory.resize(ops().size());
  result_.losses.assign(plan.steps, 0.0);
}

void ReducerTraining::make_reducer() {
  std::vector<torch::Tensor> parameters;
  for (SegmentId s; s.value < segments_; ++s) {
    for (const modules::LayerTensors& layer : state_.tensors(s, VersionId(0))) {
      for (const torch::Tensor& leaf : layer.parameters) {
        const auto same = [&](const torch::Tensor& other) { return other.is_same(leaf); };
        if (std::ranges::any_of(parameters, same)) continue;  // tied
        parameters.push_back(leaf);
        owners_.push_back(s);
      }
    }
  }
  if (state_.reducer) return;
  CountScope scope(device_, MemoryCategory::communication);
  state_.reducer = std::make_shared<BucketReducer>(std::move(parameters), comm_.rank(), plan_.replicas,
                                                   plan::bucket_limits(plan_.spec));
}

void ReducerTraining::begin(int index) {
  const plan::Op& op = ops()[index];
  if (measure_from_ && !peaks_reset_ && op.step >= *measure_from_) {
    device_.account().reset_peak();
    peaks_reset_ = true;
  }
  pulse_.comes_to(op);
  device_.account().begin_window();
  result_.memory[index].before = device_.account().live();
  plan::Span& span = result_.spans[plan::compute_lane][index];
  span.queued = span.start = now_s();
}

void ReducerTraining::end(int index) {
  result_.spans[plan::compute_lane][index].end = now_s();
  result_.memory[index].peak = device_.account().window_peak();
  result_.memory[index].after = device_.account().live();
  pulse_.moves();
}

void ReducerTraining::read_piece(int index) {
  input_.images->await();
  plan::Span& span = result_.spans[plan::compute_lane][index];
  if (!input_.images->is_resident()) span.data_wait = now_s() - span.start;
  PieceTensors piece = input_.images->take();
  value_ = std::move(piece.images);
  labels_ = std::move(piece.labels);
}

void ReducerTraining::read_loss(const plan::Op& op) {
  const auto value = value_.item<double>();
  result_.losses[op.step.value] += value;
  require_finite(value, op, plan_.spec.lr);
}

void ReducerTraining::forward(int index) {
  const plan::Op& op = ops()[index];
  CountScope scope(device_, MemoryCategory::activations);
  if (op.segment == SegmentId(0)) read_piece(index);
  const modules::AutocastGuard autocast(plan_.spec.precision == Precision::bf16, device_.where().type());
  const plan::Segment& segment = plan_.segments[op.segment.value];
  const std::int64_t first_sample = plan::first_position(plan_, {op.step, replica_, op.micro_batch});
  const modules::ForwardMode mode{.dropout = {plan_.spec.seed, first_sample}};
  const auto& tensors = state_.tensors(op.segment, op.version);
  for (int l = 0; l < segment.layers; ++l)
    value_ = modules::forward(model_.layers[segment.first_layer + l], tensors[l], value_, ports_, mode);
  if (op.segment.value == segments_ - 1) {
    value_ = modules::cross_entropy(value_, labels_, plan::update_samples(plan_, replica_));
    labels_.reset();
    read_loss(op);
  } else if (value_.requires_grad()) {
    value_.register_hook([this, s = op.segment](const torch::Tensor&) { comes_to(s); });
  }
}

void ReducerTraining::comes_to(SegmentId segment) {
  while (ops()[backward_].segment > segment) {
    end(backward_++);
    begin(backward_);
  }
}

void ReducerTraining::backward(int first) {
  CountScope scope(device_, MemoryCategory::workspace);
  state_.reducer->prepare_backward();
  backward_ = first;
  begin(first);
  value_.register_hook([this](const torch::Tensor&) {
    // Comes before the reducer's own, in which it waits.
    torch::autograd::Engine::get_default_engine().queue_callback([this] {
      comes_to(SegmentId(0));
      end(backward_);
      pulse_.waits();
    });
  });
  // The reducer divides by the ranks, and the loss is already the rank's share of the mean.
  const torch::Tensor seed = torch::full_like(value_, plan_.replicas, at::MemoryFormat::Contiguous);
  torch::autograd::backward({std::exchange(value_, {})}, {seed});
  pulse_.computes();
}

double ReducerTraining::note_sums(StepId step) {
  const std::vector<CollectiveTimes> times = sums_->take_times();
  for (std::size_t b = 0; b < times.size(); ++b) {
    ReducedBucket bucket = buckets_.at(b);
    bucket.step = step;
    bucket.bytes = times[b].bytes;
    bucket.ready = times[b].asked;
    bucket.start = times[b].start;
    bucket.end = times[b].end;
    result_.buckets.push_back(bucket);
  }
  auto& spans = result_.spans[&sums_lane_ - program_.lanes.data()];
  int next = 0;  // bucket
  double free_since = result_.spans[plan::compute_lane][backward_ - segments_ + 1].queued;
  for (; noted_ < spans.size() && sums_lane_.ops[noted_].step == step; ++noted_) {
    const plan::Op& op = sums_lane_.ops[noted_];
    const auto first = last_bucket_.begin() + op.segment.value;
    const int last = *std::max_element(first, first + op.segments);
    plan::Span& span = spans[noted_];
    span.queued = span.start = span.end = free_since;
    if (last < next) continue;
    span.start = times.at(next).start;
    span.end = free_since = times.at(last).end;
    next = last + 1;
  }
  return free_since;
}

void ReducerTraining::train_step(int first) {
  const int update = first + 2 * segments_;
  const StepId step = ops()[first].step;
  {
    CountScope scope(device_, MemoryCategory::communication);
    if (state_.reducer->prepare_forward() || last_bucket_.empty()) {
      last_bucket_.assign(segments_, -1);
      buckets_.clear();
      for (const std::vector<std::size_t>& places : state_.reducer->buckets()) {
        ReducedBucket& bucket = buckets_.emplace_back();
        bucket.parameters = static_cast<int>(places.size());
        bucket.first = bucket.last = owners_[places.front()];
        for (const std::size_t place : places) {
          const SegmentId owner = owners_[place];
          bucket.first = std::min(bucket.first, owner);
          bucket.last = std::max(bucket.last, owner);
          last_bucket_[owner.value] = static_cast<int>(buckets_.size()) - 1;
        }
      }
    }
  }
  sums_->take_times();  // of what the ranks agreed on
  for (int i = first; i < first + segments_; ++i) {
    begin(i);
    forward(i);
    end(i);
  }
  backward(first + segments_);
  const double summed = note_sums(step);
  begin(update);
  plan::Span& span = result_.spans[plan::compute_lane][update];
  span.queued = result_.spans[plan::compute_lane][update - 1].end;
  // The reducer waits for nothing any more: what is left of its copies out of buckets is work.
  span.start = std::max(span.queued, summed);
  const plan::Op& op = ops()[update];
  for (SegmentId s; s.value < segments_; ++s) state_.take_gradients(s, ops()[first].version);
  state_.update(op.segment, op.segments, op.version);
  end(update);
}

Execution ReducerTraining::run() {
  device_.enter(/*computes=*/true);
  at::set_num_threads(plan_.spec.threads);
  make_reducer();
  comm_.wait(comm_.barrier());
  CollectiveThread sums(comm_, [this] {
    at::GradMode::set_enabled(false);
    device_.enter(/*computes=*/false);
  });
  sums_ = &sums;
  state_.reducer->use(sums, plan::collective_groups(plan_).numbers.at(sums_lane_.key));
  try {
    const int length = 2 * segments_ + 1;
    for (int first = 0; first < std::ssize(ops()); first += length) train_step(first);
  } catch (const std::exception& error) {
    comm_.abort(error.what());
    throw;
  }
  return std::move(result_);
}

}  // namespace

Execution train_by_reducer(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
                           comm::Communicator& comm, RankInput& input, Device& device,
                           std::optional<StepId> measure_from) {
  return ReducerTraining(plan, model, state, comm, input, device, measure_from).run();
}

}  // namespace parabench::exec
