// ZeRO's stage 2 over pipelines: gradients that are reduce-scattered micro-batch by micro-batch.
#include "parallelism/plan/passes/pieces.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Case scattered_case(const std::string& strategy, int devices, int micro_batches, int dp, const std::string& bucket) {
  Case spec = pipeline_case(strategy, devices, micro_batches, 2, dp);
  spec.zero = 2;
  spec.bucket = Bytes(std::stoi(bucket));
  return spec;
}

TEST(ScatterPieces, AddsTheSharesOfAMicroBatchBeforeAnotherTakesItsPlace) {
  // One device, layers that are buckets, two micro-batches: the backward of the second follows that of the first.
  Case spec = scattered_case("gpipe", 1, 2, 2, "1");
  RankProgram rank = test_plan(spec, 3).ranks[1];
  EXPECT_EQ(lane_text(rank.compute()),
            "0F0 1F0 2F0 0F1 1F1 2F1 2B0 1B0 2ADD 0B0 1ADD 0ADD 2B1 1B1 2ADD1 0B1 1ADD1 0ADD1 2UPDATE 1UPDATE 0UPDATE");
  EXPECT_EQ(lane_text(rank.lane(collectives_of(GroupId(0), Payload::gradients))),
            "2REDUCE_SCATTER 1REDUCE_SCATTER 0REDUCE_SCATTER 2REDUCE_SCATTER1 1REDUCE_SCATTER1 0REDUCE_SCATTER1");
  // The first share of a run starts its sum, as the passes of every micro-batch start its gradients.
  for (const Op& op : rank.compute()) {
    const bool continues_sum = op.kind == OpKind::add && op.micro_batch == MicroBatchId(1);
    EXPECT_EQ(op.accumulates, continues_sum) << to_text(op);
  }
}

TEST(ScatterPieces, ScattersEveryRunOnceForEachMicroBatch) {
  for (const std::string& strategy : schedule_names()) {
    if (find_strategy(strategy).schedule.stages == StageOrder::crossed) continue;
    for (const int micro : {1, 4, 6}) {
      for (const int dp : {2, 3}) {
        const Case spec = scattered_case(strategy, 2, micro, dp, "200");
        if (!is_possible(spec, 8)) continue;
        const Plan plan = test_plan(spec, 8);
        EXPECT_THAT(validate(unroll(plan, 2)), IsEmpty()) << strategy << micro << dp;
        EXPECT_EQ(plan_from_json(nlohmann::json::parse(to_json(plan).dump())), plan);
        for (const RankProgram& rank : plan.ranks) {
          int sums = 0, shares = 0, updates = 0;
          for (const Lane& lane : rank.lanes) {
            for (const Op& op : lane.ops) {
              sums += op.kind == OpKind::reduce_scatter;
              shares += op.kind == OpKind::add;
              updates += op.kind == OpKind::update;
            }
          }
          EXPECT_EQ(sums, micro * updates);
          EXPECT_EQ(shares, sums);
        }
      }
    }
  }
}

TEST(ScatterPieces, TrainsWhatWholeSumsTrain) {
  for (const std::string& strategy : schedule_names()) {
    if (find_strategy(strategy).schedule.stages == StageOrder::crossed) continue;
    Case spec = scattered_case(strategy, 2, 4, 2, "200");
    for (const char* optimizer : {"sgd", "lars"}) {
      spec.optimizer.name = optimizer;
      spec.zero = 2;
      const auto meaning = meaning_of(unroll(test_plan(spec, 8), 3));
      ASSERT_TRUE(meaning) << strategy;
      spec.zero = 1;
      EXPECT_EQ(meaning, meaning_of(unroll(test_plan(spec, 8), 3))) << strategy;
    }
  }
}

TEST(ScatterPieces, KeepsSharesAndTwoRunsOfGradients) {
  const models::ModelSpec model = chain_model(6);
  const auto gradients = [&](int zero) {
    Case spec = scattered_case("1f1b", 1, 4, 2, "1");
    spec.zero = zero;
    const Plan plan = make_plan(spec, model, std::vector<double>(6, 1.0), 1);
    std::int64_t bytes = 0;
    for (const StateArena& arena : state_layout(plan, ParameterSizes(model), Rank(0)).arenas)
      bytes += arena.category == MemoryCategory::gradients ? arena.bytes : 0;
    return bytes;
  };
  // Lines of 64 bytes of each layer, of which rank 0 has half, rounded down; the largest of every second one.
  EXPECT_EQ(gradients(1), (3 + 3 + 4 + 5 + 6 + 7) * 64);
  EXPECT_EQ(gradients(2), (7 + 6) * 64 + (1 + 1 + 2 + 2 + 3 + 3) * 64);
}

TEST(ScatterPieces, RulesSeeSharesThatComeTooLateOrOfTheWrongMicroBatch) {
  const Plan good = test_plan(scattered_case("gpipe", 1, 2, 2, "1"), 2);
  ASSERT_THAT(validate(good), IsEmpty());
  const auto rules = [](const Plan& plan) {
    std::vector<std::string> found;
    for (const Violation& v : validate(plan)) found.push_back(v.rule);
    return found;
  };
  Plan bad = good;
  for (Op& op : bad.ranks[0].compute())
    if (op.kind == OpKind::add) op.micro_batch = MicroBatchId(1 - op.micro_batch.value);
  EXPECT_THAT(rules(bad), testing::Contains("gradient"));
  bad = good;
  std::erase_if(bad.ranks[0].compute(), [](const Op& op) { return op.kind == OpKind::add; });
  EXPECT_THAT(rules(bad), testing::Contains("exactly once"));
  bad = good;
  bad.scatters_pieces = false;
  EXPECT_THAT(rules(bad), testing::Not(IsEmpty()));
  bad = good;
  bad.room.gradients = 1;
  EXPECT_THAT(rules(bad), testing::Contains("room"));
}

TEST(ScatterPieces, AreRefusedWhereMicroBatchesOfAStageMixOrATensorIsShared) {
  EXPECT_EQ(refusal_of(scattered_case("1f1b", 2, 4, 2, "1"), chain_model(5)), "accepted");
  EXPECT_THAT(refusal_of(scattered_case("chimera", 2, 4, 2, "1"), chain_model(5)),
              HasSubstr("zero: got '2', expected 0 or 1 for chimera"));
  models::ModelSpec tied = chain_model(3);
  tied.tie = models::Tie{.original = {.layer = 0}, .copy = {.layer = 2}};
  EXPECT_THAT(refusal_of(scattered_case("1f1b", 2, 4, 2, "1"), tied), HasSubstr("two layers of which share a tensor"));
  EXPECT_THAT(refusal_of(scattered_case("1f1b", 2, 4, 1, "1"), chain_model(5)), HasSubstr("dp above 1"));
  Case spec = case_of("pipedream", 2, 4);
  spec.zero = 2;
  EXPECT_THAT(refusal_of(spec, chain_model(5)), HasSubstr("pipedream does not use this key"));
}

TEST(ScatterPieces, Stage3IsRefusedWithTheGathersThatItWouldTake) {
  const auto refusal = [](const std::string& strategy, int copies) {
    Case spec = scattered_case(strategy, 2, 4, copies, "1");
    spec.zero = 3;
    return refusal_of(spec, chain_model(5));
  };
  EXPECT_THAT(refusal("1f1b", 2),
              AllOf(HasSubstr("zero: got '3', expected 0, 1 or 2 for 1f1b"), HasSubstr("every micro-batch"),
                    HasSubstr("2 x micro = 8 times a step"), HasSubstr("try zero:2, or the strategy zero3")));
  EXPECT_THAT(refusal("gpipe", 1), HasSubstr("gathered for every forward"));  // more copies would not help
  EXPECT_THAT(refusal("chimera", 2), AllOf(HasSubstr("expected 0 or 1 for chimera"), HasSubstr("try zero:1, or the")));
  Case spec = case_of("data-parallel", 2, 4);
  spec.zero = 3;
  EXPECT_THAT(refusal_of(spec, chain_model(5)), HasSubstr("leave zero out, or take zero3"));
}

}  // namespace
}  // namespace parabench::plan
