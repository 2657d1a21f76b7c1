#include "parallelism/exec/executor.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "parallelism/exec/lanes.h"
#include "parallelism/exec/segment_runner.h"

namespace parabench {

namespace {

constexpr double device_look_s = 20e-6;

/// Everything that both threads of a rank look at while a plan runs.
class RankRun {
 public:
  RankRun(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, PieceInput* input,
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
        shapes_(shapes(model)) {
    for (Lane lane : all_lanes) {
      const std::size_t n = program_.lane(lane).size();
      result_.spans[static_cast<int>(lane)].resize(n);
      payload_[static_cast<int>(lane)].resize(n);
    }
    const std::size_t computed = program_.lane(Lane::compute).size();
    result_.memory.resize(computed);
    marks_.resize(computed);
    result_.losses.assign(plan.steps, 0.0);
  }

  Execution run();

 private:
  void compute();
  void compute_op(int index, SegmentRunner& runner);
  void communicate();
  Work start(Lane lane, int index);
  /// Reads the losses given out so far; waits for them on a device with a queue.
  void read_losses();
  void read_marks();

  /// The tensor that an operation consumes: the result of the dependency of one of these kinds.
  torch::Tensor take(Lane lane, int index, OpKind a, OpKind b);
  torch::Tensor receive_buffer(const Op& op) const;
  /// Whether the results of `needs` can be sent: those computed must have come out of the device's queue.
  enum class Readiness { no, in_queue, yes };
  Readiness readiness(const std::vector<OpRef>& needs) const;
  Span& span(Lane lane, int index) { return result_.spans[static_cast<int>(lane)][index]; }

  const Plan& plan_;
  const ModelSpec& model_;
  StageState& state_;
  Communicator& comm_;
  PieceInput* input_;
  Device& device_;
  int measure_from_;
  const RankProgram& program_;
  LocalDependencies dependencies_;
  std::vector<Shape> shapes_;
  LaneProgress progress_;
  std::array<std::vector<torch::Tensor>, lane_count> payload_;  ///< written by an operation, taken by its one consumer
  std::map<std::pair<int, int>, torch::Tensor> labels_;         ///< (step, micro-batch), until the last segment
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

torch::Tensor RankRun::take(Lane lane, int index, OpKind a, OpKind b) {
  for (const OpRef& ref : dependencies_[static_cast<int>(lane)][index]) {
    const OpKind kind = at(plan_, ref).kind;
    if (kind == a || kind == b) return std::move(payload_[static_cast<int>(ref.lane)][ref.index]);
  }
  return {};
}

torch::Tensor RankRun::receive_buffer(const Op& op) const {
  const Segment& segment = plan_.segments[op.segment.value];
  const int layer = op.kind == OpKind::recv_forward ? segment.first_layer : segment.first_layer + segment.layers;
  const Shape shape = shapes_[layer];
  const int samples = plan_.pieces[program_.replica][op.micro_batch.value];
  return torch::empty({samples, shape.channels, shape.height, shape.width},
                      torch::TensorOptions(activation_type(plan_.spec.precision))
                          .memory_format(memory_format(plan_.spec.layout))
                          .device(device_.where()));
}

RankRun::Readiness RankRun::readiness(const std::vector<OpRef>& needs) const {
  if (!progress_.all_ended(needs)) return Readiness::no;
  const bool reached = std::ranges::all_of(
      needs, [&](const OpRef& ref) { return ref.lane != Lane::compute || device_.reached(marks_[ref.index].end); });
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

Work RankRun::start(Lane lane, int index) {
  const Op& op = program_.lane(lane)[index];
  torch::Tensor& payload = payload_[static_cast<int>(lane)][index];
  switch (op.kind) {
    case OpKind::send_forward:
    case OpKind::send_backward: {
      const bool forwards = op.kind == OpKind::send_forward;
      const OpKind made_by = forwards ? OpKind::forward : OpKind::backward;
      payload = take(lane, index, made_by, made_by);
      return comm_.send(bytes_of(payload), op.peer, message_of(op));
    }
    case OpKind::recv_forward:
    case OpKind::recv_backward: {
      CountScope scope(device_, MemoryCategory::communication);
      payload = receive_buffer(op);
      return comm_.recv(bytes_of(payload), op.peer, message_of(op));
    }
    case OpKind::all_reduce: return comm_.all_reduce(state_.gradients(op.segment, op.segments));
    case OpKind::forward:
    case OpKind::backward:
    case OpKind::update: break;
  }
  throw std::logic_error("a compute operation on a communication lane");
}

void RankRun::communicate() {
  struct Cursor {
    Lane lane;
    int index = 0;
    Work work;
    bool running = false;
  };
  std::array<Cursor, 3> cursors = {Cursor{Lane::collectives}, Cursor{Lane::p2p_forward}, Cursor{Lane::p2p_backward}};
  try {
    torch::NoGradGuard no_grad;
    device_.enter(/*computes=*/false);
    for (;;) {
      const std::uint32_t seen = comm_.events();
      bool moved = false, unfinished = false, in_queue = false;
      for (Cursor& c : cursors) {
        const auto& ops = program_.lane(c.lane);
        if (c.index == static_cast<int>(ops.size())) continue;
        unfinished = true;
        Span& s = span(c.lane, c.index);
        if (s.queued == 0) s.queued = now_s();
        if (!c.running) {
          const Readiness ready = readiness(dependencies_[static_cast<int>(c.lane)][c.index]);
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
        if (kind == OpKind::send_forward || kind == OpKind::send_backward)
          payload_[static_cast<int>(c.lane)][c.index].reset();
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

void RankRun::compute_op(int index, SegmentRunner& runner) {
  const Op& op = program_.lane(Lane::compute)[index];
  torch::Tensor& payload = payload_[static_cast<int>(Lane::compute)][index];
  Span& s = span(Lane::compute, index);
  const bool entry = op.segment == segments_of(plan_, program_.stage).first;
  const bool last = op.segment.value + 1 == static_cast<int>(plan_.segments.size());
  switch (op.kind) {
    case OpKind::forward: {
      CountScope scope(device_, MemoryCategory::activations);
      torch::Tensor input = take(Lane::compute, index, OpKind::forward, OpKind::recv_forward);
      if (input.defined() && entry) {
        device_.adopt(input);
        device_.recategorise(input, MemoryCategory::activations);
      }
      if (entry && input_) {
        const double before = now_s();
        auto [images, labels] = input_->next(device_);
        // A device that is still busy with earlier work does not wait.
        if (device_.reached(marks_[index].start)) s.data_wait = now_s() - before;
        if (images.defined()) input = std::move(images);
        labels_[{op.step, op.micro_batch.value}] = std::move(labels);
      }
      if (last) {
        auto labels = labels_.extract({op.step, op.micro_batch.value});
        losses_.push_back({index, runner.forward_with_loss(op, std::move(input), labels.mapped())});
        if (device_.where().is_cpu()) read_losses();
      } else {
        payload = runner.forward(op, std::move(input)).contiguous(memory_format(plan_.spec.layout));
      }
      return;
    }
    case OpKind::backward: {
      CountScope scope(device_, MemoryCategory::workspace);
      torch::Tensor gradient = take(Lane::compute, index, OpKind::backward, OpKind::recv_backward);
      if (gradient.defined()) device_.adopt(gradient);
      payload = runner.backward(op, std::move(gradient));
      if (payload.defined()) payload = payload.contiguous(memory_format(plan_.spec.layout));
      if (starts_gradients(op)) state_.take_gradients(op.segment, op.version);
      return;
    }
    case OpKind::update: state_.update(op.segment, op.segments, op.version); return;
    case OpKind::send_forward:
    case OpKind::recv_forward:
    case OpKind::send_backward:
    case OpKind::recv_backward:
    case OpKind::all_reduce: break;
  }
  throw std::logic_error("a communication operation on the compute lane");
}

void RankRun::read_losses() {
  for (const Loss& loss : losses_) {
    const Op& op = program_.lane(Lane::compute)[loss.index];
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
    Span& s = span(Lane::compute, static_cast<int>(i));
    s.queued = device_.seconds(marks_[i].queued);
    s.start = device_.seconds(marks_[i].start);
    s.end = device_.seconds(marks_[i].end);
  }
}

void RankRun::compute() {
  SegmentRunner runner(plan_, model_, state_);
  const auto& ops = program_.lane(Lane::compute);
  bool reset = false;
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    marks_[i].queued = device_.mark();
    if (!reset && ops[i].step >= measure_from_) {
      device_.account().reset_peak();
      device_.reset_peaks();
      reset = true;
    }
    const auto& needs = dependencies_[static_cast<int>(Lane::compute)][i];
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
    progress_.end(Lane::compute);
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
  for (Lane lane : all_lanes) talks = talks || (lane != Lane::compute && !program_.lane(lane).empty());
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

Execution execute(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, PieceInput* input,
                  Device& device, int measure_from) {
  return RankRun(plan, model, state, comm, input, device, measure_from).run();
}

}  // namespace parabench
