// Training on threads of this process whose operations are preceded by delays that the thread sleeps.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "datasets/source.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/training_work.h"
#include "parallelism/plan/routes.h"

namespace parabench {

/// Sleeps before each operation of a rank's compute lane; not in steps for which the rank comes too late.
class Delayed final : public exec::RankWork {
 public:
  Delayed(exec::RankWork& inner, const std::vector<plan::Op>& ops, std::vector<double> delays)
      : inner_(inner), ops_(ops), delays_(std::move(delays)) {}
  void enter(bool computes) override { inner_.enter(computes); }
  void queue(int index) override { inner_.queue(index); }
  void begin(int index) override { inner_.begin(index); }
  void compute(int index) override {
    if (delays_[index] > 0 && too_late_ != ops_[index].step)
      std::this_thread::sleep_for(std::chrono::duration<double>(delays_[index]));
    inner_.compute(index);
  }
  void adds(int index, std::vector<plan::OpRef> awaited) override { inner_.adds(index, std::move(awaited)); }
  void comes_too_late(StepId step) override {
    too_late_ = step;
    inner_.comes_too_late(step);
  }
  void finish() override { inner_.finish(); }
  plan::Span computed(int index) const override { return inner_.computed(index); }
  bool is_done(int index) const override { return inner_.is_done(index); }
  comm::Work start(int lane, int index) override { return inner_.start(lane, index); }
  void given_out(int lane, int index, const comm::DeviceSpan& span) override { inner_.given_out(lane, index, span); }
  void end(int lane, int index) override { inner_.end(lane, index); }
  double patience_s() override { return inner_.patience_s(); }
  plan::Span transferred(int lane, int index, const plan::Span& seen) const override {
    return inner_.transferred(lane, index, seen);
  }

 private:
  exec::RankWork& inner_;
  const std::vector<plan::Op>& ops_;
  std::vector<double> delays_;
  std::optional<StepId> too_late_;
};

/// What all ranks did, and what each knows of it.
struct DelayedTraining {
  plan::Timeline timeline;
  std::vector<exec::Execution> ranks;
};

/// `delays`: seconds before each operation of a rank's compute lane.
inline DelayedTraining train_delayed(const plan::Plan& plan, const models::ModelSpec& model,
                                     const datasets::DatasetSpec& data,
                                     const std::function<std::vector<double>(Rank)>& delays) {
  static exec::MemoryAccount accounts[16];
  DelayedTraining result{.timeline = {.origin = std::numeric_limits<double>::infinity()}};
  result.timeline.ranks.resize(plan.spec.np);
  result.ranks.resize(plan.spec.np);
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    exec::StageState state(plan, model, comm, *device);
    exec::RankInput input = exec::open_input(plan, comm.rank(), datasets::open_source(data, {}), {}, *device);
    const plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
    exec::TrainingWork work(plan, model, state, needs, comm, input, *device, StepId(0));
    Delayed delayed(work, plan.ranks[comm.rank().value].compute(), delays(comm.rank()));
    exec::RankSpans spans = exec::run_lanes(plan, needs, comm, delayed);
    const std::lock_guard lock(mutex);
    result.timeline.origin = std::min(result.timeline.origin, spans[plan::compute_lane].front().queued);
    result.timeline.ranks[comm.rank().value] = std::move(spans);
    result.ranks[comm.rank().value] = work.take_result();
  });
  return result;
}

}  // namespace parabench
