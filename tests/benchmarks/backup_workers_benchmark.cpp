// parameter-server with mode=sync against mode=backup, by turns: ranks as threads of this process, of whose workers
// some come late.
// backup_workers_benchmark [steps [rounds [step in ms [delay in ms [share [slow]]]]]]
//
// Four workers and a server train a small network. Every worker sleeps a third of its step before its first forward and
// the rest before its last backward; with probability `share`, drawn once for each worker and step and the same in all
// arms, it sleeps the delay besides, half the time before the forwards, half before the backwards. Worker 0 takes
// `slow` times as long. Prints for each arm the median over the rounds of their mean step and the range, and of worker
// 0 the shares of steps that updates took and in which it computed nothing, then the ratios to mode=sync.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/case_id.h"
#include "base/statistics.h"
#include "parallelism/plan/strategies/strategies.h"
#include "tests/benchmarks/delayed_training.h"

namespace parabench {
namespace {

constexpr int discarded = 3;

struct Lateness {
  double step_s = 0, delay_s = 0, share = 0, slow = 1;
};

std::vector<double> delays(const plan::Plan& plan, Rank rank, const Lateness& late, int round) {
  std::mt19937 random(1000 * round + rank.value);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> result;
  double forward_s = 0, backward_s = 0;
  for (const plan::Op& op : plan.ranks[rank.value].compute()) {
    const bool begins = op.kind == plan::OpKind::forward && op.segment == SegmentId(0);
    const bool ends = op.kind == plan::OpKind::backward && op.segment == SegmentId(0);
    if (begins) {
      const double slow = rank == Rank(0) ? late.slow : 1;
      const double delay_s = uniform(random) < late.share ? late.delay_s : 0;
      const bool early = uniform(random) < 0.5;
      forward_s = slow * late.step_s / 3 + (early ? delay_s : 0);
      backward_s = slow * late.step_s * 2 / 3 + (early ? 0 : delay_s);
    }
    result.push_back(begins ? forward_s : ends ? backward_s : 0);
  }
  return result;
}

struct Arm {
  const char* name;
  const char* parameters;
  std::vector<double> steps_s, taken, too_late;
};

void measure(Arm& arm, int steps, int round, const Lateness& late) {
  std::string id = "mlp[layers=3,hidden=64]/cifar10-synthetic/parameter-server";
  id += arm.parameters;
  id += "/np:5/batch:16/comm:threads";
  const Case spec = parse_case(id);
  const datasets::DatasetSpec data = datasets::make_dataset(spec.dataset);
  const models::ModelSpec model = models::make_model(spec.model, data.sample, data.classes, data.small_stem);
  const std::vector<double> equal(model.layers.size(), 1.0);
  const plan::Plan plan = plan::unroll(plan::make_plan(spec, model, equal, 1), discarded + steps);
  const DelayedTraining trained =
      train_delayed(plan, model, data, [&](Rank rank) { return delays(plan, rank, late, round); });
  const std::vector<double> ends = plan::step_completions(plan, trained.timeline);
  arm.steps_s.push_back((ends.back() - ends[discarded - 1]) / steps);
  int taken = 0;
  for (const std::vector<Rank>& step : trained.ranks.back().taken)
    taken += std::ranges::find(step, Rank(0)) != step.end();
  arm.taken.push_back(plan.taken > 0 ? static_cast<double>(taken) / plan.steps : 1);
  arm.too_late.push_back(static_cast<double>(trained.ranks[0].too_late.size()) / plan.steps);
}

void compare(int steps, int rounds, const Lateness& late) {
  std::vector<Arm> arms = {{"sync", ""}, {"backup, k=1", "[mode=backup,k=1]"}, {"backup, k=2", "[mode=backup,k=2]"}};
  for (int round = 0; round < rounds; ++round)
    for (Arm& arm : arms) measure(arm, steps, round, late);
  for (const Arm& arm : arms) {
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) ratios.push_back(arms[0].steps_s[round] / arm.steps_s[round]);
    const auto [least, most] = std::ranges::minmax(arm.steps_s);
    const auto [worst, best] = std::ranges::minmax(ratios);
    std::printf("%-12s %8.2f ms (%.2f to %.2f)  sync / it %.3f (%.3f to %.3f)  worker 0: taken %.2f, too late %.2f\n",
                arm.name, 1e3 * median(arm.steps_s), 1e3 * least, 1e3 * most, median(ratios), worst, best,
                median(arm.taken), median(arm.too_late));
  }
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  const auto number = [&](int place, double standard) { return argc > place ? std::atof(argv[place]) : standard; };
  parabench::exec::install_counting_allocator();
  parabench::compare(static_cast<int>(number(1, 40)), static_cast<int>(number(2, 5)),
                     {1e-3 * number(3, 20), 1e-3 * number(4, 40), number(5, 0.1), number(6, 1)});
}
