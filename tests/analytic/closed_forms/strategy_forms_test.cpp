// What ranks hold and send by formula, beside the replay of their plans.
#include "analytic/closed_forms/strategy_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/simulate.h"
#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Layers of 64 x 64 weights, 16384 bytes each, so that shares are equal.
models::ModelSpec wide_chain(int layers) {
  models::ModelSpec model{.name = "chain", .input = {64, 2, 2}, .classes = 64, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    std::string name = "l";
    name += std::to_string(i);
    model.layers.push_back(
        models::chain(name, {{name + ".conv", models::Conv2d{.in = 64, .out = 64}}, {name + ".relu", models::Relu{}}}));
  }
  return model;
}
constexpr double layer_bytes = 64 * 64 * 4;

plan::Plan wide_plan(const Case& spec, int layers, int steps) {
  return plan::make_plan(spec, wide_chain(layers), std::vector<double>(layers, 1.0), steps);
}

/// The plan of a row on 16 layers, changed by `change`; none where that is refused.
std::optional<plan::Plan> plan_of(const plan::Strategy& row, const std::function<void(Case&)>& change) {
  if (row.from_file || row.family == plan::Family::peer || row.ranks == plan::RankUse::one) return std::nullopt;
  Case spec = case_of(std::string(row.name), 4, 16);
  if (row.uses("micro")) spec.micro = 8;
  if (row.uses("partition")) spec.partition = PartitionRule::uniform;
  if (row.uses("bucket")) spec.bucket = Bytes(1);
  change(spec);
  try {
    return wide_plan(spec, 16, 12);
  } catch (const Error&) {
    return std::nullopt;
  }
}

const std::vector<std::function<void(Case&)>> changes = {
    [](Case&) {},
    [](Case& spec) { spec.dp = 2; },
    [](Case& spec) { spec.dp = 2, spec.zero = 1; },
    [](Case& spec) { spec.dp = 2, spec.zero = 2; },
    [](Case& spec) { spec.shard = 2; },
    [](Case& spec) { spec.reshard = false; },
    [](Case& spec) { spec.shard = 2, spec.reshard = false; },
};

TEST(TrafficForm, IsWhatThePlansOfEveryRowSend) {
  int rows = 0;
  for (const plan::Strategy& row : plan::strategies()) {
    bool has_one = false;
    for (std::size_t c = 0; c < changes.size(); ++c) {
      const auto plan = plan_of(row, changes[c]);
      if (!plan) continue;
      const Sizes sizes(wide_chain(16));
      for (Rank rank(0); rank.value < std::ssize(plan->ranks); ++rank) {
        const auto form = traffic_form(*plan, sizes, rank);
        if (!form) continue;
        has_one = true;
        // The layers that the last forwards read are still there for the first backwards.
        const double kept = plan->spec.reshard ? plan->room.weights * layer_bytes : 0;
        EXPECT_NEAR(form->bytes, sent_bytes(*plan, sizes, rank), kept + 1e-6) << row.name << " change " << c;
        EXPECT_FALSE(form->formula.empty());
      }
    }
    if (has_one) ++rows;
  }
  EXPECT_EQ(rows, std::ssize(plan::strategies()) - 3) << "all but one rank, and those that stand for others";
}

TEST(MemoryForm, HoldsWhatTheReplayOfEveryRowDoes) {
  HandCosts costs((KindSeconds()));
  costs.saved = 1 << 20;
  int rows = 0;
  for (const plan::Strategy& row : plan::strategies()) {
    bool has_one = false;
    for (std::size_t c = 0; c < changes.size(); ++c) {
      const auto plan = plan_of(row, changes[c]);
      if (!plan) continue;
      const Sizes sizes(wide_chain(16));
      const plan::Plan window = plan::unroll(*plan, plan->asynchronous ? 12 : 2);
      const auto replayed = peak_memories(window, sizes, costs, simulate(window, costs));
      for (Rank rank(0); rank.value < std::ssize(plan->ranks); ++rank) {
        const auto form = memory_form(*plan, sizes, costs, rank);
        if (!form) continue;
        has_one = true;
        const auto counted = static_cast<double>(replayed[rank.value].total_counted());
        // Temporaries, messages and the pieces' own inputs are in no formula; those of chimera and of schedules with
        // less in flight at the end of the pipe are upper bounds.
        EXPECT_LT(counted, 1.15 * form->total()) << row.name << " change " << c << " rank " << rank.value;
        if (rank == Rank(0) && row.schedule.stages != plan::StageOrder::crossed) {
          EXPECT_GT(counted, .9 * form->total()) << row.name << " change " << c;
        }
      }
    }
    if (has_one) ++rows;
  }
  EXPECT_EQ(rows, std::ssize(plan::strategies()) - 3);
}

/// Of ranks that divide the states of 16 layers by four; momentum is the one state.
MemoryForm states(const char* strategy) {
  Case spec = case_of(strategy, 4, 16);
  spec.bucket = Bytes(1);
  const HandCosts costs((KindSeconds()));
  return memory_form(wide_plan(spec, 16, 1), Sizes(wide_chain(16)), costs, Rank(0)).value();
}

TEST(MemoryForm, SharesWhatEachStageOfZeroShares) {
  const double all = 16 * layer_bytes;
  EXPECT_DOUBLE_EQ(states("data-parallel").total(), 3 * all);
  EXPECT_DOUBLE_EQ(states("zero1").total(), 2 * all + all / 4);
  // Beside shares of gradients two buckets of them are whole, and of zero3's weights two layers.
  EXPECT_DOUBLE_EQ(states("zero2").total(), all + 2 * all / 4 + 2 * layer_bytes);
  EXPECT_DOUBLE_EQ(states("zero3").total(), 3 * all / 4 + 2 * layer_bytes + 2 * layer_bytes);
}

TEST(MemoryForm, CountsVersionsAndMicroBatchesInFlight) {
  HandCosts costs((KindSeconds()));
  costs.saved = 1000;
  const auto form = [&](const plan::Plan& plan, int rank) {
    return memory_form(plan, Sizes(chain(static_cast<int>(plan.segments.size()))), costs, Rank(rank)).value();
  };
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(form(pipedream(4, 12), rank).in_flight, 4 - rank);
    EXPECT_DOUBLE_EQ(form(pipedream(4, 12), rank).weight_versions, (3 - rank) * 64);
    EXPECT_DOUBLE_EQ(form(gpipe(4, 8), rank).activations, 8 * 1000);
    EXPECT_DOUBLE_EQ(form(pipeline("1f1b", 4, 8), rank).activations, (4 - rank) * 1000);
    EXPECT_DOUBLE_EQ(form(pipeline("zb-h2", 4, 8), rank).activations, 7 * 1000);
  }
}

TEST(StrategyForms, SayNothingOfWhatTheyDoNotKnow) {
  const HandCosts costs((KindSeconds()));
  const plan::Plan again = pipeline("1f1b", 4, 8, 2, Recompute::all);
  EXPECT_FALSE(memory_form(again, Sizes(chain(4)), costs, Rank(0)).has_value());
  Case served = case_of("parameter-server", 4, 6);
  const plan::Plan servers = test_plan(served, 4);
  EXPECT_FALSE(memory_form(servers, Sizes(chain(4)), costs, servers.servers.front()).has_value());
  EXPECT_FALSE(traffic_form(servers, Sizes(chain(4)), servers.servers.front()).has_value());
  EXPECT_TRUE(traffic_form(servers, Sizes(chain(4)), Rank(0)).has_value());
}

}  // namespace
}  // namespace parabench::analytic
