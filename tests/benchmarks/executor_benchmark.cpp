// Steps in the plan's order against steps fired by readiness (executor:futurized): the same plan by turns, ranks as
// threads of this process, with a delay before each pass if asked for.
// executor_benchmark [case [steps [rounds [delay in ms [slow [even|exponential]]]]]]
//
// A forward is delayed so long, a backward twice as long, its halves once each; those of rank 0 `slow` times as long.
// Exponential: times a factor of mean 1, drawn once for each operation, the same in both arms. The thread sleeps its
// delays, so that with small layers more ranks than cores are tried. Layers count as equally long, so that
// partition:time cuts evenly. Prints for each arm the median of the rounds' median steps and their range, then the same
// of the rounds' ratios (ordered / futurized), and of the share of operations that started before one that stands
// before them in the plan.
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/case_id.h"
#include "base/statistics.h"
#include "parallelism/exec/firing.h"
#include "parallelism/plan/strategies/strategies.h"
#include "tests/benchmarks/delayed_training.h"

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
      const plan::Timeline timeline =
          train_delayed(plan, model, data, [&](Rank rank) { return delays(plan, rank, delay); }).timeline;
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
