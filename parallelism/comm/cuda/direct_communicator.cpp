#include "parallelism/comm/cuda/direct_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/direct_collective.h"
#include "parallelism/comm/cuda/direct_messages.h"
#include "parallelism/comm/host_work.h"

namespace parabench::comm {

DirectCommunicator::DirectCommunicator(Communicator& host, int gpu)
    : Communicator(host.rank(), host.groups()), resources_(host, gpu), exceptions_(std::uncaught_exceptions()) {
  resources_.exchange().join(host);
}

DirectCommunicator::~DirectCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  resources_.exchange().leave(rank());
  cudaSetDevice(resources_.gpu());
}

Arena DirectCommunicator::allocate(std::int64_t bytes) {
  const std::vector<std::string> all = comm::all_gather(resources_.host(), std::to_string(bytes));
  for (int r = 0; r < size(); ++r) {
    if (all[r] == all[0]) continue;
    throw std::logic_error(
        fmt::format("allocate: {} bytes on rank 0, {} bytes on rank {}; expected the same on all", all[0], all[r], r));
  }
  resources_.use_gpu();
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* data = nullptr;
  if (const cudaError_t code = cudaMalloc(&data, size); code != cudaSuccess) {
    cudaGetLastError();
    throw environment_error("memory of the GPU", fmt::format("{} bytes ({})", bytes, cudaGetErrorString(code)),
                            "that much memory", "a smaller model or batch, or fewer ranks per GPU");
  }
  arenas_.emplace_back(data);
  const Stream& stream = resources_.collectives(world_group).stream;
  check_cuda(cudaMemsetAsync(data, 0, size, stream.get()), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  return {static_cast<std::byte*>(data), bytes, true};
}

void DirectCommunicator::sleep(std::uint32_t seen, double limit_s) {
  resources_.host().sleep(seen, resources_.polling().pause_s(limit_s, waits_for_end()));
}

std::unique_ptr<WorkState> DirectCommunicator::start_collective(const CollectiveCall& call) {
  if (!call.buffer.on_device) return collective_on_host(resources_.host(), call, traffic_);
  return std::make_unique<DirectCollective>(resources_, call, traffic_);
}

std::unique_ptr<WorkState> DirectCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  if (!buffer.on_device) return forward_to_host(resources_.host().send(buffer, to, message));
  return std::make_unique<DirectSend>(resources_, MessageLane{rank(), to, message.channel}, buffer, message.tag);
}

std::unique_ptr<WorkState> DirectCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  if (!buffer.on_device) return forward_to_host(resources_.host().recv(buffer, from, message));
  return std::make_unique<DirectReceive>(resources_, MessageLane{from, rank(), message.channel}, buffer, message.tag);
}

std::unique_ptr<WorkState> DirectCommunicator::start_barrier() { return forward_to_host(resources_.host().barrier()); }

std::unique_ptr<Communicator> make_direct_communicator(Communicator& host, int gpu) {
  return std::make_unique<DirectCommunicator>(host, gpu);
}

}  // namespace parabench::comm
