#include "parallelism/exec/executor.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <thread>

#include "parallelism/exec/lanes.h"
#include "parallelism/exec/segment_runner.h"

namespace parabench {

namespace {

constexpr double device_look_s = 20e-6;

/// Everything that both threads of a rank look at while a plan runs.
class RankRun {
 public:
  RankRun(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, RankInput& input,
          Device& device, int measure_from)
      : plan_(plan),
        model_(model),
        state_(state),
        comm_(comm),
        input_(input),
        device_(device),
        measure_from_(measure_from),
        program_(plan.ranks[comm.rank().value]),
        dependencies_(dependencies(plan, comm.rank())),
        shapes_(shapes(model)),
        progress_(program_.lanes.size()) {
    for (const Lane& lane : program_.lanes) {
      result_.spans.emplace_back(lane.ops.size());
      payload_.emplace_back(lane.ops.size());
    }
    const std::size_t computed = program_.compute().size();
    result_.memory.resize(computed);
    marks_.resize(computed);
    result_.losses.assign(plan.steps, 0.0);
  }

  Execution run();

 private:
  void compute();
  void compute_op(int index, SegmentRunner& runner);
  void communicate();
  Work start(int lane, int index);
  torch::Tensor compute_forward(int index, SegmentRunner& runner);
  /// Reads the losses given out so far; waits for them on a device with a queue.
  void read_losses();
  void read_marks();

  /// The tensor that an operation consumes: the result of its dependency of which `makes` is true.
  struct Taken {
    torch::Tensor tensor;
    bool received = false;  ///< from another rank
  };
  Taken take(int lane, int index, bool (*makes)(OpKind));
  /// The piece's images, where the operation takes them, and labels, where they are needed later or now.
  torch::Tensor read_input(const Op& op, int index);
  torch::Tensor receive_buffer(const Op& op) const;
  /// Whether the results of `needs` can be sent: those computed must have come out of the device's queue.
  enum class Readiness { no, in_queue, yes };
  Readiness readiness(std::span<const OpRef> needs) const;
  Span& span(int lane, int index) { return result_.spans[lane][index]; }
  bool is_last(SegmentId segment) const { return segment.value + 1 == std::ssize(plan_.segments); }
  /// Whether the piece comes back to this rank for its loss.
  bool computes_loss(const Op& op) const {
    const SegmentId last(static_cast<int>(plan_.segments.size()) - 1);
    return replica_of(plan_, comm_.rank(), last) == replica_of(plan_, comm_.rank(), op.segment);
  }

  const Plan& plan_;
  const ModelSpec& model_;
  StageState& state_;
  Communicator& comm_;
  RankInput& input_;
  Device& device_;
  int measure_from_;
  const RankProgram& program_;
  LocalDependencies dependencies_;
  std::vector<Shape> shapes_;
  LaneProgress progress_;
  std::vector<std::vector<torch::Tensor>> payload_;      ///< [lane][index] written by one operation, taken by one other
  using Labels = std::map<std::pair<int, int>, torch::Tensor>;
  Labels labels_;  ///< (step, micro-batch), until the last segment's last need
  struct Marks {
    Mark queued, start, end;
  };
  std::vector<Marks> marks_;  ///< of the compute lane; written before the operation's end is told
  struct Loss {
    int index;  ///< on the compute lane
    torch::Tensor value;
  };
  std::vector<Loss> losses_;  ///< not yet read
  Execution result_;
};

bool makes_activation(OpKind kind) { return kind == OpKind::forward || kind == OpKind::recv_forward; }
bool makes_gradient(OpKind kind) { return makes_input_gradient(kind) || kind == OpKind::recv_backward; }

RankRun::Taken RankRun::take(int lane, int index, bool (*makes)(OpKind)) {
  for (const OpRef& ref : dependencies_.of(lane, index)) {
    const Op& before = at(plan_, ref);
    if (makes(before.kind)) return {std::move(payload_[ref.lane][ref.index]), is_receive(before.kind)};
  }
  return {};
}

torch::Tensor RankRun::receive_buffer(const Op& op) const {
  const Segment& segment = plan_.segments[op.segment.value];
  const int layer = op.kind == OpKind::recv_forward ? segment.first_layer : segment.first_layer + segment.layers;
  const Shape shape = shapes_[layer];
  const int samples = plan_.pieces[replica_of(plan_, comm_.rank(), op.segment)][op.micro_batch.value];
  return torch::empty({samples, shape.channels, shape.height, shape.width},
                      torch::TensorOptions(activation_type(plan_.spec.precision))
                          .memory_format(memory_format(plan_.spec.layout))
                          .device(device_.where()));
}

RankRun::Readiness RankRun::readiness(std::span<const OpRef> needs) const {
  if (!progress_.all_ended(needs)) return Readiness::no;
  const bool reached = std::ranges::all_of(
      needs, [&](const OpRef& ref) { return ref.lane != compute_lane || device_.reached(marks_[ref.index].end); });
  return reached ? Readiness::yes : Readiness::in_queue;
}

/// Both ends name a boundary by the segment before it.
Message message_of(const Op& op) {
  const bool towards_end = op.kind == OpKind::send_forward || op.kind == OpKind::recv_forward;
  const bool after = op.kind == OpKind::send_forward || op.kind == OpKind::recv_backward;
  const auto boundary = static_cast<std::uint64_t>(after ? op.segment.value : op.segment.value - 1);
  return {
      towards_end ? Channel::forward : Channel::backward,
      static_cast<std::uint64_t>(op.step) << 32 | static_cast<std::uint64_t>(op.micro_batch.value) << 16 | boundary};
}

BufferView bytes_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr(), static_cast<std::int64_t>(tensor.nbytes()), ElementType::byte, !tensor.is_cpu()};
}

Work RankRun::start(int lane, int index) {
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

void RankRun::communicate() {
  struct Cursor {
    int lane;
    int index = 0;
    Work work;
    bool running = false;
  };
  std::vector<Cursor> cursors;
  for (int lane = compute_lane + 1; lane < std::ssize(program_.lanes); ++lane) cursors.push_back({.lane = lane});
  try {
    torch::NoGradGuard no_grad;
    device_.enter(/*computes=*/false);
    for (;;) {
      const std::uint32_t seen = comm_.events();
      bool moved = false, unfinished = false, in_queue = false;
      for (Cursor& c : cursors) {
        const auto& ops = program_.lanes[c.lane].ops;
        if (c.index == static_cast<int>(ops.size())) continue;
        unfinished = true;
        Span& s = span(c.lane, c.index);
        if (s.queued == 0) s.queued = now_s();
        if (!c.running) {
          const Readiness ready = readiness(dependencies_.of(c.lane, c.index));
          in_queue = in_queue || ready == Readiness::in_queue;
          if (ready == Readiness::yes) {
            s.start = now_s();
            c.work = start(c.lane, c.index);
            c.running = true;
          }
        }
        if (!c.running || !c.work.test()) continue;
        s.end = now_s();
        const OpKind kind = ops[c.index].kind;
        if (is_send(kind)) payload_[c.lane][c.index].reset();
        c.running = false;
        ++c.index;
        progress_.end(c.lane);
        moved = true;
      }
      if (!unfinished) return;
      if (progress_.failed()) return;
      // Nobody rings when a device comes to a mark.
      if (!moved && in_queue)
        comm_.sleep(seen, device_look_s);
      else if (!moved)
        comm_.sleep(seen);
    }
  } catch (...) {
    progress_.fail(std::current_exception());
  }
}

torch::Tensor RankRun::read_input(const Op& op, int index) {
  const std::pair piece{op.step, op.micro_batch.value};
  const bool first = op.segment == SegmentId(0);
  if (!first && (!is_last(op.segment) || labels_.contains(piece))) return {};
  const double before = now_s();
  auto [images, labels] = (first ? input_.images : input_.labels)->next(device_);
  // A device that is still busy with earlier work does not wait.
  if (device_.reached(marks_[index].start)) span(compute_lane, index).data_wait = now_s() - before;
  // Where the rank does not compute the piece's loss, nobody would take them.
  const bool needed = is_last(op.segment) || computes_loss(op);
  if (needed) labels_[piece] = std::move(labels);
  return images;
}

torch::Tensor RankRun::compute_forward(int index, SegmentRunner& runner) {
  const Op& op = program_.compute()[index];
  auto [input, received] = take(compute_lane, index, makes_activation);
  if (received) {
    device_.adopt(input);
    device_.recategorise(input, MemoryCategory::activations);
  }
  if (torch::Tensor images = read_input(op, index); images.defined()) input = std::move(images);
  if (!is_last(op.segment)) return runner.forward(op, std::move(input), {}).contiguous(memory_format(plan_.spec.layout));
  const auto labels = labels_.find({op.step, op.micro_batch.value});
  losses_.push_back({index, runner.forward(op, std::move(input), labels->second)});
  if (!op.discards) labels_.erase(labels);
  if (device_.where().is_cpu()) read_losses();
  return {};
}

void RankRun::compute_op(int index, SegmentRunner& runner) {
  const Op& op = program_.compute()[index];
  torch::Tensor& payload = payload_[compute_lane][index];
  switch (op.kind) {
    case OpKind::forward: {
      CountScope scope(device_, MemoryCategory::activations);
      payload = compute_forward(index, runner);
      return;
    }
    case OpKind::recompute: {
      CountScope scope(device_, MemoryCategory::activations);
      const auto labels = is_last(op.segment) ? labels_.extract({op.step, op.micro_batch.value}) : Labels::node_type();
      runner.recompute(op, labels.empty() ? torch::Tensor() : labels.mapped());
      return;
    }
    case OpKind::backward:
    case OpKind::backward_input: {
      CountScope scope(device_, MemoryCategory::workspace);
      auto [gradient, received] = take(compute_lane, index, makes_gradient);
      if (received) device_.adopt(gradient);
      payload = runner.backward(op, std::move(gradient));
      if (payload.defined()) payload = payload.contiguous(memory_format(plan_.spec.layout));
      break;
    }
    case OpKind::backward_weight: {
      CountScope scope(device_, MemoryCategory::workspace);
      runner.weight_gradients(op);
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

void RankRun::read_losses() {
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

void RankRun::read_marks() {
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    Span& s = span(compute_lane, static_cast<int>(i));
    s.queued = device_.seconds(marks_[i].queued);
    s.start = device_.seconds(marks_[i].start);
    s.end = device_.seconds(marks_[i].end);
  }
}

void RankRun::compute() {
  SegmentRunner runner(plan_, model_, state_, comm_.rank());
  const auto& ops = program_.compute();
  bool reset = false;
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    marks_[i].queued = device_.mark();
    if (!reset && ops[i].step >= measure_from_) {
      device_.account().reset_peak();
      device_.reset_peaks();
      reset = true;
    }
    const auto& needs = dependencies_.of(compute_lane, i);
    if (!progress_.all_ended(needs)) {
      comm_.notify();
      progress_.wait_for(needs);
    }
    OpMemory& memory = result_.memory[i];
    device_.account().begin_window();
    memory.before = device_.account().live();
    marks_[i].start = device_.mark();
    // Told about the previous operation only now: where the communication thread takes this thread's core, it
    // shows as a longer operation, as in the simulation, and not as time between two operations.
    comm_.notify();
    compute_op(i, runner);
    marks_[i].end = device_.mark();
    memory.peak = device_.account().window_peak();
    memory.after = device_.account().live();
    progress_.end(compute_lane);
  }
  comm_.notify();
  read_losses();
  device_.synchronise();
  read_marks();
}

Execution RankRun::run() {
  at::set_num_threads(plan_.spec.threads);
  device_.enter(/*computes=*/true);
  bool talks = false;
  for (const Lane& lane : program_.lanes) talks = talks || (lane.kind != LaneKind::compute && !lane.ops.empty());
  comm_.wait(comm_.barrier());
  std::thread communication;
  if (talks) communication = std::thread([this] { communicate(); });
  try {
    compute();
  } catch (const std::exception& error) {
    // A failure that another lane reported is already known to the peers, or came from them.
    progress_.fail(std::current_exception());
    comm_.abort(error.what());
    if (communication.joinable()) communication.join();
    throw;
  }
  if (communication.joinable()) communication.join();
  if (progress_.failed()) progress_.rethrow();
  return std::move(result_);
}

}  // namespace

Execution execute(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, RankInput& input,
                  Device& device, int measure_from) {
  return RankRun(plan, model, state, comm, input, device, measure_from).run();
}

}  // namespace parabench
