// When firing by readiness is shorter than the plan's order, on paper: both orders of a schedule under the same times,
// simulated.
// readiness_study [stages [micro-batches]]
//
// A forward of an even stage takes a second, a backward two (its halves one each), a message 50 ms. One stage may take
// twice as long. `jitter`: every operation's time is multiplied by a log-normal factor of mean 1 with this coefficient
// of variation. Of 20 draws, eight steps each: the median of (ordered / futurized), and its range.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "analytic/costs/time_model.h"
#include "analytic/simulate/simulate.h"
#include "base/statistics.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench {
namespace {

constexpr int draws = 20, steps = 8;
constexpr double message_s = .05;

struct Times {
  int slow_stage = 0;
  double slow = 1, jitter = 0;
  int seed = 0;
};

/// Uniform in (0, 1), the same for the same operation in every order.
double uniform(int seed, Rank rank, const plan::Op& op, int salt) {
  std::uint64_t h = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15ULL;
  for (const int field :
       {rank.value, static_cast<int>(op.kind), op.segment.value, op.micro_batch.value, op.step.value, salt}) {
    h = (h ^ static_cast<std::uint32_t>(field)) * 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 29;
  }
  return (static_cast<double>(h >> 11) + .5) * 0x1p-53;
}

class Jittered final : public analytic::TimeModel {
 public:
  explicit Jittered(const Times& times) : times_(times) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    if (!plan::is_pass(op.kind)) return {.transfer = plan::is_message(op.kind) ? message_s : 0};
    const double share = static_cast<double>(plan.spec.np) / plan.stages;
    const double base = op.kind == plan::OpKind::backward ? 2 : 1;
    const bool slow = plan::stage_of(plan, op.segment).value == times_.slow_stage;
    const double sigma2 = std::log(1 + times_.jitter * times_.jitter);
    const double normal = std::sqrt(-2 * std::log(uniform(times_.seed, rank, op, 0))) *
                          std::cos(2 * M_PI * uniform(times_.seed, rank, op, 1));  // Box and Muller 1958
    return {.compute = share * base * (slow ? times_.slow : 1) * std::exp(std::sqrt(sigma2) * normal - sigma2 / 2)};
  }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }

 private:
  Times times_;
};

double step_s(plan::Plan plan, ExecutorKind executor, const Times& times) {
  plan.spec.executor = executor;
  const plan::Plan window = plan::unroll(plan, steps);
  return plan::makespan(analytic::simulate(window, Jittered(times))) / steps;
}

models::ModelSpec chain(int layers) {
  models::ModelSpec model{.name = "chain", .input = {4}, .classes = 4, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    std::string name = "l";
    name += std::to_string(i);
    model.layers.push_back(models::chain(name, {{name, models::Linear{4, 4}}}));
  }
  return model;
}

void study(int stages, int micro_batches) {
  std::printf("%d ranks, %d micro-batches\n%-12s %-22s %8s  %s\n", stages, micro_batches, "schedule", "slow stage",
              "jitter", "ordered / futurized");
  for (const plan::Strategy& strategy : plan::strategies()) {
    Case spec;
    spec.strategy.name = strategy.name;
    spec.np = stages;
    spec.micro = spec.batch = micro_batches;
    if (!strategy.schedule.order || !strategy.uses("micro") || strategy.delay || strategy.from_file) continue;
    if (strategy.refuse && strategy.refuse(strategy.pipe(spec))) continue;
    const int layers = strategy.stages(spec);
    const plan::Plan plan = plan::make_plan(spec, chain(layers), std::vector<double>(layers, 1.0), 1);
    struct Slow {
      const char* name;
      int stage;
      double factor;
    };
    for (const Slow& slow : {Slow{"none", 0, 1},
                             {"first, twice", 0, 2},
                             {"middle, twice", plan.stages / 2, 2},
                             {"last, twice", plan.stages - 1, 2}}) {
      for (const double jitter : {0.0, 0.3, 1.0}) {
        std::vector<double> ratios;
        for (int seed = 0; seed < (jitter > 0 ? draws : 1); ++seed) {
          const Times times{slow.stage, slow.factor, jitter, seed};
          ratios.push_back(step_s(plan, ExecutorKind::ordered, times) / step_s(plan, ExecutorKind::futurized, times));
        }
        const auto [least, most] = std::ranges::minmax(ratios);
        std::printf("%-12s %-22s %8.1f  %.3f (%.3f to %.3f)\n", std::string(strategy.name).c_str(), slow.name, jitter,
                    median(ratios), least, most);
      }
    }
  }
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  const int stages = argc > 1 ? std::atoi(argv[1]) : 4;
  parabench::study(stages, argc > 2 ? std::atoi(argv[2]) : 4 * stages);
}
