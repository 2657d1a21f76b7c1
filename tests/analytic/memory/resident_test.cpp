#include "analytic/memory/resident.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytic/simulate/predict.h"
#include "tests/analytic/chain_memory.h"

namespace parabench::analytic {
namespace {

constexpr std::int64_t process_bytes = 1'000'000;

HandCosts costs_of_processes() {
  HandCosts costs(KindSeconds{});
  costs.process = process_bytes;
  costs.saved = 1000;
  return costs;
}

TEST(ResidentMemory, IsTheProcessAndWhatItCounts) {
  const HandCosts costs = costs_of_processes();
  for (const plan::Plan& plan : {test_plan(case_of("sequential", 1, 4), 3), gpipe(3, 4), pipedream(3, 6)}) {
    for (int rank = 0; rank < std::ssize(plan.ranks); ++rank) {
      const MemoryUsage usage = peak(plan, 3, costs, rank);
      EXPECT_EQ(usage.resident, process_bytes + usage.total_counted()) << rank;
    }
  }
}

TEST(ResidentMemory, IsUnknownWhereNobodyMeasuredTheProcess) {
  EXPECT_EQ(peak(gpipe(3, 4), 3, HandCosts(KindSeconds{}), 0).resident, 0);
}

TEST(ResidentMemory, HasTheShareOfOtherArenasThatARankReducesIn) {
  const HandCosts costs = costs_of_processes();
  for (const int ranks : {2, 3, 4}) {
    const plan::Plan plan = data_parallel(ranks, 12);
    const std::int64_t gradients = 12 * chain_layer_bytes;
    const MemoryUsage usage = peak(plan, 12, costs, ranks - 1);
    EXPECT_EQ(usage[MemoryCategory::gradients], gradients);
    EXPECT_EQ(usage.resident, process_bytes + usage.total_counted() + gradients / ranks * (ranks - 1)) << ranks;
  }
}

TEST(ResidentMemory, HasNothingOfRanksThatAreSentMessages) {
  plan::Plan plan = data_parallel(4, 12);
  const Sizes sizes(chain(12));
  EXPECT_GT(neighbours_bytes(plan, sizes, Rank(0)), 0);
  const std::int64_t of_four = neighbours_bytes(plan, sizes, Rank(0));
  plan.placement = in_blocks(4, 2);
  EXPECT_EQ(neighbours_bytes(plan, sizes, Rank(3)), of_four / 3 * 2) << "half of one other's, not three quarters";
  plan.placement = in_blocks(4, 4);
  EXPECT_EQ(neighbours_bytes(plan, sizes, Rank(3)), 0) << "alone on its host";
  plan.placement = {};
  plan.spec.reduce = ReduceKind::ring;
  EXPECT_EQ(neighbours_bytes(plan, sizes, Rank(0)), 0);
  plan.spec.reduce = ReduceKind::window;
  EXPECT_EQ(neighbours_bytes(plan, sizes, Rank(0)), of_four);
  plan.spec.comm = CommKind::threads;
  EXPECT_EQ(neighbours_bytes(plan, sizes, Rank(0)), 0) << "all are in one process";
}

TEST(ResidentMemory, IsATermOfThePrediction) {
  const HandCosts costs = costs_of_processes();
  const plan::Plan plan = data_parallel(2, 2);
  const auto has_term = [&](const MemoryModel& memory, double bytes) {
    const Predicted predicted = predict(plan, chain(2), costs, memory, 1, 3);
    const auto term = std::ranges::find(predicted.terms, "memory_resident[rank 0]", &Term::name);
    if (term == predicted.terms.end()) return bytes == 0;
    EXPECT_EQ(predicted.ranks[0].peak_memory.resident, bytes);
    EXPECT_THAT(term->formula, testing::HasSubstr("process 1000000 + counted"));
    EXPECT_THAT(term->formula, testing::EndsWith("other ranks' arenas 64"));
    return term->value == bytes;
  };
  EXPECT_TRUE(has_term(costs, static_cast<double>(peak(plan::unroll(plan, 4), 2, costs, 0).resident)));
  EXPECT_TRUE(has_term(HandCosts(KindSeconds{}), 0)) << "where nothing is known of the process";
}

}  // namespace
}  // namespace parabench::analytic
