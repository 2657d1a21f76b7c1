#include "parallelism/exec/reducer/collective_thread.h"

#include <utility>

#include "base/clock.h"
#include "base/short_slices.h"

namespace parabench::exec {

CollectiveThread::CollectiveThread(comm::Communicator& comm, std::function<void()> enter)
    : comm_(comm), enter_(std::move(enter)), thread_([this] { run(); }) {}

CollectiveThread::~CollectiveThread() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  given_.notify_one();
  thread_.join();
}

void CollectiveThread::give(comm::CollectiveCall call, Done done) {
  const CollectiveTimes times{.bytes = call.buffer.bytes, .asked = now_s()};
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back({std::move(call), std::move(done), times});
  }
  given_.notify_one();
}

std::vector<CollectiveTimes> CollectiveThread::take_times() {
  const std::lock_guard lock(mutex_);
  return std::exchange(times_, {});
}

void CollectiveThread::carry_out(Order& order) {
  if (!failure_) {
    try {
      order.times.start = now_s();
      comm_.wait(comm_.collective(order.call));
      order.times.end = now_s();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  if (!failure_) {
    const std::lock_guard lock(mutex_);
    times_.push_back(order.times);
  }
  order.done(failure_);
}

void CollectiveThread::run() {
  ask_for_short_slices();
  enter_();
  for (;;) {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return stops_ || !orders_.empty(); });
    if (orders_.empty()) return;
    Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    carry_out(order);
  }
}

}  // namespace parabench::exec
