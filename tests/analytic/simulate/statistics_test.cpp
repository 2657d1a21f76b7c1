// Sums of statistics of batch norms (sync_bn:on): their place in a step, their bytes, what they cost.
#include "parallelism/plan/passes/statistics.h"

#include <gmock/gmock.h>

#include "analytic/closed_forms/memory_form.h"
#include "analytic/closed_forms/second_opinion.h"
#include "analytic/closed_forms/traffic_form.h"
#include "analytic/costs/costs.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/memory/sizes.h"
#include "analytic/simulate/predict.h"
#include "analytic/simulate/simulate.h"
#include "models/spec/synchronised.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr int channels = 4, norms = 3, parts = 6;

/// Three layers with a batch norm each, cut into two parts each.
models::ModelSpec network() {
  models::ModelSpec model{.name = "norms", .input = {channels, 2, 2}, .classes = 4, .layers = {}};
  for (const char* name : {"a", "b", "c"}) {
    const std::string layer = name;
    model.layers.push_back(models::chain(layer, {{layer + ".conv", models::Conv2d{.in = channels, .out = channels}},
                                                 {layer + ".bn", models::BatchNorm{channels}}}));
  }
  return models::synchronised(model);
}

plan::Plan plan_of(const std::string& strategy, int np, int batch, Recompute recompute = Recompute::none) {
  Case spec = case_of(strategy, np, batch);
  spec.sync_bn = true;
  spec.recompute = recompute;
  return plan::make_plan(spec, network(), std::vector<double>(parts, 1.0), 1);
}

/// F 1, B 2, and 10 for each sum of statistics; all else takes no time.
const HandCosts slow_sums([](Rank, const plan::Op& op, int) {
  if (op.kind == plan::OpKind::all_reduce && plan::is_of_micro_batch(op.payload)) return 10.0;
  return op.kind == plan::OpKind::forward ? 1.0 : op.kind == plan::OpKind::backward ? 2.0 : 0.0;
});

TEST(SumsOfStatistics, StandBetweenPassesAndNothingHidesThem) {
  for (const char* strategy : {"data-parallel", "horovod", "dear", "zero1", "zero2", "zero3"}) {
    const plan::Plan plan = plan_of(strategy, 3, 6);
    const plan::Timeline timeline = simulate(plan, slow_sums);
    EXPECT_DOUBLE_EQ(plan::makespan(timeline), parts * (1 + 2) + 2 * norms * 10) << strategy;
    const Breakdown breakdown = plan::breakdown(plan, timeline, Rank(1), StepId(0));
    EXPECT_DOUBLE_EQ(breakdown.communication_exposed, 2 * norms * 10) << strategy;
  }
}

TEST(SumsOfStatistics, AddTheirTimeToEveryClosedForm) {
  const HandCosts no_sums([](Rank rank, const plan::Op& op, int busy) {
    return plan::is_collective(op.kind) ? 0.0 : slow_sums.seconds({}, rank, op, busy);
  });
  const Sizes sizes(network());
  for (const char* strategy : {"data-parallel", "dear", "zero3"}) {
    const plan::Plan plan = plan_of(strategy, 2, 4);
    const auto with = second_opinions(plan, sizes, slow_sums), without = second_opinions(plan, sizes, no_sums);
    ASSERT_FALSE(with.empty());
    for (const auto& [name, seconds] : with) {
      const double exposed = name == "ddlbench_eq_5_1" ? 0 : 2 * norms * 10;  // it stands as it is in the thesis
      EXPECT_DOUBLE_EQ(seconds, without.at(name) + exposed) << name;
    }
    EXPECT_THAT(broken_assumptions(plan, slow_sums, with).at("ddlbench_eq_5_1"),
                testing::Contains("the sums of batch norms' statistics are not counted"));
  }
}

TEST(SumsOfStatistics, HaveAsManyBytesWhateverTheSamples) {
  const Sizes sizes(network());
  for (const int batch : {2, 7, 32}) {
    const plan::Plan plan = plan_of("data-parallel", 2, batch);
    int sums = 0;
    for (const plan::Lane& lane : plan.ranks[1].lanes) {
      for (const plan::Op& op : lane.ops) {
        if (!plan::sums_statistics(plan, op)) continue;
        ++sums;
        EXPECT_EQ(sizes.payload_bytes(plan, Rank(1), op), 8 * (2 * channels + 1));
      }
    }
    EXPECT_EQ(sums, 2 * norms);
  }
}

// Of the first part the images, what the convolution makes and the statistics; of the second mean, variance and number,
// and the output.
TEST(SumsOfStatistics, AreKeptOnceForAMicroBatch) {
  const Sizes sizes(network());
  for (const int samples : {2, 5}) {
    const plan::Plan plan = plan_of("data-parallel", 2, 2 * samples);
    const auto saved = [&](int segment) {
      return sizes.saved_bytes(plan, Rank(0),
                               plan::forward(SegmentId(segment), MicroBatchId(0), StepId(0), VersionId(0)));
    };
    const std::int64_t map = std::int64_t{samples} * channels * 2 * 2 * 4;
    EXPECT_EQ(saved(0), 2 * map + 8 * (2 * channels + 1));
    EXPECT_EQ(saved(1), 4 * (2 * channels + 1) + map);
    EXPECT_EQ(saved(2), map + 8 * (2 * channels + 1));
  }
}

TEST(SumsOfStatistics, AreInTheClosedFormOfBytes) {
  const Sizes sizes(network());
  for (const char* strategy : {"data-parallel", "horovod", "dear", "zero1", "zero2"}) {
    const plan::Plan plan = plan_of(strategy, 3, 6);
    const auto form = traffic_form(plan, sizes, Rank(1));
    ASSERT_TRUE(form.has_value()) << strategy;
    EXPECT_NEAR(form->bytes, sent_bytes(plan, sizes, Rank(1)), 1e-6) << strategy;
    // Of each layer three tensors in lines of 64 bytes.
    EXPECT_NEAR(form->bytes, 2 * 2. / 3 * (norms * 3 * 64 + 2 * norms * 8 * (2 * channels + 1)), 1e-6) << strategy;
  }
}

// Of two samples: images, what one layer hands to the next, and of each norm statistics and the map beside them.
TEST(SumsOfStatistics, WaitWithTheirMapsForForwardsThatRunAgain) {
  HandCosts costs((KindSeconds()));
  costs.saved = 100'000;
  const Sizes sizes(network());
  const plan::Plan plan = plan_of("data-parallel", 2, 4, Recompute::all);
  constexpr double map = 2 * channels * 2 * 2 * 4, entries = norms * map + norms * (8 * (2 * channels + 1) + map);
  EXPECT_DOUBLE_EQ(memory_form(plan, sizes, costs, Rank(0)).value().activations, entries + 100'000);
  const MemoryUsage counted = peak_memory(plan, sizes, costs, simulate(plan, costs), Rank(0));
  EXPECT_DOUBLE_EQ(static_cast<double>(counted[MemoryCategory::activations]), entries + 100'000);
}

TEST(SumsOfStatistics, AreTermsOfThePrediction) {
  const Sizes sizes(network());
  const plan::Plan plan = plan_of("data-parallel", 2, 4);
  const Costs costs = data_sheet_costs({.cores = 2}, sizes);
  const Predicted predicted = predict(plan, sizes, *costs.time, *costs.memory, 1, 2);
  for (const char* name : {"sums_of_statistics[stage 0]", "sums_of_their_gradients[stage 0]"}) {
    const auto term = std::ranges::find(predicted.terms, name, &Term::name);
    ASSERT_NE(term, predicted.terms.end()) << name;
    EXPECT_GT(term->value, 0);
    EXPECT_THAT(term->formula, testing::HasSubstr("3 all-reduces of 216 bytes in all, 2 ranks"));
  }
}

}  // namespace
}  // namespace parabench::analytic
