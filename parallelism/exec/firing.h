// Fires the compute operations of a rank by readiness (plan::Readiness) on a pool of its own.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <vector>

#include "parallelism/exec/task_pool.h"
#include "parallelism/plan/readiness.h"

namespace parabench::exec {

/// Each of operations_at_once(plan.spec) threads takes the first in the plan's order of those that may start, whenever
/// it is free: the pool decides who computes, not what, and with one thread not even that.
class Firing {
 public:
  struct Calls {
    std::function<void()> enter;       ///< by each thread before it computes, but by the one that calls run()
    std::function<void(int)> compute;  ///< an operation of the compute lane, by whichever thread; it may throw
    std::function<void(bool)> waits;   ///< whether nothing computes now, and none may start
    std::function<void()> fail;        ///< in a handler of what compute() threw
  };
  /// `pools`: as in TaskPool.
  Firing(const plan::Plan& plan, Rank rank, const plan::LocalDependencies& needs, int pools, Calls calls);

  /// Returns when all operations have ended, or stop() was called and those that run have ended.
  void run();
  /// By the communicating thread: an operation of another lane was given out.
  void given_out(const plan::OpRef& op) { end(op); }
  void stop();

 private:
  void add_tasks(int count);
  void take_one();
  void end(const plan::OpRef& op);

  Calls calls_;
  plan::Readiness readiness_;
  std::mutex mutex_;
  std::priority_queue<int, std::vector<int>, std::greater<>> may_start_;
  int at_once_ = 0;  ///< operations of the compute lane that wait for nothing
  int left_;         ///< those that have not ended
  int running_ = 0;
  bool stops_ = false;
  TaskPool pool_;
};

/// Seconds for each operation of the rank's compute lane where all that the lanes do is fired and none of it does
/// anything: what an operation costs by itself. 0 for a rank that computes nothing.
double empty_operation_s(const plan::Plan& plan, Rank rank);

}  // namespace parabench::exec
