#include "parallelism/exec/firing.h"

#include <utility>

#include "base/clock.h"

namespace parabench::exec {

Firing::Firing(const plan::Plan& plan, Rank rank, const plan::LocalDependencies& needs, int pools, Calls calls)
    : calls_(std::move(calls)),
      readiness_(plan, rank, needs),
      left_(static_cast<int>(plan.ranks[rank.value].compute().size())),
      pool_(operations_at_once(plan.spec), pools, calls_.enter) {
  for (const plan::OpRef& op : readiness_.initial())
    if (op.lane == plan::compute_lane) may_start_.push(op.index);
  at_once_ = static_cast<int>(may_start_.size());
}

void Firing::run() {
  if (left_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (running_ == 0 && may_start_.empty()) calls_.waits(true);
  }
  add_tasks(at_once_);
  pool_.run();
}

/// One for each operation that may start, though not a certain one: whoever runs it takes the first there is.
void Firing::add_tasks(int count) {
  for (; count > 0; --count) pool_.add([this] { take_one(); });
}

void Firing::take_one() {
  int index = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return;
    index = may_start_.top();
    may_start_.pop();
    if (running_++ == 0) calls_.waits(false);
  }
  try {
    calls_.compute(index);
    end({.lane = plan::compute_lane, .index = index});
  } catch (...) {
    calls_.fail();
    stop();
  }
}

void Firing::end(const plan::OpRef& op) {
  int now_ready = 0;
  bool all_ended = false;
  {
    const std::lock_guard lock(mutex_);
    std::vector<plan::OpRef> ready;
    readiness_.end(op, ready);
    for (const plan::OpRef& next : ready) {
      if (next.lane != plan::compute_lane) continue;
      may_start_.push(next.index);
      ++now_ready;
    }
    if (op.lane == plan::compute_lane) {
      --running_;
      all_ended = --left_ == 0;
    }
    if (running_ == 0 && may_start_.empty()) calls_.waits(true);
  }
  add_tasks(now_ready);
  if (op.lane != plan::compute_lane && now_ready > 0) pool_.wake();
  if (all_ended) pool_.close();
}

void Firing::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  pool_.close();
}

double empty_operation_s(const plan::Plan& plan, Rank rank) {
  const plan::RankProgram& program = plan.ranks[rank.value];
  if (program.compute().empty()) return 0;
  const plan::LocalDependencies needs = plan::dependencies(plan, rank);
  Firing firing(plan, rank, needs, plan.spec.np,
                {.enter = [] {}, .compute = [](int) {}, .waits = [](bool) {}, .fail = [] {}});
  const double begin = now_s();
  for (int lane = plan::compute_lane + 1; lane < std::ssize(program.lanes); ++lane)
    for (int i = 0; i < std::ssize(program.lanes[lane].ops); ++i) firing.given_out({rank, lane, i});
  firing.run();
  return (now_s() - begin) / static_cast<double>(program.compute().size());
}

}  // namespace parabench::exec
