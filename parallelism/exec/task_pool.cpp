#include "parallelism/exec/task_pool.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sched.h>

#include <atomic>
#include <mutex>
#include <utility>

namespace parabench::exec {
namespace {

/// Threads that come from outside: the rank's own, which computes, and the communicating one, which only adds.
constexpr int from_outside = 2;

/// Of the process's threads that the library lends to one arena after the other: where each computes, and how.
class Arrival final : public tbb::task_scheduler_observer {
 public:
  Arrival(tbb::task_arena& arena, std::function<void()> enter)
      : tbb::task_scheduler_observer(arena), enter_(std::move(enter)) {
    CPU_ZERO(&cores_);
    knows_cores_ = sched_getaffinity(0, sizeof(cores_), &cores_) == 0;
    observe(true);
  }
  ~Arrival() override { observe(false); }
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  void on_scheduler_entry(bool is_lent) override {
    if (!is_lent) return;
    if (knows_cores_) sched_setaffinity(0, sizeof(cores_), &cores_);
    enter_();
  }

 private:
  std::function<void()> enter_;
  cpu_set_t cores_;
  bool knows_cores_ = false;
};

}  // namespace

struct TaskPool::Arena {
  Arena(int threads, int pools, std::function<void()> enter)
      : lent(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads - 1) * pools + 1),
        arena(threads - 1 + from_outside, from_outside),
        arrival(arena, std::move(enter)) {
    arena.execute([this] { open = tasks.defer([] {}); });
  }

  tbb::global_control lent;  // counts one thread from outside
  tbb::task_arena arena;
  tbb::task_group tasks;
  tbb::task_handle open;  // a task that is never run: while it is there, run() does not end
  std::mutex closing;
  Arrival arrival;
};

TaskPool::TaskPool(int threads, int pools, std::function<void()> enter)
    : arena_(std::make_unique<Arena>(threads, pools, std::move(enter))) {}

TaskPool::~TaskPool() {
  close();
  arena_->arena.execute([this] { arena_->tasks.wait(); });
}

void TaskPool::add(std::function<void()> task) {
  arena_->arena.execute([&] { arena_->tasks.run(std::move(task)); });
}

// The library tells sleepers of a new task without a fence, since whoever adds it would run it, if nobody else did
// (arena.h of oneTBB: "TBB allows parallelism, but never promises parallelism"). A second task, told behind a fence,
// makes up for that.
void TaskPool::wake() {
  arena_->arena.execute([this] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    arena_->tasks.run([] {});
  });
}

void TaskPool::run() {
  arena_->arena.execute([this] { arena_->tasks.wait(); });
}

void TaskPool::close() {
  arena_->arena.execute([this] {
    const std::lock_guard lock(arena_->closing);
    const tbb::task_handle ended = std::move(arena_->open);
  });
}

}  // namespace parabench::exec
