// A rank's threads that compute, where operations are fired by readiness: a work-stealing pool, one arena of oneTBB.
#pragma once

#include <functional>
#include <memory>

namespace parabench::exec {

/// Tasks that come while others run. A task goes to the thread that adds it, which takes its own latest first; a thread
/// without work steals from the others. Threads without work sleep after a while (of some ten microseconds).
class TaskPool {
 public:
  /// So many threads run tasks: the one that calls run(), and others of the pool, which run on the same cores as the
  /// caller of this and call `enter` before the first task and whenever they come back to this pool. `pools`: at
  /// least as many as there are in the process, of as many threads.
  TaskPool(int threads, int pools, std::function<void()> enter);
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  /// From any of its threads, and from one other at a time. `task` does not throw.
  void add(std::function<void()> task);
  /// After add() by the thread that runs no tasks: whoever was about to sleep has seen them.
  void wake();
  /// The calling thread takes part until the pool is closed and all tasks have ended. Once.
  void run();
  /// No more tasks will be added; further calls do nothing. From wherever add() may be called.
  void close();

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace parabench::exec
