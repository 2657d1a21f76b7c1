// Collectives that one thread asks for and another carries out.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::exec {

/// When a collective was asked for and carried out, on the clock of now_s().
struct CollectiveTimes {
  std::int64_t bytes = 0;
  double asked = 0, start = 0, end = 0;
};

/// A thread that drives a communicator, which nobody else does meanwhile: what it is given, one after the other, in the
/// order given. Waiting it sleeps.
class CollectiveThread {
 public:
  /// Told by the thread once: nothing, or what went wrong.
  using Done = std::function<void(std::exception_ptr)>;

  /// The thread calls `enter` first.
  CollectiveThread(comm::Communicator& comm, std::function<void()> enter);
  /// Ends when what was given has ended. On the way out of a failure the communicator is to be aborted before.
  ~CollectiveThread();
  CollectiveThread(const CollectiveThread&) = delete;
  CollectiveThread& operator=(const CollectiveThread&) = delete;

  /// The memory must stay valid until `done` was called. After a failure whatever is given fails alike.
  void give(comm::CollectiveCall call, Done done);
  /// Of those that have ended and were not taken before, in order.
  std::vector<CollectiveTimes> take_times();

 private:
  struct Order {
    comm::CollectiveCall call;
    Done done;
    CollectiveTimes times;
  };
  void run();
  void carry_out(Order& order);

  comm::Communicator& comm_;
  std::function<void()> enter_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<Order> orders_;
  std::vector<CollectiveTimes> times_;
  bool stops_ = false;
  std::exception_ptr failure_;  ///< the thread's own
  std::thread thread_;
};

}  // namespace parabench::exec
