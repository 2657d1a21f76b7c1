#include "tests/comm/on_device.h"

#include "parallelism/comm/cuda/host_work.h"

namespace parabench {
namespace {

BufferView on_device(BufferView buffer) {
  buffer.on_device = true;
  return buffer;
}

}  // namespace

std::unique_ptr<WorkState> OnDevice::start_all_reduce(BufferView buffer) {
  return reduce_on_host(inner_, on_device(buffer), traffic_);
}

std::unique_ptr<WorkState> OnDevice::start_send(BufferView buffer, Rank to, Message message) {
  return forward_to_host(inner_.send(on_device(buffer), to, message));
}

std::unique_ptr<WorkState> OnDevice::start_recv(BufferView buffer, Rank from, Message message) {
  return forward_to_host(inner_.recv(on_device(buffer), from, message));
}

std::unique_ptr<WorkState> OnDevice::start_barrier() { return forward_to_host(inner_.barrier()); }

}  // namespace parabench
