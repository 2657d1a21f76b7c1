#include "parallelism/comm/cuda/direct_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "parallelism/comm/collectives.h"
#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/host_work.h"
#include "parallelism/comm/cuda/sum_buffers.h"
#include "parallelism/comm/reduce.h"

namespace parabench {

/// What operations have in common: a turn in their queue, and an end on its stream.
class DirectWork : public WorkState {
 public:
  DirectWork(DirectCommunicator& comm, DirectCommunicator::Queue& queue, BufferView buffer)
      : comm_(comm), queue_(queue), buffer_(buffer), turn_(queue.started++) {}
  ~DirectWork() override {
    if (is_queued_) comm_.polling_.count_in_flight(-1);
  }

  bool queued() override {
    if (is_queued_) return true;
    if (queue_.queued != turn_) return false;
    comm_.use_gpu();
    if (!give_out()) return false;
    is_queued_ = true;
    comm_.polling_.count_in_flight(1);
    if (++queue_.queued != queue_.started) comm_.notify();  // the next one may have been looked at before
    return true;
  }

  bool advance() override {
    if (!queued()) return false;
    return ended_ = ended_ || has_passed(cuda_event(span_.end));
  }

  DeviceSpan device_span() const override { return span_; }

 protected:
  /// The host's part; sets span_ and returns true once it is done.
  virtual bool give_out() = 0;
  DeviceEvent record() { return comm_.events_.record(queue_.stream); }
  cudaStream_t stream() const { return queue_.stream.get(); }

  DirectCommunicator& comm_;
  DirectCommunicator::Queue& queue_;
  BufferView buffer_;
  DeviceSpan span_;
  bool ended_ = false;

 private:
  std::uint64_t turn_;
  bool is_queued_ = false;
};

class DirectSend final : public DirectWork {
 public:
  DirectSend(DirectCommunicator& comm, const MessageLane& lane, BufferView buffer, std::uint64_t tag)
      : DirectWork(comm, comm.messages(lane), buffer), lane_(lane), offer_(std::make_shared<MessageOffer>()) {
    offer_->header = {tag, buffer.bytes};
    offer_->data = buffer.data;
    offer_->ready = buffer.ready;
    comm_.exchange_->post(lane_, offer_);
  }

  ~DirectSend() override {
    if (ended_) return;
    const std::lock_guard lock(offer_->mutex);
    offer_->withdrawn = true;
    if (offer_->copied) cudaEventSynchronize(cuda_event(offer_->copied));
  }

 private:
  bool give_out() override {
    const std::lock_guard lock(offer_->mutex);
    if (!offer_->copied) return false;
    // Events of this rank's own GPU: another one's has other times.
    wait_for(queue_.stream, buffer_.ready);
    span_.start = record();
    wait_for(queue_.stream, offer_->copied.get());
    span_.end = record();
    return true;
  }

  MessageLane lane_;
  std::shared_ptr<MessageOffer> offer_;
};

class DirectReceive final : public DirectWork {
 public:
  DirectReceive(DirectCommunicator& comm, const MessageLane& lane, BufferView buffer, std::uint64_t tag)
      : DirectWork(comm, comm.messages(lane), buffer), lane_(lane), tag_(tag) {}

  ~DirectReceive() override {
    if (!ended_ && span_.end) cudaEventSynchronize(cuda_event(span_.end));
  }

 private:
  bool give_out() override {
    const std::shared_ptr<MessageOffer> offer = comm_.exchange_->take(lane_);
    if (!offer) return false;
    check_pairing(offer->header, {tag_, buffer_.bytes}, lane_.from, lane_.to, lane_.channel);
    {
      const std::lock_guard lock(offer->mutex);
      if (offer->withdrawn) return false;  // the next sleep throws
      wait_for(queue_.stream, buffer_.ready);
      wait_for(queue_.stream, offer->ready);
      span_.start = record();
      check_cuda(cudaMemcpyAsync(buffer_.data, offer->data, static_cast<std::size_t>(buffer_.bytes), cudaMemcpyDefault,
                                 stream()),
                 "cudaMemcpyAsync");
      offer->copied = span_.end = record();
    }
    comm_.exchange_->wake(lane_.from);
    return true;
  }

  MessageLane lane_;
  std::uint64_t tag_;
};

class DirectReduction final : public DirectWork {
 public:
  DirectReduction(DirectCommunicator& comm, int group, BufferView buffer)
      : DirectWork(comm, comm.collectives(group), buffer),
        group_(group),
        number_(queue_.started - 1),
        reduction_(comm.exchange_->reduction(group, number_)) {
    bool last = false;
    {
      const std::lock_guard lock(reduction_->mutex);
      own_seat() = {
          .post = {CollectiveKind::all_reduce, buffer.type, buffer.bytes}, .data = buffer.data, .ready = buffer.ready};
      last = ++reduction_->posted == std::ssize(reduction_->seats);
    }
    if (last) comm_.exchange_->wake_members(group_);
  }

  ~DirectReduction() override {
    if (ended_) return;
    const std::lock_guard lock(reduction_->mutex);
    reduction_->broken = true;
    for (const Reduction::Seat& seat : reduction_->seats) {
      if (seat.summed) cudaEventSynchronize(cuda_event(seat.summed));
    }
  }

 private:
  const std::vector<Rank>& members() const { return comm_.groups().members(group_); }
  int position() const { return comm_.groups().position(group_, comm_.rank()); }
  Reduction::Seat& own_seat() { return reduction_->seats[static_cast<std::size_t>(position())]; }

  bool give_out() override {
    const std::unique_lock lock(reduction_->mutex);
    const int members = static_cast<int>(reduction_->seats.size());
    if (reduction_->posted < members) return false;
    for (int i = 0; i < members; ++i)
      check_same(number_, group_, comm_.rank(), own_seat().post, this->members()[i], reduction_->seats[i].post);
    if (reduction_->broken) return false;  // the next sleep throws
    if (!own_seat().summed) {
      give_out_share();
      if (++reduction_->given_out == members) comm_.exchange_->wake_members(group_);
    }
    if (reduction_->given_out < members) return false;
    for (const Reduction::Seat& seat : reduction_->seats) wait_for(queue_.stream, seat.summed.get());
    span_.end = record();
    return true;
  }

  void give_out_share() {
    const auto& seats = reduction_->seats;
    for (const Reduction::Seat& seat : seats) wait_for(queue_.stream, seat.ready);
    span_.start = record();
    const Share share = share_of(buffer_.bytes, static_cast<int>(seats.size()), position());
    const auto remote = static_cast<std::int64_t>(seats.size() - 1) * share.bytes();
    comm_.traffic_.received += remote;
    comm_.traffic_.sent += remote;
    if (share.bytes() > 0) sum(share);
    own_seat().summed = record();
  }

  void sum(Share share) {
    const auto& seats = reduction_->seats;
    const auto bytes = static_cast<std::size_t>(share.bytes());
    const auto copy = [&](void* to, const void* from) {
      check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
    };
    std::vector<void*> theirs, here;
    for (std::size_t i = 0; i < seats.size(); ++i) {
      theirs.push_back(static_cast<std::byte*>(seats[i].data) + share.begin);
      const bool reachable = comm_.reachable_[static_cast<std::size_t>(members()[i].value)] != 0;
      here.push_back(reachable ? theirs[i] : comm_.scratch(group_, static_cast<int>(i), share.bytes()));
      if (!reachable) copy(here[i], theirs[i]);
    }
    sum_buffers(here, share.bytes() / (buffer_.type == ElementType::f64 ? 8 : 4), buffer_.type, stream());
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (here[i] != theirs[i]) copy(theirs[i], here[i]);
    }
  }

  int group_;
  std::uint64_t number_;
  std::shared_ptr<Reduction> reduction_;
};

DirectCommunicator::DirectCommunicator(Communicator& host, int gpu)
    : Communicator(host.rank(), host.groups()),
      host_(host),
      gpu_(gpu),
      exchange_(meet_at_exchange(host)),
      reachable_(host.size(), 1),
      collectives_(groups().count()),
      exceptions_(std::uncaught_exceptions()) {
  for (int group = 0; group < groups().count(); ++group) {
    const std::int64_t members = std::ssize(groups().members(group));
    if (members > most_summed) {
      throw usage_error("group of ranks on GPUs", fmt::format("{} members", members),
                        fmt::format("at most {}", most_summed), "fewer ranks");
    }
  }
  use_gpu();
  reach_peers();
  exchange_->join(host_);
}

DirectCommunicator::~DirectCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  exchange_->leave(rank());
  cudaSetDevice(gpu_);
}

void DirectCommunicator::reach_peers() {
  const std::vector<std::string> gpus = all_gather(host_, std::to_string(gpu_));
  for (int r = 0; r < size(); ++r) {
    const int other = std::stoi(gpus[r]);
    if (other == gpu_) continue;
    int offered = 0;
    check_cuda(cudaDeviceCanAccessPeer(&offered, gpu_, other), "cudaDeviceCanAccessPeer");
    reachable_[r] = offered != 0;
    if (offered == 0) continue;
    const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();  // by another rank, or by torch
    } else {
      check_cuda(code, "cudaDeviceEnablePeerAccess");
    }
  }
}

DirectCommunicator::Queue& DirectCommunicator::messages(const MessageLane& lane) {
  Queue& queue = messages_[lane];
  if (!queue.stream) {
    use_gpu();
    queue.stream = make_stream();
  }
  return queue;
}

DirectCommunicator::Queue& DirectCommunicator::collectives(int group) {
  Queue& queue = collectives_[static_cast<std::size_t>(group)];
  if (!queue.stream) {
    use_gpu();
    queue.stream = make_stream();
  }
  return queue;
}

void* DirectCommunicator::scratch(int group, int position, std::int64_t bytes) {
  Scratch& place = scratch_[{group, position}];
  if (place.bytes < bytes) place = {make_memory(static_cast<std::size_t>(bytes)), bytes};
  return place.memory.get();
}

Arena DirectCommunicator::allocate(std::int64_t bytes) {
  const std::vector<std::string> all = all_gather(host_, std::to_string(bytes));
  for (int r = 0; r < size(); ++r) {
    if (all[r] == all[0]) continue;
    throw std::logic_error(
        fmt::format("allocate: {} bytes on rank 0, {} bytes on rank {}; expected the same on all", all[0], all[r], r));
  }
  use_gpu();
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* data = nullptr;
  if (const cudaError_t code = cudaMalloc(&data, size); code != cudaSuccess) {
    cudaGetLastError();
    throw environment_error("memory of the GPU", fmt::format("{} bytes ({})", bytes, cudaGetErrorString(code)),
                            "that much memory", "a smaller model or batch, or fewer ranks per GPU");
  }
  arenas_.emplace_back(data);
  const Stream& stream = collectives(0).stream;
  check_cuda(cudaMemsetAsync(data, 0, size, stream.get()), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  return {static_cast<std::byte*>(data), bytes, true};
}

void DirectCommunicator::sleep(std::uint32_t seen, double limit_s) {
  host_.sleep(seen, polling_.pause_s(limit_s, waits_for_end()));
}

std::unique_ptr<WorkState> DirectCommunicator::start_all_reduce(BufferView buffer, int group) {
  if (!buffer.on_device) return reduce_on_host(host_, buffer, group, traffic_);
  return std::make_unique<DirectReduction>(*this, group, buffer);
}

std::unique_ptr<WorkState> DirectCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  if (!buffer.on_device) return forward_to_host(host_.send(buffer, to, message));
  return std::make_unique<DirectSend>(*this, MessageLane{rank(), to, message.channel}, buffer, message.tag);
}

std::unique_ptr<WorkState> DirectCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  if (!buffer.on_device) return forward_to_host(host_.recv(buffer, from, message));
  return std::make_unique<DirectReceive>(*this, MessageLane{from, rank(), message.channel}, buffer, message.tag);
}

std::unique_ptr<WorkState> DirectCommunicator::start_barrier() { return forward_to_host(host_.barrier()); }

std::unique_ptr<Communicator> make_direct_communicator(Communicator& host, int gpu) {
  return std::make_unique<DirectCommunicator>(host, gpu);
}

}  // namespace parabench
