#include "tests/gpu/runtime/device_buffers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "parallelism/comm/cuda/runtime.h"

namespace parabench::exec {

/// Copies in before the operation starts and back when it has ended.
class CopiedWork final : public comm::WorkState {
 public:
  CopiedWork(DeviceBuffers& comm, comm::BufferView host, const std::function<comm::Work(comm::BufferView)>& start)
      : comm_(comm), host_(host), device_(host) {
    comm::check_cuda(cudaSetDevice(comm_.gpu_), "cudaSetDevice");
    device_.data = comm_.behind(host);
    if (!device_.data) {
      own_ = comm::make_memory(static_cast<std::size_t>(std::max<std::int64_t>(host.bytes, 1)));
      device_.data = own_.get();
    }
    device_.on_device = true;
    copy(device_.data, host_.data);
    work_ = start(device_);
  }

  bool advance() override {
    if (!work_.test()) return false;
    comm::check_cuda(cudaSetDevice(comm_.gpu_), "cudaSetDevice");
    copy(host_.data, device_.data);
    return true;
  }

 private:
  void copy(void* to, const void* from) const {
    comm::check_cuda(cudaMemcpy(to, from, static_cast<std::size_t>(host_.bytes), cudaMemcpyDefault), "cudaMemcpy");
    comm::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  DeviceBuffers& comm_;
  comm::BufferView host_, device_;
  comm::DeviceMemory own_;
  comm::Work work_;
};

comm::Arena DeviceBuffers::allocate(std::int64_t bytes) {
  constexpr std::size_t alignment = 64;
  const comm::Arena device = inner_.allocate(bytes);
  auto memory = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes) + alignment);
  void* aligned = memory.get();
  std::size_t space = static_cast<std::size_t>(bytes) + alignment;
  std::byte* const host =
      static_cast<std::byte*>(std::align(alignment, static_cast<std::size_t>(bytes), aligned, space));
  shadows_.push_back({std::move(memory), host, device});
  return {host, bytes, device.shared};
}

void* DeviceBuffers::behind(comm::BufferView buffer) const {
  const auto* data = static_cast<const std::byte*>(buffer.data);
  for (const Shadow& shadow : shadows_) {
    const std::less_equal<> before;
    if (before(shadow.host, data) && before(data + buffer.bytes, shadow.host + shadow.device.bytes))
      return shadow.device.data + (data - shadow.host);
  }
  return nullptr;
}

std::unique_ptr<comm::WorkState> DeviceBuffers::start_collective(const comm::CollectiveCall& call) {
  return std::make_unique<CopiedWork>(*this, call.buffer, [&](comm::BufferView device) {
    comm::CollectiveCall there = call;
    there.buffer = device;
    return comm::Work(ForwardingCommunicator::start_collective(there));
  });
}

std::unique_ptr<comm::WorkState> DeviceBuffers::start_send(comm::BufferView buffer, Rank to, comm::Message message) {
  return std::make_unique<CopiedWork>(*this, buffer,
                                      [&](comm::BufferView device) { return inner_.send(device, to, message); });
}

std::unique_ptr<comm::WorkState> DeviceBuffers::start_recv(comm::BufferView buffer, Rank from, comm::Message message) {
  return std::make_unique<CopiedWork>(*this, buffer,
                                      [&](comm::BufferView device) { return inner_.recv(device, from, message); });
}

}  // namespace parabench::exec
