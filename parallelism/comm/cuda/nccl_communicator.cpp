#include "parallelism/comm/cuda/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.h"
#include "parallelism/comm/cuda/nccl_agreement.h"
#include "parallelism/comm/cuda/nccl_work.h"
#include "parallelism/comm/host_work.h"
#include "parallelism/comm/traffic.h"

namespace parabench::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double settle_pause_s = 2e-4;

/// How long kernels that were told to end get until whoever owns their buffers goes on.
constexpr std::chrono::seconds kernels_end{5};

/// How long the host gets to find out that a rank has died before NCCL's own complaint counts as the cause.
constexpr std::chrono::seconds look_for_dead{2};

NcclOperation::Kind operation_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return NcclOperation::Kind::all_reduce;
    case CollectiveKind::reduce_scatter: return NcclOperation::Kind::reduce_scatter;
    case CollectiveKind::all_gather: return NcclOperation::Kind::all_gather;
    case CollectiveKind::broadcast: return NcclOperation::Kind::broadcast;
  }
  return NcclOperation::Kind::all_reduce;
}

}  // namespace

NcclCommunicator::NcclCommunicator(Communicator& host, int gpu, std::vector<MessageLane> lanes, NcclOptions options)
    : Communicator(host.rank(), host.groups()),
      host_(host),
      gpu_(gpu),
      options_(options),
      collectives_(groups().count()),
      exceptions_(std::uncaught_exceptions()) {
  use_gpu();
  require_own_gpu(host_, gpu_);
  try {
    make_lanes(agree_on_lanes(host_, std::move(lanes)));
  } catch (...) {
    give_up();  // a first message may be on its way
    throw;
  }
}

void NcclCommunicator::make_lanes(const std::vector<MessageLane>& declared) {
  try {
    std::vector<std::vector<Rank>> members;
    for (CommGroupId group = world_group; groups().has(group); ++group) members.push_back(groups().members(group));
    for (const MessageLane& lane : declared) members.push_back({lane.from, lane.to});
    const std::vector<ncclUniqueId> ids = make_ids(host_, members);
    first_content_ = make_memory(sizeof(float));
    check_cuda(cudaMemset(first_content_.get(), 0, sizeof(float)), "cudaMemset");
    for (int group = 0; group < groups().count(); ++group) {
      NcclLane* const lane = collectives_[group] = make_lane(ids[group], members[group]);
      if (!lane) continue;
      const BufferView content{first_content_.get(), sizeof(float), ElementType::f32, true};
      connect(*lane, {.kind = NcclOperation::Kind::all_reduce, .buffer = content});
      connect(*lane, {.kind = NcclOperation::Kind::broadcast, .buffer = content});
    }
    for (std::size_t i = 0; i < declared.size(); ++i) {
      const std::size_t place = collectives_.size() + i;
      NcclLane* const lane = messages_[declared[i]] = make_lane(ids[place], members[place]);
      const BufferView content{first_content_.get(), 1, ElementType::byte, true};
      const bool sends = declared[i].from == rank();
      if (lane) {
        connect(*lane, {.kind = sends ? NcclOperation::Kind::send : NcclOperation::Kind::recv,
                        .buffer = content,
                        .peer = sends ? declared[i].to : declared[i].from});
      }
    }
  } catch (const NcclFailure& failure) {
    throw environment_error("comm:nccl", failure.what(), "NCCL communicators of all groups and lanes of messages",
                            "NCCL_DEBUG=WARN says more; comm:mpi does without NCCL");
  }
}

NcclLane* NcclCommunicator::make_lane(const ncclUniqueId& id, const std::vector<Rank>& members) {
  const auto own = std::ranges::find(members, rank());
  if (own == members.end()) return nullptr;
  const auto position = static_cast<int>(own - members.begin());
  lanes_.push_back(std::make_unique<NcclLane>(id, position, static_cast<int>(members.size())));
  wait_until_settled(options_.time_limit_s);
  return lanes_.back().get();
}

void NcclCommunicator::connect(NcclLane& lane, NcclOperation first) {
  const auto operation = std::make_shared<NcclOperation>(first);
  operation->released = true;
  lane.start(operation);
  while (!operation->ended) {
    const std::uint32_t seen = host_.events();
    lane.drive(options_.time_limit_s);
    host_.sleep(seen, settle_pause_s);
  }
}

NcclLane& NcclCommunicator::messages(const MessageLane& lane) const {
  const auto found = messages_.find(lane);
  if (found == messages_.end()) {
    throw std::invalid_argument(
        fmt::format("message {}: this lane was not declared when the communicator was made", to_text(lane)));
  }
  return *found->second;
}

NcclCommunicator::~NcclCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  cudaSetDevice(gpu_);
  if (!finish_in_good_order()) give_up();
  lanes_.clear();
  for (void* const arena : arenas_) ncclMemFree(arena);
}

void NcclCommunicator::give_up() noexcept {
  failed_ = true;
  if (std::exchange(given_up_, true)) return;
  cudaSetDevice(gpu_);
  ncclGroupStart();
  for (const auto& lane : lanes_) lane->abort();
  ncclGroupEnd();
  // The communicators do not block: threads of NCCL's own go on ending them, may use memory and streams meanwhile, and
  // tell nobody when they are through. So all of it is left to the end of the process, which is near.
  static_cast<void>(first_content_.release());
  arenas_.clear();
  const auto end = Clock::now() + kernels_end;
  while (Clock::now() < end && !std::ranges::all_of(lanes_, [](const auto& lane) { return lane->drained(); })) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool NcclCommunicator::finish_in_good_order() noexcept {
  try {
    if (failed_) {
      host_.abort("an operation over NCCL was given up");
      return false;  // whether the host knows of it by now or, where another rank fails too, only in a moment
    }
    host_.sleep(host_.events(), 0);  // throws when a rank has failed
    for (const auto& [comm, handle] : registrations_) ncclCommDeregister(comm, handle);
    for (const auto& lane : lanes_) lane->finish();
    wait_until_settled(options_.time_limit_s);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void NcclCommunicator::wait_until_settled(double limit_s) {
  const auto begin = Clock::now();
  for (;;) {
    const std::uint32_t seen = host_.events();
    if (std::ranges::all_of(lanes_, [](const auto& lane) { return lane->settled(); })) return;
    if (Clock::now() - begin > std::chrono::duration<double>(limit_s)) {
      throw NcclFailure(fmt::format("other ranks did not come within {:g} s", limit_s));
    }
    host_.sleep(seen, settle_pause_s);
  }
}

void NcclCommunicator::use_gpu() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }

Capabilities NcclCommunicator::capabilities() const {
  int version = 0;
  ncclGetVersion(&version);
  return {false,
          fmt::format("NCCL {}.{}.{} between the memories of the GPUs", version / 10000, version % 10000 / 100,
                      version % 100),
          "library"};
}

Arena NcclCommunicator::allocate(std::int64_t bytes) {
  use_gpu();
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* data = nullptr;
  if (const ncclResult_t code = ncclMemAlloc(&data, size); code != ncclSuccess) {
    cudaGetLastError();
    throw environment_error("memory of the GPU", fmt::format("{} bytes ({})", bytes, ncclGetErrorString(code)),
                            "that much memory", "a smaller model or batch, or more ranks");
  }
  arenas_.push_back(data);
  check_cuda(cudaMemsetAsync(data, 0, size, collectives(world_group).stream().get()), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(collectives(world_group).stream().get()), "cudaStreamSynchronize");
  for (const NcclLane* lane : collectives_) {
    if (!lane) continue;
    void* handle = nullptr;
    check_nccl(ncclCommRegister(lane->handle(), data, size, &handle), "ncclCommRegister");
    if (handle) registrations_.push_back({lane->handle(), handle});
  }
  return {static_cast<std::byte*>(data), bytes, false};
}

void NcclCommunicator::sleep(std::uint32_t seen, double limit_s) {
  host_.sleep(seen, polling_.pause_s(limit_s, waits_for_end()));
}

void NcclCommunicator::fail(const std::string& cause) {
  const auto end = Clock::now() + look_for_dead;
  while (!failed_ && Clock::now() < end) host_.sleep(host_.events());  // throws when it knows
  failed_ = true;
  host_.abort(cause);
  throw PeerFailure(rank(), cause);
}

std::unique_ptr<WorkState> NcclCommunicator::start_collective(const CollectiveCall& call) {
  if (!call.buffer.on_device) return collective_on_host(host_, call, traffic_);
  traffic_ += moved_by_library(call, static_cast<int>(groups().members(call.group).size()), rank());
  auto work = std::make_unique<NcclWork>(*this, collectives(call.group),
                                         NcclOperation{.kind = operation_of(call.kind),
                                                       .buffer = call.buffer,
                                                       .shares = call.shares,
                                                       .root = groups().position(call.group, call.root)});
  work->release();
  return work;
}

std::unique_ptr<WorkState> NcclCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  if (!buffer.on_device) return forward_to_host(host_.send(buffer, to, message));
  NcclLane& lane = messages({rank(), to, message.channel});
  auto work = std::make_unique<NcclWork>(*this, lane, NcclOperation{NcclOperation::Kind::send, buffer, to});
  work->send_header(message);
  return work;
}

std::unique_ptr<WorkState> NcclCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  if (!buffer.on_device) return forward_to_host(host_.recv(buffer, from, message));
  NcclLane& lane = messages({from, rank(), message.channel});
  auto work = std::make_unique<NcclWork>(*this, lane, NcclOperation{NcclOperation::Kind::recv, buffer, from});
  work->receive_header(message);
  return work;
}

std::unique_ptr<WorkState> NcclCommunicator::start_barrier() { return forward_to_host(host_.barrier()); }

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, int gpu, std::vector<MessageLane> lanes,
                                                     NcclOptions options) {
  return std::make_unique<NcclCommunicator>(host, gpu, std::move(lanes), options);
}

}  // namespace parabench::comm
