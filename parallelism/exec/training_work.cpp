#include "parallelism/exec/training_work.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "parallelism/exec/compression/compressor.h"
#include "parallelism/plan/routes.h"

namespace parabench::exec {
namespace {

constexpr double no_bell_s = 0.1;
constexpr int measured_marks = 3;  ///< of an operation that reads no piece

bool makes_activation(const plan::Op& op) {
  return op.kind == plan::OpKind::forward || op.payload == plan::Payload::activation;
}
bool makes_gradient(const plan::Op& op) {
  return plan::makes_input_gradient(op.kind) || op.payload == plan::Payload::activation_gradient;
}

bool brings_gradients(const plan::Op& op) { return op.payload == plan::Payload::gradients; }

/// What a replica's loss counts in the mean over the step's batch.
double loss_share(const plan::Plan& plan, ReplicaId replica) {
  return static_cast<double>(plan::update_samples(plan, replica)) / plan::batch_samples(plan);
}

comm::BufferView bytes_of(const torch::Tensor& tensor, void* ready) {
  return {tensor.data_ptr(), static_cast<std::int64_t>(tensor.nbytes()), comm::ElementType::byte, !tensor.is_cpu(),
          ready};
}

/// Whoever made them reads them no more: what autograd keeps for their gradient is something else.
comm::BufferView statistics_of(const torch::Tensor& tensor) {
  comm::BufferView view = bytes_of(tensor, nullptr);
  view.type = comm::ElementType::f64;
  return view;
}

}  // namespace

TrainingWork::TrainingWork(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
                           const plan::LocalDependencies& needs, comm::Communicator& comm, RankInput& input,
                           Device& device, std::optional<StepId> measure_from)
    : device_(device),
      input_(input),
      program_(plan.ranks[comm.rank().value]),
      plan_(plan),
      state_(state),
      comm_(comm),
      measure_from_(measure_from),
      needs_(needs),
      last_segment_(plan::last_segment(plan)),
      counts_operations_(operations_at_once(plan.spec) == 1),
      groups_(plan::collective_groups(plan).numbers),
      boundaries_(models::boundaries(model)),
      skips_(models::skips(model)),
      runner_(plan, model, state, comm.rank()) {
  for (const plan::Lane& lane : program_.lanes) {
    payload_.emplace_back(lane.ops.size());
    transfers_.emplace_back(lane.key.kind == plan::LaneKind::compute ? 0 : lane.ops.size());
  }
  for (int lane = 0; lane < std::ssize(program_.lanes); ++lane) {
    const auto& ops = program_.lanes[lane].ops;
    for (int i = 0; i < std::ssize(ops); ++i) {
      if (ops[i].kind != plan::OpKind::send || ops[i].port == 0) continue;
      skip_sends_[{needs.of(lane, i).front().index, ops[i].port}] = {comm.rank(), lane, i};
    }
  }
  const std::size_t computed = program_.compute().size();
  result_.memory.resize(computed);
  marks_.resize(computed);
  device.expect_marks((measure_from ? measured_marks : 1) * static_cast<int>(computed));
  result_.losses.assign(plan.steps, 0.0);
}

double TrainingWork::patience_s() { return no_bell_s; }

bool TrainingWork::computes_loss(const plan::Op& op) const {
  return plan::replica_of(plan_, comm_.rank(), last_segment_) == plan::replica_of(plan_, comm_.rank(), op.segment);
}

TrainingWork::Taken TrainingWork::take(int lane, int index, bool (*makes)(const plan::Op&)) {
  for (const plan::OpRef& ref : needs_.of(lane, index)) {
    const plan::Op& before = plan::at(plan_, ref);
    if (makes(before)) return {std::move(payload_[ref.lane][ref.index]), before.kind == plan::OpKind::receive};
  }
  return {};
}

torch::Tensor TrainingWork::receive_buffer(const plan::Op& op) const {
  const plan::Segment& segment = plan_.segments[op.segment.value];
  const int layer =
      op.payload == plan::Payload::activation ? segment.first_layer : segment.first_layer + segment.layers;
  const int samples = plan::samples_of(plan_, plan::replica_of(plan_, comm_.rank(), op.segment), op.micro_batch);
  const torch::TensorOptions options(activation_type(plan_.spec.precision));
  const TensorSpec& tensor = op.port == 0 ? boundaries_[layer] : skips_[plan_.skips[op.port - 1].tensor].tensor;
  return empty_tensor(tensor, samples, plan_.spec.layout, options.device(device_.where()));
}

void TrainingWork::bring_skips(int index) {
  const plan::Op& op = program_.compute()[index];
  for (const plan::OpRef& ref : needs_.of(plan::compute_lane, index)) {
    const plan::Op& receive = plan::at(plan_, ref);
    if (receive.kind != plan::OpKind::receive || receive.port == 0) continue;
    torch::Tensor& payload = payload_[ref.lane][ref.index];
    if (!payload.defined()) continue;  // another segment of this rank took it in
    device_.adopt(payload);
    if (receive.payload == plan::Payload::activation) {
      device_.recategorise(payload, MemoryCategory::activations);
      runner_.bring_skip(op, receive.port, std::move(payload));
    } else {
      runner_.bring_skip_gradient(op, receive.port, std::move(payload));
    }
    payload.reset();
  }
}

void TrainingWork::send_skips(int index) {
  for (auto& [port, tensor] : runner_.take_leaving(program_.compute()[index])) {
    const auto send = skip_sends_.find({index, port});
    if (send == skip_sends_.end()) continue;  // another port brings the tensor there
    payload_[send->second.lane][send->second.index] = laid_out(tensor, plan_.spec.layout);
  }
}

void* TrainingWork::ready(int lane, int index) const {
  int last = -1;
  for (const plan::OpRef& ref : needs_.of(lane, index)) {
    if (ref.lane == plan::compute_lane) last = std::max(last, ref.index);
  }
  return last < 0 ? nullptr : marks_[last].end.event;
}

comm::BufferView TrainingWork::summed(const plan::Op& op) const {
  if (op.payload == plan::Payload::tied_gradients) return state_.tied_gradients();
  if (op.payload == plan::Payload::norms) return state_.norms(op.segment, op.segments);
  if (op.payload == plan::Payload::encoded) return state_.compressor()->encoded(op.segment, op.segments, 1);
  if (op.payload == plan::Payload::projected) return state_.compressor()->projected(op.segment, op.segments);
  if (op.payload == plan::Payload::parameters) return state_.weights(op.segment, op.segments, op.version);
  return state_.gradients(op.segment, op.segments, plan::moved_part(plan_, comm_.rank(), op));
}

comm::CollectiveCall TrainingWork::sharing(int lane, const plan::Op& op, comm::CollectiveKind kind, void* ready) const {
  const auto members = static_cast<int>(plan_.groups[op.group.value].ranks.size());
  comm::CollectiveCall call{.kind = kind,
                            .buffer = op.payload == plan::Payload::gradients
                                          ? state_.gradients(op.segment, op.segments)
                                          : state_.weights(op.segment, op.segments, op.version),
                            .group = groups_.at(program_.lanes[lane].key),
                            .shares = state_.shares(op.segment, op.segments, members)};
  call.buffer.ready = ready;
  return call;
}

comm::Work TrainingWork::gather_encoded(int lane, const plan::Op& op, void* ready) const {
  const auto members = static_cast<int>(plan_.groups[op.group.value].ranks.size());
  comm::BufferView all = state_.compressor()->encoded(op.segment, op.segments, members);
  all.ready = ready;
  return comm_.all_gather(all, comm::Shares::even(all.bytes, members), groups_.at(program_.lanes[lane].key));
}

comm::BufferView TrainingWork::of_run(const plan::Op& message, void* ready) const {
  const plan::Shard part = plan::moved_part(plan_, comm_.rank(), message);
  comm::BufferView view = message.payload == plan::Payload::gradients
                              ? state_.gradients(message.segment, message.segments, part)
                              : state_.weights(message.segment, message.segments, message.version, part);
  view.type = comm::ElementType::byte;
  view.ready = ready;
  return view;
}

comm::Work TrainingWork::start(int lane, int index) {
  const plan::Op& op = program_.lanes[lane].ops[index];
  void* const event = ready(lane, index);
  torch::Tensor& payload = payload_[lane][index];
  switch (op.kind) {
    case plan::OpKind::send: {
      if (plan::is_over_run(op)) return comm_.send(of_run(op, event), op.peer, message_of(op));
      // Those of skips lie here since the pass that made them.
      if (op.port == 0)
        payload = take(lane, index, op.payload == plan::Payload::activation ? makes_activation : makes_gradient).tensor;
      return comm_.send(bytes_of(payload, event), op.peer, message_of(op));
    }
    case plan::OpKind::receive: {
      if (op.payload == plan::Payload::parameters) {
        state_.expect_weights(op.segment, op.segments, op.version);
        return comm_.recv(of_run(op, event), op.peer, message_of(op));
      }
      CountScope scope(device_, MemoryCategory::communication);
      // Those that came before were added or came too late.
      if (plan_.taken > 0 && index > 0) payload_[lane][index - 1].reset();
      payload = op.payload == plan::Payload::gradients
                    ? state_.room_for_gradients(op.segment, op.segments, plan::moved_part(plan_, comm_.rank(), op))
                    : receive_buffer(op);
      return comm_.recv(bytes_of(payload, event), op.peer, message_of(op));
    }
    case plan::OpKind::all_reduce: {
      if (plan::is_of_micro_batch(op.payload))
        payload = take(lane, index, op.payload == plan::Payload::activation ? makes_activation : makes_gradient).tensor;
      comm::BufferView sums = payload.defined() ? statistics_of(payload) : summed(op);
      sums.ready = event;
      return comm_.all_reduce(sums, groups_.at(program_.lanes[lane].key));
    }
    case plan::OpKind::reduce_scatter:
      return comm_.collective(sharing(lane, op, comm::CollectiveKind::reduce_scatter, event));
    case plan::OpKind::all_gather: {
      if (op.payload == plan::Payload::encoded) return gather_encoded(lane, op, event);
      if (!state_.keeps_shares()) return comm_.collective(sharing(lane, op, comm::CollectiveKind::all_gather, event));
      comm::DeviceEvent& brought = brought_[{lane, index}];
      brought = state_.bring_share(op.segment, op.segments, plan::shard_of(plan_, comm_.rank(), op), event);
      return comm_.collective(sharing(lane, op, comm::CollectiveKind::all_gather, brought.get()));
    }
    case plan::OpKind::broadcast:
    case plan::OpKind::forward:
    case plan::OpKind::backward:
    case plan::OpKind::backward_input:
    case plan::OpKind::backward_weight:
    case plan::OpKind::recompute:
    case plan::OpKind::norms:
    case plan::OpKind::update:
    case plan::OpKind::add:
    case plan::OpKind::average:
    case plan::OpKind::encode:
    case plan::OpKind::project:
    case plan::OpKind::decode: break;
  }
  throw std::logic_error(plan::to_text(op) + " on a communication lane, which the executor does not run there");
}

void TrainingWork::given_out(int lane, int index, const comm::DeviceSpan& span) {
  const plan::Op& op = program_.lanes[lane].ops[index];
  if (measure_from_)
    transfers_[lane][index] = span;
  else if (op.kind != plan::OpKind::send || plan::is_over_run(op))  // for other sends nobody waits
    transfers_[lane][index].end = span.end;
}

void TrainingWork::end(int lane, int index) {
  if (program_.lanes[lane].ops[index].kind == plan::OpKind::send) payload_[lane][index].reset();
  brought_.erase({lane, index});
}

plan::Span TrainingWork::transferred(int lane, int index, const plan::Span& seen) const {
  if (!measure_from_) return {};
  const comm::DeviceSpan& transfer = transfers_[lane][index];
  plan::Span span = seen;
  if (transfer.start) span.start = device_.event_seconds(transfer.start);
  if (transfer.end) span.end = device_.event_seconds(transfer.end);
  return span;
}

PieceTensors TrainingWork::next_piece(PieceFeed& input, int index) {
  if (!fed_.empty()) {
    PieceTensors piece = std::move(fed_.front());
    fed_.pop_front();
    return piece;
  }
  input.await();
  if (measure_from_ && !input.is_resident()) marks_[index].fed = device_.mark();
  return input.take();
}

torch::Tensor TrainingWork::read_input(const plan::Op& op, int index) {
  const std::pair piece{op.step, op.micro_batch};
  const bool first = op.segment == SegmentId(0);
  if (!first && (op.segment != last_segment_ || has_labels(piece))) return {};
  auto [images, labels] = next_piece(first ? *input_.images : *input_.labels, index);
  // Where the rank does not compute the piece's loss, nobody would take them.
  const bool needed = op.segment == last_segment_ || computes_loss(op);
  const std::lock_guard lock(mutex_);
  if (needed) labels_[piece] = std::move(labels);
  return images;
}

bool TrainingWork::has_labels(const Labels::key_type& piece) const {
  const std::lock_guard lock(mutex_);
  return labels_.contains(piece);
}

torch::Tensor TrainingWork::labels_of(const plan::Op& op, bool again) {
  const std::lock_guard lock(mutex_);
  const auto found = labels_.find({op.step, op.micro_batch});
  torch::Tensor labels = found->second;
  if (!again) labels_.erase(found);
  return labels;
}

torch::Tensor TrainingWork::run_forward(const plan::Op& op, int index) {
  auto [input, received] = take(plan::compute_lane, index, makes_activation);
  if (received) {
    device_.adopt(input);
    device_.recategorise(input, MemoryCategory::activations);
  }
  bring_skips(index);
  if (torch::Tensor images = read_input(op, index); images.defined()) input = std::move(images);
  if (op.segment != last_segment_) return laid_out(runner_.forward(op, std::move(input), {}), plan_.spec.layout);
  torch::Tensor loss = runner_.forward(op, std::move(input), labels_of(op, /*again=*/op.discards));
  const std::lock_guard lock(mutex_);
  losses_.push_back({index, std::move(loss)});
  return {};
}

void TrainingWork::run_backward(const plan::Op& op, int index) {
  CountScope scope(device_, MemoryCategory::workspace);
  if (op.kind == plan::OpKind::backward_weight) {
    runner_.weight_gradients(op);
  } else {
    auto [gradient, received] = take(plan::compute_lane, index, makes_gradient);
    if (received) device_.adopt(gradient);
    bring_skips(index);
    torch::Tensor made = runner_.backward(op, std::move(gradient));
    if (made.defined()) payload_[plan::compute_lane][index] = laid_out(made, plan_.spec.layout);
    send_skips(index);
  }
}

void TrainingWork::adds(int index, std::vector<plan::OpRef> awaited) {
  awaited_ = std::move(awaited);
  result_.taken.resize(plan_.steps);
  std::vector<Rank>& taken = result_.taken[program_.compute()[index].step.value];
  const Rank worker = plan::at(plan_, awaited_.front()).peer;
  if (std::ranges::find(taken, worker) == taken.end()) taken.push_back(worker);
}

void TrainingWork::comes_too_late(StepId step) {
  too_late_ = step;
  result_.too_late.push_back(step);
}

void TrainingWork::leave_out(const plan::Op& op, int index) {
  if (op.kind != plan::OpKind::forward) return;
  read_input(op, index);
  if (op.segment == last_segment_) labels_of(op, /*again=*/false);
}

void TrainingWork::run(int index) {
  const plan::Op& op = program_.compute()[index];
  if (plan::is_pass(op.kind) && too_late_ == op.step) return leave_out(op, index);
  switch (op.kind) {
    case plan::OpKind::forward: {
      CountScope scope(device_, MemoryCategory::activations);
      // A worker's gradients are its server's once they were sent.
      if (!plan_.servers.empty()) state_.drop_gradients(op.segment);
      payload_[plan::compute_lane][index] = run_forward(op, index);
      send_skips(index);
      return;
    }
    case plan::OpKind::recompute: {
      CountScope scope(device_, MemoryCategory::activations);
      runner_.recompute(op, op.segment == last_segment_ ? labels_of(op, /*again=*/false) : torch::Tensor());
      return;
    }
    case plan::OpKind::backward:
    case plan::OpKind::backward_input:
    case plan::OpKind::backward_weight: run_backward(op, index); break;
    case plan::OpKind::norms:
      return state_.measure_norms(op.segment, op.segments, plan::shard_of(plan_, comm_.rank(), op));
    case plan::OpKind::update:
      if (op.group.value < 0) return state_.update(op.segment, op.segments, op.version);
      return state_.update_shard(op.segment, op.segments, op.version, plan::shard_of(plan_, comm_.rank(), op));
    case plan::OpKind::add: {
      const plan::Shard shard = plan::shard_of(plan_, comm_.rank(), op);
      if (plan::adds_share(op)) return state_.add_share(op.segment, op.segments, shard, op.accumulates);
      // Where arrival decides, all lie there until others take their place, whether they are added or not.
      const torch::Tensor sent = plan::is_first_come(op) ? payload_[awaited_.front().lane][awaited_.front().index]
                                                         : take(plan::compute_lane, index, brings_gradients).tensor;
      device_.adopt(sent);
      return state_.add_gradients(op.segment, op.segments, shard, sent, op.accumulates);
    }
    case plan::OpKind::average:
      return state_.average(op.segment, op.segments, static_cast<int>(plan_.groups[op.group.value].ranks.size()));
    case plan::OpKind::encode: {
      CountScope scope(device_, MemoryCategory::workspace);
      return state_.compressor()->encode(op.segment, op.segments, plan::shard_of(plan_, comm_.rank(), op));
    }
    case plan::OpKind::project: return state_.compressor()->project(op.segment, op.segments);
    case plan::OpKind::decode:
      return state_.compressor()->decode(op.segment, op.segments, plan::shard_of(plan_, comm_.rank(), op));
    case plan::OpKind::send:
    case plan::OpKind::receive:
    case plan::OpKind::all_reduce:
    case plan::OpKind::reduce_scatter:
    case plan::OpKind::all_gather:
    case plan::OpKind::broadcast: throw std::logic_error("a communication operation on the compute lane");
  }
  if (plan::makes_weight_gradient(op.kind) && !op.accumulates) state_.take_gradients(op.segment, op.version);
}

void TrainingWork::read_losses() {
  const std::lock_guard lock(mutex_);
  for (const Loss& loss : losses_) {
    const plan::Op& op = program_.compute()[loss.index];
    const double value = loss.value.item<double>();
    result_.losses[op.step.value] += loss_share(plan_, plan::replica_of(plan_, comm_.rank(), op.segment)) * value;
    require_finite(value, op, plan_.spec.lr);
  }
  losses_.clear();
}

void TrainingWork::enter(bool computes) {
  if (computes) at::set_num_threads(threads_of_operation(plan_.spec));
  if (!computes) at::GradMode::set_enabled(false);  // the thread's own switch; it ends with the lanes
  device_.enter(computes);
}

void TrainingWork::queue(int index) {
  if (!measure_from_) return;
  marks_[index].queued = device_.mark();
  const std::lock_guard lock(mutex_);
  if (peaks_reset_ || program_.compute()[index].step < *measure_from_) return;
  device_.account().reset_peak();
  device_.reset_peaks();
  peaks_reset_ = true;
}

void TrainingWork::begin(int index) {
  if (counts_operations_) {
    device_.account().begin_window();
    result_.memory[index].before = device_.account().live();
  }
  const bool chosen = plan::is_first_come(program_.compute()[index]);
  for (const plan::OpRef& ref :
       chosen ? std::span<const plan::OpRef>(awaited_) : needs_.of(plan::compute_lane, index)) {
    if (ref.lane == plan::compute_lane) continue;
    comm::DeviceEvent& end = transfers_[ref.lane][ref.index].end;
    if (!end) continue;
    device_.wait(end);
    if (!measure_from_) end.reset();  // what the device computes later comes after it, too
  }
  if (measure_from_) marks_[index].start = device_.mark();
}

void TrainingWork::compute(int index) {
  run(index);
  if (device_.where().is_cpu()) read_losses();
  end_of(index);
}

void TrainingWork::end_of(int index) {
  marks_[index].end = device_.mark();
  if (!counts_operations_) return;
  result_.memory[index].peak = device_.account().window_peak();
  result_.memory[index].after = device_.account().live();
}

void TrainingWork::finish() {
  read_losses();
  device_.synchronise();
}

plan::Span TrainingWork::computed(int index) const {
  if (!measure_from_) return {};
  const Marks& marks = marks_[index];
  const double start_s = device_.seconds(marks.start);
  return {device_.seconds(marks.queued), start_s, device_.seconds(marks.end),
          marks.fed ? device_.seconds(*marks.fed) - start_s : 0};
}

}  // namespace parabench::exec
