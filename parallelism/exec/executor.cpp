#include "parallelism/exec/executor.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "parallelism/exec/lane_runner.h"
#include "parallelism/exec/segment_runner.h"

namespace parabench {

namespace {

constexpr double no_bell_s = 0.1;

/// Trains: operations on tensors of a device.
class TrainingWork final : public RankWork {
 public:
  TrainingWork(const Plan& plan, const ModelSpec& model, StageState& state, const LocalDependencies& needs,
               Communicator& comm, RankInput& input, Device& device, int measure_from)
      : plan_(plan),
        state_(state),
        comm_(comm),
        input_(input),
        device_(device),
        measure_from_(measure_from),
        program_(plan.ranks[comm.rank().value]),
        needs_(needs),
        shapes_(shapes(model)),
        runner_(plan, model, state, comm.rank()) {
    for (const Lane& lane : program_.lanes) payload_.emplace_back(lane.ops.size());
    const std::size_t computed = program_.compute().size();
    result_.memory.resize(computed);
    marks_.resize(computed);
    data_wait_.resize(computed);
    result_.losses.assign(plan.steps, 0.0);
  }

  void enter(bool computes) override;
  void queue(int index) override;
  void begin(int index) override;
  void compute(int index) override;
  void finish() override;
  Span computed(int index) const override;
  bool is_done(int computed) const override { return device_.reached(marks_[computed].end); }
  Work start(int lane, int index) override;
  void end(int lane, int index) override;
  double patience_s() override { return no_bell_s; }

  /// Memory and losses; the spans are left to the lanes.
  Execution take_result() { return std::move(result_); }

 private:
  void run(const Op& op, int index);
  torch::Tensor run_forward(const Op& op, int index);
  /// Reads the losses given out so far; waits for them on a device with a queue.
  void read_losses();

  /// The tensor that an operation consumes: the result of its dependency of which `makes` is true.
  struct Taken {
    torch::Tensor tensor;
    bool received = false;  ///< from another rank
  };
  Taken take(int lane, int index, bool (*makes)(OpKind));
  /// The piece's images, where the operation takes them, and labels, where they are needed later or now.
  torch::Tensor read_input(const Op& op, int index);
  torch::Tensor receive_buffer(const Op& op) const;
  bool is_last(SegmentId segment) const { return segment.value + 1 == std::ssize(plan_.segments); }
  /// Whether the piece comes back to this rank for its loss.
  bool computes_loss(const Op& op) const {
    const SegmentId last(static_cast<int>(plan_.segments.size()) - 1);
    return replica_of(plan_, comm_.rank(), last) == replica_of(plan_, comm_.rank(), op.segment);
  }

  const Plan& plan_;
  StageState& state_;
  Communicator& comm_;
  RankInput& input_;
  Device& device_;
  int measure_from_;
  const RankProgram& program_;
  const LocalDependencies& needs_;
  std::vector<Shape> shapes_;
  SegmentRunner runner_;
  std::vector<std::vector<torch::Tensor>> payload_;  ///< [lane][index] written by one operation, taken by one other
  using Labels = std::map<std::pair<int, int>, torch::Tensor>;
  Labels labels_;  ///< (step, micro-batch), until the last segment's last need
  struct Marks {
    Mark queued, start, end;
  };
  std::vector<Marks> marks_;  ///< of the compute lane; written before the operation's end is told
  std::vector<double> data_wait_;
  struct Loss {
    int index;  ///< on the compute lane
    torch::Tensor value;
  };
  std::vector<Loss> losses_;  ///< not yet read
  bool peaks_reset_ = false;
  Execution result_;
};

bool makes_activation(OpKind kind) { return kind == OpKind::forward || kind == OpKind::recv_forward; }
bool makes_gradient(OpKind kind) { return makes_input_gradient(kind) || kind == OpKind::recv_backward; }

TrainingWork::Taken TrainingWork::take(int lane, int index, bool (*makes)(OpKind)) {
  for (const OpRef& ref : needs_.of(lane, index)) {
    const Op& before = at(plan_, ref);
    if (makes(before.kind)) return {std::move(payload_[ref.lane][ref.index]), is_receive(before.kind)};
  }
  return {};
}

torch::Tensor TrainingWork::receive_buffer(const Op& op) const {
  const Segment& segment = plan_.segments[op.segment.value];
  const int layer = op.kind == OpKind::recv_forward ? segment.first_layer : segment.first_layer + segment.layers;
  const Shape shape = shapes_[layer];
  const int samples = plan_.pieces[replica_of(plan_, comm_.rank(), op.segment)][op.micro_batch.value];
  return torch::empty({samples, shape.channels, shape.height, shape.width},
                      torch::TensorOptions(activation_type(plan_.spec.precision))
                          .memory_format(memory_format(plan_.spec.layout))
                          .device(device_.where()));
}

BufferView bytes_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr(), static_cast<std::int64_t>(tensor.nbytes()), ElementType::byte, !tensor.is_cpu()};
}

Work TrainingWork::start(int lane, int index) {
  const Op& op = program_.lanes[lane].ops[index];
  torch::Tensor& payload = payload_[lane][index];
  switch (op.kind) {
    case OpKind::send_forward:
    case OpKind::send_backward: {
      payload = take(lane, index, op.kind == OpKind::send_forward ? makes_activation : makes_gradient).tensor;
      return comm_.send(bytes_of(payload), op.peer, message_of(op));
    }
    case OpKind::recv_forward:
    case OpKind::recv_backward: {
      CountScope scope(device_, MemoryCategory::communication);
      payload = receive_buffer(op);
      return comm_.recv(bytes_of(payload), op.peer, message_of(op));
    }
    case OpKind::all_reduce:
      return comm_.all_reduce(state_.gradients(op.segment, op.segments),
                              reduction_group(plan_, stage_of(plan_, op.segment)));
    case OpKind::forward:
    case OpKind::backward:
    case OpKind::backward_input:
    case OpKind::backward_weight:
    case OpKind::recompute:
    case OpKind::update: break;
  }
  throw std::logic_error("a compute operation on a communication lane");
}

void TrainingWork::end(int lane, int index) {
  if (is_send(program_.lanes[lane].ops[index].kind)) payload_[lane][index].reset();
}

torch::Tensor TrainingWork::read_input(const Op& op, int index) {
  const std::pair piece{op.step, op.micro_batch.value};
  const bool first = op.segment == SegmentId(0);
  if (!first && (!is_last(op.segment) || labels_.contains(piece))) return {};
  const double before = now_s();
  auto [images, labels] = (first ? input_.images : input_.labels)->next(device_);
  // A device that is still busy with earlier work does not wait.
  if (device_.reached(marks_[index].start)) data_wait_[index] = now_s() - before;
  // Where the rank does not compute the piece's loss, nobody would take them.
  const bool needed = is_last(op.segment) || computes_loss(op);
  if (needed) labels_[piece] = std::move(labels);
  return images;
}

torch::Tensor TrainingWork::run_forward(const Op& op, int index) {
  auto [input, received] = take(compute_lane, index, makes_activation);
  if (received) {
    device_.adopt(input);
    device_.recategorise(input, MemoryCategory::activations);
  }
  if (torch::Tensor images = read_input(op, index); images.defined()) input = std::move(images);
  if (!is_last(op.segment))
    return runner_.forward(op, std::move(input), {}).contiguous(memory_format(plan_.spec.layout));
  const auto labels = labels_.find({op.step, op.micro_batch.value});
  losses_.push_back({index, runner_.forward(op, std::move(input), labels->second)});
  if (!op.discards) labels_.erase(labels);
  if (device_.where().is_cpu()) read_losses();
  return {};
}

void TrainingWork::run(const Op& op, int index) {
  torch::Tensor& payload = payload_[compute_lane][index];
  switch (op.kind) {
    case OpKind::forward: {
      CountScope scope(device_, MemoryCategory::activations);
      payload = run_forward(op, index);
      return;
    }
    case OpKind::recompute: {
      CountScope scope(device_, MemoryCategory::activations);
      const auto labels = is_last(op.segment) ? labels_.extract({op.step, op.micro_batch.value}) : Labels::node_type();
      runner_.recompute(op, labels.empty() ? torch::Tensor() : labels.mapped());
      return;
    }
    case OpKind::backward:
    case OpKind::backward_input: {
      CountScope scope(device_, MemoryCategory::workspace);
      auto [gradient, received] = take(compute_lane, index, makes_gradient);
      if (received) device_.adopt(gradient);
      payload = runner_.backward(op, std::move(gradient));
      if (payload.defined()) payload = payload.contiguous(memory_format(plan_.spec.layout));
      break;
    }
    case OpKind::backward_weight: {
      CountScope scope(device_, MemoryCategory::workspace);
      runner_.weight_gradients(op);
      break;
    }
    case OpKind::update: state_.update(op.segment, op.segments, op.version); return;
    case OpKind::send_forward:
    case OpKind::recv_forward:
    case OpKind::send_backward:
    case OpKind::recv_backward:
    case OpKind::all_reduce: throw std::logic_error("a communication operation on the compute lane");
  }
  if (makes_weight_gradient(op.kind) && !op.accumulates) state_.take_gradients(op.segment, op.version);
}

void TrainingWork::read_losses() {
  for (const Loss& loss : losses_) {
    const Op& op = program_.compute()[loss.index];
    const double value = loss.value.item<double>();
    result_.losses[op.step] += value;
    if (!std::isfinite(value))
      throw NotANumber(
          fmt::format("loss of step {}, micro-batch {}: got {}, expected a finite number; try a smaller lr "
                      "(lr:{} now)",
                      op.step, op.micro_batch.value, value, plan_.spec.lr));
  }
  losses_.clear();
}

void TrainingWork::enter(bool computes) {
  if (computes) at::set_num_threads(plan_.spec.threads);
  if (!computes) at::GradMode::set_enabled(false);  // the thread's own switch; it ends with the lanes
  device_.enter(computes);
}

void TrainingWork::queue(int index) {
  marks_[index].queued = device_.mark();
  if (peaks_reset_ || program_.compute()[index].step < measure_from_) return;
  device_.account().reset_peak();
  device_.reset_peaks();
  peaks_reset_ = true;
}

void TrainingWork::begin(int index) {
  device_.account().begin_window();
  result_.memory[index].before = device_.account().live();
  marks_[index].start = device_.mark();
}

void TrainingWork::compute(int index) {
  run(program_.compute()[index], index);
  marks_[index].end = device_.mark();
  result_.memory[index].peak = device_.account().window_peak();
  result_.memory[index].after = device_.account().live();
}

void TrainingWork::finish() {
  read_losses();
  device_.synchronise();
}

Span TrainingWork::computed(int index) const {
  const Marks& marks = marks_[index];
  return {device_.seconds(marks.queued), device_.seconds(marks.start), device_.seconds(marks.end), data_wait_[index]};
}

}  // namespace

Execution execute(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, RankInput& input,
                  Device& device, int measure_from) {
  const LocalDependencies needs = dependencies(plan, comm.rank());
  TrainingWork work(plan, model, state, needs, comm, input, device, measure_from);
  RankSpans spans = run_lanes(plan, needs, comm, work);
  Execution result = work.take_result();
  result.spans = std::move(spans);
  return result;
}

}  // namespace parabench
