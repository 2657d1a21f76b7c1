// Servers that do without the gradients of whoever comes too late, on paper.
#include <gmock/gmock.h>

#include <array>
#include <functional>

#include "analytic/simulate/predict.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/dependencies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using testing::Each;

plan::Plan served(int np, const std::string& mode, const std::string& k, int steps, int bucket = 1 << 20,
                  const std::string& servers = "1") {
  Case spec = case_of("parameter-server", np, 12);
  spec.bucket = Bytes(bucket);
  spec.strategy.parameters = {{"servers", servers}, {"mode", mode}};
  if (!k.empty()) spec.strategy.parameters.push_back({"k", k});
  return plan::unroll(test_plan(spec, 2), steps);
}

/// Passes of 2 s forward and 4 s backward over the two layers, times what a rank's step takes longer; nothing else
/// takes time.
HandCosts slowed(const std::function<double(Rank, StepId)>& factor, int cores = 0) {
  return HandCosts(
      [factor](Rank rank, const plan::Op& op, int busy) {
        return KindSeconds{}(rank, op, busy) * (plan::is_pass(op.kind) ? factor(rank, op.step) : 1);
      },
      cores);
}

std::vector<double> durations(const plan::Plan& plan, const HandCosts& costs) {
  return plan::step_durations(plan, simulate(plan, costs));
}

constexpr double usual = 2 * (1 + 2);

TEST(BackupWorkers, ASlowWorkerIsNotWaitedFor) {
  for (const double factor : {1.3, 1.7, 2.0, 2.5}) {
    const auto slow = [factor](Rank rank, StepId) { return rank == Rank(1) ? factor : 1; };
    for (const int bucket : {1, 1 << 20}) {
      for (const std::string servers : {"1", "2"}) {
        const int np = servers == "1" ? 4 : 5;
        EXPECT_THAT(durations(served(np, "backup", "1", 24, bucket, servers), slowed(slow)), Each(usual)) << factor;
        EXPECT_THAT(durations(served(np, "sync", "", 6, bucket, servers), slowed(slow)),
                    Each(testing::DoubleNear(factor * usual, 1e-9)));
      }
    }
  }
}

TEST(BackupWorkers, TheStepIsAsLongAsThatOfTheLastOneTaken) {
  const auto each = [](Rank rank, StepId) { return std::array{1.0, 1.5, 1.25, 3.0, 1.0}[rank.value]; };
  EXPECT_THAT(durations(served(5, "backup", "1", 12), slowed(each)), Each(1.5 * usual));
  EXPECT_THAT(durations(served(5, "backup", "2", 12), slowed(each)), Each(1.25 * usual));
  EXPECT_THAT(durations(served(5, "backup", "3", 12), slowed(each)), Each(usual));
}

// Who was late stays behind by what is left of whole steps, and the next one's lateness shows that alone.
TEST(BackupWorkers, LatenessNowAndThenCostsAStepAtMost) {
  const auto late = [](Rank rank, StepId step) {
    return step.value % 4 == 1 && rank.value == step.value / 4 ? 1 + 13 / usual : 1;
  };
  EXPECT_THAT(durations(served(4, "backup", "1", 12), slowed(late)), Each(testing::Le(2 * usual)));
  EXPECT_THAT(durations(served(4, "sync", "", 12), slowed(late)),
              testing::Contains(testing::DoubleNear(usual + 13, 1e-9)).Times(3));
}

/// Steps, of so many, in which the passes of a rank took time.
int computed(const plan::Plan& plan, const plan::Timeline& timeline, int rank) {
  int steps = 0;
  const std::vector<plan::Op>& ops = plan.ranks[rank].compute();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const plan::Span& span = timeline.ranks[rank][plan::compute_lane][i];
    steps += ops[i].kind == plan::OpKind::forward && ops[i].segment == SegmentId(0) && span.end > span.start;
  }
  return steps;
}

TEST(BackupWorkers, WhoComesTooLateLeavesStepsOut) {
  const plan::Plan plan = served(4, "backup", "1", 24);
  const auto slow = [](Rank rank, StepId) { return rank == Rank(2) ? 2.5 : 1; };
  const plan::Timeline timeline = simulate(plan, slowed(slow));
  EXPECT_EQ(computed(plan, timeline, 0), 24);
  EXPECT_GE(computed(plan, timeline, 2), 9) << "24 / 2.5";
  EXPECT_LE(computed(plan, timeline, 2), 13);
  // The slow one's gradients are still on their way when an update is made: none is ever taken.
  const int receives = plan.ranks[3].find_lane(plan::receives_from(Rank(2), plan::Payload::gradients));
  const std::vector<plan::Op>& ops = plan.ranks[3].compute();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != plan::OpKind::update) continue;
    EXPECT_GT(timeline.ranks[3][receives][ops[i].step.value].end, timeline.ranks[3][plan::compute_lane][i].end);
  }
}

// Its versions and the server's next one allow for three steps beyond its own.
TEST(BackupWorkers, WhoTakesManyStepsForOneHoldsTheOthersUpForAPartOfIt) {
  const auto slow = [](Rank rank, StepId) { return rank == Rank(0) ? 10.0 : 1; };
  const std::vector<double> steps = durations(served(4, "backup", "1", 48), slowed(slow));
  double sum = 0;
  for (std::size_t i = 8; i < steps.size(); ++i) sum += steps[i];
  const double mean = sum / static_cast<double>(steps.size() - 8);
  EXPECT_GT(mean, 10 * usual / 4);
  EXPECT_LT(mean, 10 * usual / 3 + 0.1);
}

TEST(BackupWorkers, SharedCoresChangeNothingWhereThereAreEnough) {
  const auto slow = [](Rank rank, StepId step) { return rank.value == step.value % 3 ? 1.7 : 1; };
  const plan::Plan plan = served(4, "backup", "1", 9, 1);
  const std::vector<double> alone = durations(plan, slowed(slow)), shared = durations(plan, slowed(slow, 64));
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(shared[i], alone[i], 1e-6);
}

TEST(BackupWorkers, GainNothingWhereAllAreEqual) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int busy) {
    if (op.kind == plan::OpKind::add) return 2.0;
    return KindSeconds{.message = 1, .update = 3}(rank, op, busy);
  });
  Case spec = case_of("parameter-server", 5, 12);
  spec.strategy.parameters = {{"mode", "backup"}, {"k", "1"}};
  const Predicted p = predict(test_plan(spec, 3), chain(3), costs, costs, 4, 8);
  // Passes of 9 s, a push, an addition for each of three workers, an update, a pull.
  EXPECT_DOUBLE_EQ(p.step_time_s, 9 + 1 + 3 * 2 + 3 + 1);
  EXPECT_DOUBLE_EQ(p.second_opinion_step_time_s.at("parameter_server"), 9 + 3 * 2 + 3) << "these costs have no link";
  EXPECT_DOUBLE_EQ(p.throughput_samples_per_s, 9 / p.step_time_s) << "samples that updates are made of";
}

}  // namespace
}  // namespace parabench::analytic
