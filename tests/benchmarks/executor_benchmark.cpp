// Steps in the plan's order against steps fired by readiness (executor:futurized): the same plan by turns, ranks as
// threads of this process, with a delay before each pass if asked for.
// executor_benchmark [case [steps [rounds [delay in ms [slow [even|exponential]]]]]]
//
// A forward is delayed so long, a backward twice as long, its halves once each; those of rank 0 `slow` times as long.
// Exponential: times a factor of mean 1, drawn once for each operation, the same in both arms. The thread sleeps its
// delays, so that with small layers more ranks than cores are tried. Layers count as equally long, so that
// partition:time cuts evenly. Prints for each arm the median of the rounds' median steps and their range, then the same
// of the rounds' ratios (ordered / futurized), and of the share of operations that started before one that stands before
// them in the plan.
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

struct Delay {
  double forward_s = 0, slow = 1;
  bool is_exponential = false;
};

/// Seconds to sleep before each operation of a rank's compute lane.
std::vector<double> delays(const plan::Plan& plan, Rank rank, const Delay& delay) {
  std::mt19937 random(rank.value);
  std::exponential_distribution<double> factor;
  std::vector<double> result;
  for (const plan::Op& op : plan.ranks[rank.value].compute()) {
    const double units = !plan::is_pass(op.kind) ? 0 : op.kind == plan::OpKind::backward ? 2 : 1;
    const double drawn = delay.is_exponential ? factor(random) : 1;
    result.push_back(units * delay.forward_s * (rank == Rank(0) ? delay.slow : 1) * drawn);
  }
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
                     const Delay& delay) {
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
    Delayed delayed(work, delays(plan, comm.rank(), delay));
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

void compare(const std::string& id, int steps, int rounds, const Delay& delay) {
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
      const plan::Timeline timeline = train(plan, model, data, delay);
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
  const std::string kind = argc > 6 ? argv[6] : "even";
  parabench::compare(argc > 1 ? argv[1] : "resnet18[channels=16]/cifar10-synthetic/gpipe/np:2/batch:16/comm:threads",
                     static_cast<int>(number(2, 20)), static_cast<int>(number(3, 5)),
                     {1e-3 * number(4, 0), number(5, 1), kind == "exponential"});
}
