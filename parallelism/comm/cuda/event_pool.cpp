#include "parallelism/comm/cuda/event_pool.h"

#include <mutex>
#include <utility>
#include <vector>

namespace parabench::comm {

struct EventPool::Idle {
  std::mutex mutex;
  std::vector<Event> events;
};

EventPool::EventPool() : idle_(std::make_shared<Idle>()) {}

DeviceEvent EventPool::record(const Stream& stream) {
  Event event;
  {
    const std::lock_guard lock(idle_->mutex);
    if (!idle_->events.empty()) {
      event = std::move(idle_->events.back());
      idle_->events.pop_back();
    }
  }
  if (!event) event = make_timing_event();
  check_cuda(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  return {event.release(), [idle = idle_](void* raw) {
            const std::lock_guard lock(idle->mutex);
            idle->events.emplace_back(static_cast<cudaEvent_t>(raw));
          }};
}

void wait_for(const Stream& stream, void* event) {
  if (event) check_cuda(cudaStreamWaitEvent(stream.get(), static_cast<cudaEvent_t>(event), 0), "cudaStreamWaitEvent");
}

}  // namespace parabench::comm
