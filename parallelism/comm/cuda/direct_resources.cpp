#include "parallelism/comm/cuda/direct_resources.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "base/error.h"
#include "parallelism/comm/cuda/sum_buffers.h"

namespace parabench::comm {

DirectResources::DirectResources(Communicator& host, int gpu)
    : host_(host),
      gpu_(gpu),
      exchange_(meet_at_exchange(host)),
      reachable_(host.size(), 1),
      collectives_(host.groups().count()) {
  for (CommGroupId group = world_group; host_.groups().has(group); ++group) {
    const std::int64_t members = std::ssize(host_.groups().members(group));
    if (members > most_summed) {
      throw usage_error("group of ranks on GPUs", fmt::format("{} members", members),
                        fmt::format("at most {}", most_summed), "fewer ranks");
    }
  }
  use_gpu();
  reach_peers();
}

void DirectResources::reach_peers() {
  const std::vector<std::string> gpus = all_gather(host_, std::to_string(gpu_));
  for (int r = 0; r < host_.size(); ++r) {
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

DirectResources::Queue& DirectResources::messages(const MessageLane& lane) {
  Queue& queue = messages_[lane];
  if (!queue.stream) {
    use_gpu();
    queue.stream = make_stream();
  }
  return queue;
}

DirectResources::Queue& DirectResources::collectives(CommGroupId group) {
  Queue& queue = collectives_[static_cast<std::size_t>(group.value)];
  if (!queue.stream) {
    use_gpu();
    queue.stream = make_stream();
  }
  return queue;
}

void* DirectResources::scratch(CommGroupId group, int position, std::int64_t bytes) {
  Scratch& place = scratch_[{group, position}];
  if (place.bytes < bytes) place = {make_memory(static_cast<std::size_t>(bytes)), bytes};
  return place.memory.get();
}

}  // namespace parabench::comm
