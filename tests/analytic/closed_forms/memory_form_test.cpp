// What ranks hold by formula, beside the replay of their plans.
#include "analytic/closed_forms/memory_form.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/passes/passes.h"
#include "tests/analytic/chain_memory.h"
#include "tests/analytic/closed_forms/wide_chain.h"

namespace parabench::analytic {
namespace {

TEST(MemoryForm, HoldsWhatTheReplayOfEveryRowDoes) {
  HandCosts costs((KindSeconds()));
  costs.saved = 1 << 20;
  expect_of_every_row([&](const plan::Strategy& row, std::size_t change, const plan::Plan& plan) {
    bool has_one = false;
    const Sizes sizes(wide_chain(16));
    const plan::Plan window = plan::unroll(plan, plan.asynchronous ? 12 : 2);
    const auto replayed = peak_memories(window, sizes, costs, simulate(window, costs), std::ssize(plan.ranks));
    for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
      const auto form = memory_form(plan, sizes, costs, rank);
      EXPECT_EQ(form.has_value(), plan.spec.recompute == Recompute::none || !row.splits_backwards()) << row.name;
      if (!form) continue;
      has_one = true;
      const auto counted = static_cast<double>(replayed[rank.value].total_counted());
      // Temporaries, messages and the pieces' own inputs are in no formula; those of chimera and of schedules with
      // less in flight at the end of the pipe are upper bounds.
      EXPECT_LT(counted, 1.15 * form->total()) << row.name << " change " << change << " rank " << rank.value;
      if (rank == Rank(0) && row.schedule.stages != plan::StageOrder::crossed) {
        EXPECT_GT(counted, .9 * form->total()) << row.name << " change " << change;
      }
    }
    return has_one;
  });
}

/// Of a rank on 16 layers of which passes save nothing.
MemoryForm states(const Case& spec, int rank = 0) {
  const HandCosts costs((KindSeconds()));
  return memory_form(wide_plan(spec, 16, 12), Sizes(wide_chain(16)), costs, Rank(rank)).value();
}
/// The same counted: what lies there beside a forward that needs more than any other pass, and always on a server.
double counted_states(const Case& spec, int rank = 0) {
  const bool is_server = spec.strategy.name == "parameter-server" && rank > 0;
  HandCosts costs((KindSeconds()));
  costs.forward_peak = 1 << 20;
  const plan::Plan plan = wide_plan(spec, 16, 12);
  const MemoryUsage usage = peak_memory(plan, Sizes(wide_chain(16)), costs, simulate(plan, costs), Rank(rank));
  return static_cast<double>(usage.total_counted() - (is_server ? 0 : costs.forward_peak));
}

Case in_buckets_of_a_layer(const char* strategy) {
  Case spec = case_of(strategy, 4, 16);
  spec.bucket = Bytes(1);
  return spec;
}

constexpr double all = 16 * wide_layer_bytes;

// Momentum is the one state.
TEST(MemoryForm, SharesWhatEachStageOfZeroShares) {
  const auto total = [](const char* strategy) { return states(in_buckets_of_a_layer(strategy)).total(); };
  EXPECT_DOUBLE_EQ(total("data-parallel"), 3 * all);
  EXPECT_DOUBLE_EQ(total("zero1"), 2 * all + all / 4);
  // Beside shares of gradients two buckets of them are whole, and of zero3's weights two layers.
  EXPECT_DOUBLE_EQ(total("zero2"), all + 2 * all / 4 + 2 * wide_layer_bytes);
  EXPECT_DOUBLE_EQ(total("zero3"), 3 * all / 4 + 2 * wide_layer_bytes + 2 * wide_layer_bytes);
}

TEST(MemoryForm, HoldsMessagesOfCompressedSumsAndWhatTheyLeaveOut) {
  Case spec = in_buckets_of_a_layer("data-parallel");
  const auto expect = [&](const NamedChoice& compress, double beside_gradients) {
    spec.compress = compress;
    EXPECT_DOUBLE_EQ(states(spec).total(), 3 * all + beside_gradients) << compress.name;
    EXPECT_DOUBLE_EQ(counted_states(spec), 3 * all + beside_gradients) << compress.name;
  };
  expect({"bf16", {}}, all / 2);
  // P and Q of four columns; Vogels et al., NeurIPS'19.
  expect({"powersgd", {}}, all + 16 * 4 * (64 + 64) * 4);
  // 64 of a layer's 4096 values with their places, of four ranks.
  expect({"topk", {{"ratio", "0.015625"}}}, all + 4 * 16 * 64 * (4 + 4));
}

TEST(MemoryForm, AServerHoldsItsStatesAndARunOfEachWorker) {
  Case spec = in_buckets_of_a_layer("parameter-server");
  spec.batch = 18;
  const auto expect = [&](std::vector<std::pair<std::string, std::string>> parameters, double weights,
                          double received) {
    spec.strategy.parameters = std::move(parameters);
    const MemoryForm form = states(spec, 3);
    EXPECT_DOUBLE_EQ(form.total(), 3 * weights + received);
    EXPECT_DOUBLE_EQ(counted_states(spec, 3), form.total());
    EXPECT_EQ(form.in_flight, 0);
  };
  expect({}, all, 3 * wide_layer_bytes);
  expect({{"mode", "async"}}, all, 3 * wide_layer_bytes);
  expect({{"mode", "stale"}, {"k", "2"}}, all, 3 * wide_layer_bytes);
  expect({{"servers", "2"}}, all / 2, 2 * wide_layer_bytes);
  expect({{"servers", "2"}, {"cut", "tensors"}}, all / 2, 2 * wide_layer_bytes / 2);
}

/// Of a plan on a chain of a layer per segment, each of which saves `saved` bytes.
MemoryForm on_chain(const plan::Plan& plan, int rank, std::int64_t saved = 1000) {
  HandCosts costs((KindSeconds()));
  costs.saved = saved;
  return memory_form(plan, Sizes(chain(static_cast<int>(plan.segments.size()))), costs, Rank(rank)).value();
}

TEST(MemoryForm, CountsVersionsAndMicroBatchesInFlight) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(on_chain(pipedream(4, 12), rank).in_flight, 4 - rank);
    EXPECT_DOUBLE_EQ(on_chain(pipedream(4, 12), rank).weight_versions, (3 - rank) * 64);
    EXPECT_DOUBLE_EQ(on_chain(gpipe(4, 8), rank).activations, 8 * 1000);
    EXPECT_DOUBLE_EQ(on_chain(pipeline("1f1b", 4, 8), rank).activations, (4 - rank) * 1000);
    EXPECT_DOUBLE_EQ(on_chain(pipeline("zb-h2", 4, 8), rank).activations, 7 * 1000);
  }
}

// M a_in + A (Huang et al., NeurIPS'19). The images of the first stage are a part of what it saves.
TEST(MemoryForm, KeepsEntriesAndWhatAStageSavesWhereForwardsRunAgain) {
  for (const int m : {1, 3, 8}) {
    const plan::Plan plan = pipeline("gpipe", 3, m, 2, Recompute::all);
    EXPECT_DOUBLE_EQ(on_chain(plan, 0).activations, (m - 1) * 64 + 1000);
    EXPECT_DOUBLE_EQ(on_chain(plan, 1).activations, m * 64 + 1000);
    for (const int rank : {0, 1, 2}) {
      EXPECT_DOUBLE_EQ(on_chain(plan, rank, saved_in_flight).activations,
                       static_cast<double>(peak_activations(plan, rank)));
    }
  }
  const plan::Plan alternating = pipeline("1f1b", 4, 8, 2, Recompute::all);
  for (const int rank : {1, 2, 3}) EXPECT_DOUBLE_EQ(on_chain(alternating, rank).activations, (4 - rank) * 64 + 1000);
}

// 2 |W| / d + d A_in + A (Narayanan et al., ICML'21), with gradients and momentum beside both versions.
TEST(MemoryForm, TwoVersionsOfTheWeightsAndEntries) {
  Case spec = case_of("pipedream-2bw", 4, 8, 8);
  spec.recompute = Recompute::all;
  const plan::Plan plan = test_plan(spec, 4, 12);
  EXPECT_DOUBLE_EQ(on_chain(plan, 1).total(), 2 * 64 + 2 * 64 + 3 * 64 + 1000);
}

TEST(MemoryForm, TheLastMicroBatchKeepsWhatItSavesWhereItDoesNotRunAgain) {
  EXPECT_DOUBLE_EQ(on_chain(pipeline("gpipe", 3, 1, 2, Recompute::except_last), 1).activations, 1000);
  EXPECT_DOUBLE_EQ(on_chain(pipeline("gpipe", 3, 8, 2, Recompute::except_last), 1).activations, 1000 + 7 * 64 + 1000);
  EXPECT_DOUBLE_EQ(on_chain(pipeline("1f1b", 3, 8, 2, Recompute::except_last), 2).activations, 64 + 1000)
      << "of an earlier one, which runs again";
  // Of both of the rank's stages.
  EXPECT_DOUBLE_EQ(on_chain(pipeline("looped-bfs", 2, 4, 2, Recompute::except_last), 1).activations,
                   2 * 1000 + 6 * 64 + 1000);
}

TEST(MemoryForm, SegmentsThatDoNotRunAgainKeepWhatTheySave) {
  const plan::Plan plan = plan::add_recompute(data_parallel(2, 4), std::vector<bool>{false, true, true, false});
  EXPECT_DOUBLE_EQ(on_chain(plan, 1).activations, 2 * 1000 + 2 * 64 + 1000);
}

TEST(MemoryForm, SaysNothingOfWhatNoFormulaKnows) {
  const HandCosts saving = [] {
    HandCosts costs((KindSeconds()));
    costs.saved = 1000;
    return costs;
  }();
  for (const std::string& name : split_schedules()) {
    const plan::Plan plan = pipeline(name, 2, 8, 2, Recompute::all);
    const Sizes sizes(chain(static_cast<int>(plan.segments.size())));
    EXPECT_FALSE(memory_form(plan, sizes, saving, Rank(0)).has_value()) << name;
  }
  const plan::GivenSchedule given = plan::read_csv("0F0,0B0\n1F0,1B0\n");
  const plan::Plan csv = plan::make_plan(case_of("csv", 2, 2, 1), chain(2), std::vector<double>(2, 1.0), 1, &given);
  EXPECT_FALSE(memory_form(csv, Sizes(chain(2)), saving, Rank(0)).has_value());
}

}  // namespace
}  // namespace parabench::analytic
