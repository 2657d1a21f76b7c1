#include "tests/parallelism/comm/cuda/on_device.h"

namespace parabench::comm {
namespace {

BufferView on_device(BufferView buffer) {
  buffer.on_device = true;
  return buffer;
}

}  // namespace

std::unique_ptr<WorkState> OnDevice::start_collective(const CollectiveCall& call) {
  CollectiveCall there = call;
  there.buffer = on_device(call.buffer);
  return ForwardingCommunicator::start_collective(there);
}

std::unique_ptr<WorkState> OnDevice::start_send(BufferView buffer, Rank to, Message message) {
  return ForwardingCommunicator::start_send(on_device(buffer), to, message);
}

std::unique_ptr<WorkState> OnDevice::start_recv(BufferView buffer, Rank from, Message message) {
  return ForwardingCommunicator::start_recv(on_device(buffer), from, message);
}

}  // namespace parabench::comm
