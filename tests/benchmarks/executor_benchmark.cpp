// Steps in the plan's order against steps fired by readiness (executor:futurized): the same plan by turns, ranks as
// threads of this process, with a delay before each compute operation if asked for.
// executor_benchmark [case [steps [rounds [delay in ms]]]]
//
// Delays are drawn once for each operation, exponential with the given mean, the same in both arms; the thread sleeps
// them, as one does whose core another process has taken. Layers count as equally long, so that partition:uniform and
// partition:time cut alike. Prints for each arm the median step over all rounds with the least and the largest of the
// rounds' medians, then the ratio of the rounds' medians (ordered / futurized) with its range, and how many of the
// operations started before one that stands before them in the plan.
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/case_id.h"
#include "base/statistics.h"
#include "datasets/source.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/firing.h"
#include "parallelism/exec/training_work.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench {
namespace {

constexpr int discarded = 3;

/// Seconds to sleep before each operation of a rank's compute lane.
std::vector<double> delays(const plan::Plan& plan, Rank rank, double mean_s) {
  std::vector<double> result(plan.ranks[rank.value].compute().size(), 0.0);
  if (mean_s == 0) return result;
  std::mt19937 random(rank.value);
  std::exponential_distribution<double> delay(1 / mean_s);
  for (double& s : result) s = delay(random);
  return result;
}

class Delayed final : public exec::RankWork {
 public:
  Delayed(exec::RankWork& inner, std::vector<double> delays) : inner_(inner), delays_(std::move(delays)) {}
  void enter(bool computes) override { inner_.enter(computes); }
  void queue(int index) override { inner_.queue(index); }
  void begin(int index) override { inner_.begin(index); }
  void compute(int index) override {
    if (delays_[index] > 0) std::this_thread::sleep_for(std::chrono::duration<double>(delays_[index]));
    inner_.compute(index);
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
  std::vector<double> delays_;
};

plan::Timeline train(const plan::Plan& plan, const models::ModelSpec& model, const datasets::DatasetSpec& data,
                     double delay_s) {
  static exec::MemoryAccount accounts[16];
  plan::Timeline timeline{.origin = std::numeric_limits<double>::infinity()};
  timeline.ranks.resize(plan.spec.np);
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    exec::StageState state(plan, model, comm, *device);
    exec::RankInput input = exec::open_input(plan, comm.rank(), datasets::open_source(data, {}), {}, *device);
    const plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
    exec::TrainingWork work(plan, model, state, needs, comm, input, *device, StepId(0));
    Delayed delayed(work, delays(plan, comm.rank(), delay_s));
    exec::RankSpans spans = exec::run_lanes(plan, needs, comm, delayed);
    const std::lock_guard lock(mutex);
    timeline.origin = std::min(timeline.origin, spans[plan::compute_lane].front().queued);
    timeline.ranks[comm.rank().value] = std::move(spans);
  });
  return timeline;
}

double early_share(const plan::Timeline& timeline) {
  int early = 0, all = 0;
  for (const auto& rank : timeline.ranks) {
    double latest = 0;
    for (const plan::Span& span : rank[plan::compute_lane]) {
      early += span.start < latest;
      latest = std::max(latest, span.start);
      ++all;
    }
  }
  return static_cast<double>(early) / all;
}

std::string range(const std::vector<double>& values, double factor) {
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:8.3f} ({:.3f} to {:.3f})", factor * median(values), factor * least, factor * most);
}

void compare(const std::string& id, int steps, int rounds, double delay_s) {
  Case spec = parse_case(id);
  const datasets::DatasetSpec data = datasets::make_dataset(spec.dataset);
  const models::ModelSpec model = models::make_model(spec.model, data.sample, data.classes, data.small_stem);
  const std::vector<double> equal(model.layers.size(), 1.0);
  std::vector<double> ordered, futurized, ratios, early;
  double empty_s = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const ExecutorKind executor : {ExecutorKind::ordered, ExecutorKind::futurized}) {
      spec.executor = executor;
      const plan::Plan plan = plan::unroll(plan::make_plan(spec, model, equal, 1), discarded + steps);
      const plan::Timeline timeline = train(plan, model, data, delay_s);
      const double step_s = median(plan::step_samples(plan, timeline, StepId(discarded)));
      (is_futurized(spec) ? futurized : ordered).push_back(step_s);
      if (!is_futurized(spec)) continue;
      early.push_back(early_share(timeline));
      empty_s = exec::empty_operation_s(plan, Rank(0));
    }
    ratios.push_back(ordered.back() / futurized.back());
  }
  std::printf("ordered ms   %s\nfuturized ms %s\nratio        %s\nearly share  %s\nempty operation us %.2f\n",
              range(ordered, 1e3).c_str(), range(futurized, 1e3).c_str(), range(ratios, 1).c_str(),
              range(early, 1).c_str(), 1e6 * empty_s);
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  const auto number = [&](int place, double standard) { return argc > place ? std::atof(argv[place]) : standard; };
  parabench::exec::install_counting_allocator();
  parabench::compare(argc > 1 ? argv[1] : "resnet18[channels=16]/cifar10-synthetic/gpipe/np:2/batch:16/comm:threads",
                     static_cast<int>(number(2, 20)), static_cast<int>(number(3, 5)), 1e-3 * number(4, 0));
}
