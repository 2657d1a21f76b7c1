#include "parallelism/plan/strategies/strategies.h"

#include <gmock/gmock.h>

#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string reductions(RankProgram rank) {
  return lane_text(rank.lane(collectives_of(GroupId(0), Payload::gradients)));
}

TEST(Strategies, SequentialRunsLayerByLayerAndUpdatesOnce) {
  const Plan plan = test_plan(case_of("sequential", 1, 5), 3);
  EXPECT_EQ(lane_text(plan.ranks[0].compute()), "0F0 1F0 2F0 2B0 1B0 0B0 0-2UPDATE");
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(5)));
}

TEST(Strategies, DataParallelReducesBucketsInBackwardOrder) {
  Case spec = case_of("data-parallel", 2, 5);
  spec.bucket = Bytes(300);
  const Plan plan = test_plan(spec, 4);  // gradients of 100, 144, 196 and 256 bytes
  EXPECT_EQ(lane_text(plan.ranks[1].compute()), "0F0 1F0 2F0 3F0 3B0 2B0 1B0 0B0 2-3UPDATE 0-1UPDATE");
  EXPECT_EQ(reductions(plan.ranks[1]), "2-3ALL_REDUCE 0-1ALL_REDUCE");
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(3), ElementsAre(2)));
  spec.precision = Precision::fp64;  // 200, 288, 392 and 512 bytes
  EXPECT_EQ(reductions(test_plan(spec, 4).ranks[0]), "3ALL_REDUCE 2ALL_REDUCE 0-1ALL_REDUCE");
  spec.np = 1;
  EXPECT_THAT(reductions(test_plan(spec, 4).ranks[0]), IsEmpty());
}

TEST(Strategies, BucketsCoverEverySegmentOnceWithinItsStage) {
  Plan plan;
  plan.stages = 2;
  plan.segments = {{0, 1, StageId(0)}, {1, 1, StageId(0)}, {2, 1, StageId(1)}, {3, 1, StageId(1)}, {4, 1, StageId(1)}};
  const std::vector<Bytes> bytes = {Bytes(0), Bytes(8), Bytes(0), Bytes(0), Bytes(0)};
  EXPECT_THAT(buckets(plan, bytes, Bytes(8)), ElementsAre(SegmentRun{SegmentId(2), 3}, SegmentRun{SegmentId(0), 2}));
  const std::vector<Bytes> even(5, Bytes(4));
  EXPECT_THAT(buckets(plan, even, Bytes(8)),
              ElementsAre(SegmentRun{SegmentId(3), 2}, SegmentRun{SegmentId(2), 1}, SegmentRun{SegmentId(0), 2}));
}

TEST(Strategies, LargestPieceOfTheLargestBatch) {
  Case spec = case_of("gpipe", 2, 2147483647);
  spec.micro = 1000;
  EXPECT_EQ(largest_piece(spec), 2147484);
}

TEST(Strategies, PartitionRuleCutsTheStages) {
  Case spec = case_of("gpipe", 2, 4);
  const std::vector<double> seconds = {9, 1, 1, 1, 1};
  EXPECT_THAT(partition(make_plan(spec, chain_model(5), seconds, 1)), ElementsAre(1, 4));
  spec.partition = PartitionRule::uniform;
  EXPECT_THAT(partition(make_plan(spec, chain_model(5), {}, 1)), ElementsAre(3, 2));
  spec.partition = PartitionRule::parameters;  // 25 36 49 64 81
  EXPECT_THAT(partition(make_plan(spec, chain_model(5), {}, 1)), ElementsAre(3, 2));
  spec.partition = PartitionRule::time;
  EXPECT_THROW(make_plan(spec, chain_model(5), {}, 1), Error);
}

TEST(Strategies, DappleTakesTheWarmupOfItsFirstStage) {
  Case spec = case_of("dapple", 4, 16);
  spec.micro = 16;
  spec.warmup = 3;
  Case policy_a = spec;
  policy_a.strategy.name = "1f1b";
  policy_a.warmup.reset();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(test_plan(spec, 4).ranks[rank].compute(), test_plan(policy_a, 4).ranks[rank].compute());
  }
  spec.warmup = 5;
  const Plan between = test_plan(spec, 4);
  EXPECT_EQ(peak_in_flight(between, 0), 6);
  EXPECT_EQ(peak_in_flight(between, 1), 4);
  EXPECT_EQ(peak_in_flight(between, 2), 2);
  spec.warmup = 2;
  EXPECT_THROW(test_plan(spec, 4), Error);
}

TEST(Strategies, WriteValidPlansForUnevenBatches) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m = 1; m <= 16; ++m) {
      for (int batch : {m, m + 1, 2 * m - 1, 3 * m}) {
        const Plan plan = gpipe_of(stages, m, batch);
        EXPECT_THAT(validate(plan), IsEmpty()) << stages << " stages, " << m << " micro-batches";
        EXPECT_EQ(batch_samples(plan), batch);
      }
      EXPECT_THAT(validate(unroll(test_plan(case_of("data-parallel", stages, m + stages), 5), 2)), IsEmpty());
    }
  }
}

TEST(Strategies, ModelParallelKeepsOneDeviceBusy) {
  for (int stages = 1; stages <= 8; ++stages) {
    const Plan naive = test_plan(case_of("model-parallel", stages, 2), stages);
    EXPECT_DOUBLE_EQ(makespan(timeline_of(naive)), 3.0 * stages);
    EXPECT_NEAR(bubble_fraction(naive, timeline_of(naive)), 1.0 - 1.0 / stages, 1e-12);
  }
}

TEST(Strategies, RecomputeRunsForwardsAgainJustBeforeTheirBackward) {
  Case spec = pipeline_case("1f1b", 2, 3);
  spec.recompute = Recompute::all;
  EXPECT_EQ(lane_text(test_plan(spec).ranks[0].compute()),
            "0F0 0F1 0RECOMPUTE0 0B0 0F2 0RECOMPUTE1 0B1 0RECOMPUTE2 0B2 0UPDATE");
  spec.recompute = Recompute::except_last;
  EXPECT_EQ(lane_text(test_plan(spec).ranks[1].compute()), "1F0 1RECOMPUTE0 1B0 1F1 1RECOMPUTE1 1B1 1F2 1B2 1UPDATE");
  spec = pipeline_case(split_schedule_names().front(), 2, 1);
  spec.recompute = Recompute::all;
  const Plan split = test_plan(spec);
  EXPECT_EQ(lane_text(split.ranks[0].compute()), "0F0 0RECOMPUTE0 0I0 0W0 0UPDATE");
  for (const Op& op : split.ranks[0].compute()) EXPECT_EQ(op.discards, op.kind == OpKind::forward);
}

TEST(Strategies, CopiesOfAPipelineReduceTheirGradientsInBuckets) {
  Case spec = case_of("gpipe", 4, 4);
  spec.micro = 1;
  spec.dp = 2;
  spec.bucket = Bytes(150);  // gradients of 100, 144, 196 and 256 bytes
  const Plan plan = test_plan(spec, 4);
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(2), ElementsAre(2)));
  EXPECT_THAT(holders(plan, StageId(0)), ElementsAre(Rank(0), Rank(2)));
  const RankProgram& rank = plan.ranks[2];
  EXPECT_EQ(rank.holds, (std::vector<Holding>{{StageId(0), ReplicaId(1)}}));
  EXPECT_EQ(lane_text(rank.compute()), "0F0 1F0 1B0 0B0 0-1UPDATE");
  EXPECT_EQ(reductions(rank), "0-1ALL_REDUCE");
}

TEST(Strategies, Zero1ReducesAndGathersEachBucketInShares) {
  Case spec = case_of("zero1", 2, 5);
  spec.bucket = Bytes(300);
  Plan plan = test_plan(spec, 4);
  RankProgram& rank = plan.ranks[1];
  EXPECT_EQ(lane_text(rank.compute()), "0F0 1F0 2F0 3F0 3B0 2B0 1B0 0B0 2-3UPDATE 0-1UPDATE");
  EXPECT_EQ(reductions(rank), "2-3REDUCE_SCATTER 0-1REDUCE_SCATTER");
  EXPECT_EQ(lane_text(rank.lane(collectives_of(GroupId(0), Payload::parameters))), "2-3ALL_GATHER 0-1ALL_GATHER");
  spec.optimizer.name = "lars";
  plan = test_plan(spec, 4);
  EXPECT_EQ(lane_text(plan.ranks[0].compute()),
            "0F0 1F0 2F0 3F0 3B0 2B0 1B0 0B0 2-3NORMS 2-3UPDATE 0-1NORMS 0-1UPDATE");
  EXPECT_EQ(lane_text(plan.ranks[0].lane(collectives_of(GroupId(0), Payload::norms))),
            "2-3ALL_REDUCE_NORMS 0-1ALL_REDUCE_NORMS");
  spec.np = 1;
  EXPECT_EQ(lane_text(test_plan(spec, 4).ranks[0].compute()), "0F0 1F0 2F0 3F0 3B0 2B0 1B0 0B0 0-3UPDATE");
}

TEST(Strategies, DearGathersFirstWhatTheNextForwardReadsFirst) {
  Case spec = case_of("dear", 2, 5);
  spec.bucket = Bytes(300);
  RankProgram rank = test_plan(spec, 4).ranks[1];
  EXPECT_EQ(lane_text(rank.compute()), "0F0 1F0 2F0 3F0 3B0 2B0 1B0 0B0 2-3UPDATE 0-1UPDATE");
  EXPECT_EQ(reductions(rank), "2-3REDUCE_SCATTER 0-1REDUCE_SCATTER");
  EXPECT_EQ(lane_text(rank.lane(collectives_of(GroupId(0), Payload::parameters))), "0-1ALL_GATHER 2-3ALL_GATHER");
}

TEST(Strategies, CopiesOfAPipelineShareTheirUpdatesWithZero) {
  Case spec = case_of("1f1b", 4, 4);
  spec.micro = 1;
  spec.dp = 2;
  spec.zero = 1;
  RankProgram rank = test_plan(spec, 4).ranks[2];
  EXPECT_EQ(lane_text(rank.compute()), "0F0 1F0 1B0 0B0 0-1UPDATE");
  EXPECT_EQ(reductions(rank), "0-1REDUCE_SCATTER");
  EXPECT_EQ(lane_text(rank.lane(collectives_of(GroupId(0), Payload::parameters))), "0-1ALL_GATHER");
  // Both directions of chimera hold each stage.
  spec = case_of("chimera", 2, 4);
  spec.micro = 2;
  spec.zero = 1;
  EXPECT_EQ(reductions(test_plan(spec, 2).ranks[1]), "0REDUCE_SCATTER");
}

std::string gathers(RankProgram rank) { return lane_text(rank.lane(collectives_of(GroupId(0), Payload::parameters))); }

TEST(Strategies, Zero2UpdatesABucketBeforeAnotherTakesItsPlace) {
  Case spec = case_of("zero2", 2, 4);
  spec.bucket = Bytes(1);
  const Plan plan = test_plan(spec, 4);
  EXPECT_EQ(lane_text(plan.ranks[1].compute()), "0F0 1F0 2F0 3F0 3B0 2B0 3UPDATE 1B0 2UPDATE 0B0 1UPDATE 0UPDATE");
  EXPECT_EQ(gathers(plan.ranks[1]), "3ALL_GATHER 2ALL_GATHER 1ALL_GATHER 0ALL_GATHER");
  EXPECT_EQ(plan.room, (Room{.gradients = 2}));
  spec.optimizer.name = "lars";
  EXPECT_EQ(lane_text(test_plan(spec, 3).ranks[0].compute()),
            "0F0 1F0 2F0 2B0 1B0 2NORMS 2UPDATE 0B0 1NORMS 1UPDATE 0NORMS 0UPDATE");
  spec.np = 1;
  EXPECT_EQ(lane_text(test_plan(spec, 2).ranks[0].compute()), "0F0 1F0 1B0 0B0 0-1UPDATE");
}

TEST(Strategies, Zero3GathersBeforeForwardsAndAgainWhatHadToLeave) {
  Case spec = case_of("zero3", 2, 4);
  spec.bucket = Bytes(1);
  EXPECT_EQ(gathers(test_plan(spec, 4).ranks[1]),
            "0ALL_GATHER 1ALL_GATHER 2ALL_GATHER 3ALL_GATHER 1ALL_GATHER 0ALL_GATHER");
  EXPECT_EQ(test_plan(spec, 4).room, (Room{.weights = 2, .gradients = 2}));
  spec.prefetch = 0;
  EXPECT_EQ(gathers(test_plan(spec, 3).ranks[0]), "0ALL_GATHER 1ALL_GATHER 2ALL_GATHER 1ALL_GATHER 0ALL_GATHER");
  spec.prefetch = 2;
  EXPECT_EQ(gathers(test_plan(spec, 3).ranks[0]), "0ALL_GATHER 1ALL_GATHER 2ALL_GATHER");
  // Whole weights stay until the update, and come in the forward's order.
  spec.reshard = false;
  spec.prefetch = Case{}.prefetch;
  Plan stays = test_plan(spec, 3);
  EXPECT_EQ(gathers(stays.ranks[0]), "0ALL_GATHER 1ALL_GATHER 2ALL_GATHER");
  EXPECT_EQ(stays.ranks[0].lane(collectives_of(GroupId(0), Payload::parameters)).front().version, VersionId(1));
  EXPECT_EQ(stays.room, (Room{.gradients = 2}));
}

TEST(Strategies, Zero3PassesWaitForTheirWeightsAndGathersForTheirRoom) {
  Case spec = case_of("zero3", 2, 4);
  spec.bucket = Bytes(1);
  const Plan plan = unroll(test_plan(spec, 3), 2);
  ASSERT_THAT(validate(plan), IsEmpty());
  const LocalDependencies waits = dependencies(plan, Rank(0));
  const int lane = plan.ranks[0].find_lane(collectives_of(GroupId(0), Payload::parameters));
  const auto at_gather = [&](int i) { return OpRef{Rank(0), lane, i}; };
  const auto at_pass = [](int i) { return OpRef{Rank(0), compute_lane, i}; };
  // 0F 1F 2F 2B 1B UPDATE 0B ...; gathers 0 1 2 0 of each step.
  EXPECT_THAT(waits.of(compute_lane, 0), ElementsAre(at_gather(0)));
  EXPECT_THAT(waits.of(compute_lane, 4), testing::Contains(at_gather(1)));
  EXPECT_THAT(waits.of(compute_lane, 6), testing::Contains(at_gather(3)));
  EXPECT_THAT(waits.of(lane, 1), IsEmpty());
  EXPECT_THAT(waits.of(lane, 2), ElementsAre(at_pass(0)));
  EXPECT_THAT(waits.of(lane, 3), ElementsAre(at_pass(3)));
  // Of the next step: what was written, and the last to read what lies there.
  const auto next = waits.of(lane, 4);
  EXPECT_EQ(next.size(), 2u);
  EXPECT_EQ(at(plan, next[0]).kind, OpKind::update);
  EXPECT_EQ(to_text(at(plan, next[1])), "0B0");
}

struct BadCase {
  std::string what;
  Case spec;
  std::vector<std::string> said;
};

std::vector<BadCase> bad_cases() {
  std::vector<BadCase> all;
  const auto add = [&](const std::string& strategy, int np, int batch, auto change, std::vector<std::string> said) {
    Case spec = case_of(strategy, np, batch);
    change(spec);
    all.push_back({strategy + ", " + said.front(), spec, std::move(said)});
  };
  const auto as_is = [](Case&) {};
  add("gpip", 2, 8, as_is, {"strategy", "'gpip'", "gpipe"});
  add("sequential", 2, 8, as_is, {"np", "'2'", "1 for sequential"});
  add("data-parallel", 4, 3, as_is, {"batch", "'3'", "at least 4 samples"});
  add("gpipe", 6, 8, as_is,
      {"np: got '6', expected at most 5: gpipe with np:6 cuts a model into 6 stages, and chain has only 5 layers; "
       "try np:5 or a deeper model"});
  add("gpipe", 24, 8, [](Case& c) { c.dp = 2; }, {"np: got '24', expected at most 10", "np:24/dp:2", "try np:10 or"});
  add("chimera", 6, 8, as_is, {"at most 4", "try np:4 or"});
  add("pipedream", 6, 8, as_is, {"np", "at most 5", "6 stages", "try np:5 or"});
  add("gpipe", 2, 3, as_is, {"batch", "'3'", "at least 4 samples"});
  add("model-parallel", 0, 3, as_is, {"np", "'0'"});
  add("model-parallel", 2, 0, as_is, {"batch", "'0'"});
  add("gpipe", 2, 8, [](Case& c) { c.micro = 0; }, {"micro", "'0'"});
  add("pipedream", 2, 8, [](Case& c) { c.micro = 8; }, {"micro", "'8'", "pipedream does not use"});
  add("sequential", 1, 8, [](Case& c) { c.bucket = Bytes(1024); }, {"bucket", "sequential does not use"});
  const auto talks = [](CommKind comm, ReduceKind reduce) {
    return [=](Case& c) {
      if (comm == CommKind::nccl) c.device = DeviceKind::cuda;
      c.comm = comm;
      c.reduce = reduce;
    };
  };
  add("sequential", 1, 8, [](Case& c) { c.reduce = ReduceKind::ring; }, {"reduce", "sequential does not use"});
  add("data-parallel", 2, 8, talks(CommKind::threads, ReduceKind::ring), {"reduce: got 'ring'", "window", "comm:mpi"});
  add("zero1", 2, 8, talks(CommKind::threads, ReduceKind::library), {"reduce: got 'library'", "window", "comm:mpi"});
  add("data-parallel", 2, 8, talks(CommKind::nccl, ReduceKind::double_tree), {"reduce: got 'double-tree'", "library"});
  add("data-parallel", 2, 8, talks(CommKind::nccl, ReduceKind::window), {"reduce: got 'window'", "auto or library"});
  add("data-parallel", 2, 8, [](Case& c) { c.partition = PartitionRule::uniform; }, {"partition", "'uniform'"});
  const auto parameters = [](const char* replicas) {
    return [replicas](Case& c) { c.strategy.parameters = {{"replicas", replicas}}; };
  };
  const auto micro = [](int m) { return [m](Case& c) { c.micro = m; }; };
  add("gpipe", 4, 16, [](Case& c) { c.dp = 3; }, {"dp: got '3', expected a divisor of np, 4; try dp:2 or dp:4"});
  add("gpipe", 4, 16, [](Case& c) { c.dp = 7; }, {"dp: got '7', expected a divisor of np, 4; try dp:4"});
  add("gpipe", 4, 16, [](Case& c) { c.dp = 0; }, {"dp", "'0'"});
  add("gpipe", 4, 7, [](Case& c) { c.dp = 2; }, {"batch", "'7'", "at least 8 samples"});
  add("pipedream", 4, 8, [](Case& c) { c.dp = 2; }, {"dp", "'2'", "pipedream does not use"});
  add("data-parallel", 4, 8, [](Case& c) { c.dp = 2; }, {"dp", "'2'", "data-parallel does not use"});
  add("interleaved", 2, 8, [](Case& c) { c.chunks = 3; },
      {"chunks: got '3', expected at most 2", "np:2/chunks:3", "6 stages", "try chunks:2 or a deeper"});
  add("interleaved", 6, 8, as_is, {"np: got '6', expected at most 2", "12 stages", "try np:2 or"});
  add("interleaved", 65536, 8, [](Case& c) { c.chunks = 65536; }, {"np: got '65536'", "try a deeper model"});
  add("gpipe", 65536, 8, [](Case& c) { c.micro = c.dp = 65536; }, {"batch: got '8'"});
  add("data-parallel", 2147483647, 2147483647, as_is, {"np: got '2147483647', expected at most 8192", "try np:8192"});
  add("gpipe", 2, 2147483647, [](Case& c) { c.micro = 2147483647; },
      {"micro: got '2147483647'", "2147483647 micro-batches in all through 2 stages", "100000 that a plan may list"});
  add("looped-bfs", 2, 8, [](Case& c) { c.chunks = 0; }, {"chunks", "'0'"});
  add("interleaved", 2, 8, micro(5), {"micro", "'5'", "2 rounds over 2 devices", "try micro:4"});
  add("zb-v", 3, 8, as_is, {"np", "'3'", "at most 2", "6 stages", "try np:2 or"});
  add("zb-v", 2, 8, [](Case& c) { c.chunks = 3; }, {"chunks", "'3'", "zb-v does not use"});
  add("dualpipev", 2, 8, micro(3), {"micro", "'3'", "at least 4", "try micro:4"});
  add("chimera", 3, 8, as_is, {"np / dp", "'3'", "even number of devices", "try np:4 with dp:1"});
  add("chimera", 2, 8, micro(3), {"micro", "'3'", "even number"});
  add("dapple", 3, 8, [](Case& c) { c.warmup = 1; }, {"warmup", "'1'", "at least 2"});
  add("pipedream-2bw", 4, 8, micro(2), {"micro", "'2'", "at least 3"});
  add("pipedream", 4, 8, parameters("3-2"), {"replicas", "'3-2'", "add up to np, 4, not 5", "try np:5"});
  add("pipedream", 4, 8, parameters("3-0-1"), {"replicas", "'3-0-1'", "joined by -"});
  add("pipedream", 4, 8, parameters("4-"), {"replicas", "'4-'", "joined by -"});
  add("pipedream", 4, 8, parameters("x"), {"replicas", "'x'"});
  add("pipedream", 6, 8, parameters("1-1-1-1-1-1"), {"np", "'6'", "fewer stages", "6 stages", "try a deeper model"});
  const auto zero = [](int copies) {
    return [copies](Case& c) {
      c.zero = 1;
      c.dp = copies;
    };
  };
  add("gpipe", 2, 8, zero(1), {"zero", "'1'", "dp above 1", "try dp:2"});
  for (const char* strategy : {"sequential", "data-parallel", "zero1", "model-parallel", "pipedream", "pipedream-2bw"})
    add(strategy, strategy == std::string("sequential") ? 1 : 2, 8, zero(1),
        {"zero", "'1'", "the default 0: " + std::string(strategy) + " does not use this key",
         "leave zero out, or take zero1"});
  const auto whole = [](int prefetch) {
    return [=](Case& c) {
      c.reshard = false;
      c.prefetch = prefetch;
    };
  };
  add("zero3", 2, 8, whole(2), {"prefetch", "'2'", "reshard:on beside it"});
  const auto shard = [](int ranks) { return [ranks](Case& c) { c.shard = ranks; }; };
  add("zero1", 6, 12, shard(4),
      {"shard: got '4', expected all, or a divisor of np, 6: 1, 2, 3, 6; try shard:3 or shard:6"});
  add("zero3", 4, 8, shard(8), {"shard: got '8', expected all, or a divisor of np, 4: 1, 2, 4; try shard:4"});
  add("zero2", 4, 8, shard(0), {"shard: got '0', expected an integer from 1"});
  add("dear", 4, 8, shard(2), {"shard", "'2'", "dear does not use this key"});
  const auto compress = [](const char* name, const char* parameter = "", const char* value = "") {
    return [=](Case& c) {
      c.compress = {name, {}};
      if (*parameter) c.compress.parameters = {{parameter, value}};
    };
  };
  for (const char* strategy : {"sequential", "c10d", "dear", "zero1", "local-sgd", "parameter-server", "gpipe"})
    add(strategy, strategy == std::string("sequential") ? 1 : 2, 8, compress("bf16"),
        {"compress: got 'bf16', expected the default none: " + std::string(strategy) + " does not use this key"});
  add("data-parallel", 1, 8, compress("topk"), {"compress: got 'topk', expected none with np:1", "try np:2"});
  add("data-parallel", 2, 8, compress("powersgd"),
      {"rank of compress:powersgd: got '4', expected at most 2, with which a matrix of chain", "try rank=2"});
  add("horovod", 2, 8, compress("powersgd", "rank", "3"), {"rank of compress:powersgd: got '3'"});
  add("data-parallel", 2, 8, compress("topk", "ratio", "2"), {"ratio of compress:topk: got '2'", "> 0 and <= 1"});
  add("data-parallel", 2, 8,
      [](Case& c) {
        c.compress = {"bf16", {}};
        c.device = DeviceKind::cuda;
        c.comm = CommKind::nccl;
      },
      {"compress: got 'bf16', expected none with device:cuda", "try device:cpu"});
  add("zero2", 2, 8, whole(1), {"reshard", "'off'", "zero2 does not use this key"});
  add("zero1", 2, 8, parameters("2"), {"parameter of zero1", "'replicas'", "expected no parameters"});
  add("pipedream", 4, 8,
      [](Case& c) {
        c.strategy.parameters = {{"replica", "2-2"}};
      },
      {"parameter of pipedream", "one of replicas, sync", "did you mean 'replicas'?"});
  add("gpipe", 2, 8, [](Case& c) { c.chunks = 4; }, {"chunks", "'4'"});
  add("gpipe", 2, 8, [](Case& c) { c.warmup = 3; }, {"warmup", "'3'"});
  add("sequential", 1, 8, [](Case& c) { c.graph = true; }, {"graph", "'on'", "device"});
  const auto graphed = [](Case& c) {
    c.graph = true;
    c.device = DeviceKind::cuda;
  };
  add("gpipe", 2, 8, graphed, {"graph", "'on'", "np:2"});
  add("pipedream-2bw", 1, 8, graphed, {"graph", "'on'", "two weight versions"});
  const auto futurized = [](DeviceKind device) {
    return [device](Case& c) {
      c.executor = ExecutorKind::futurized;
      c.device = device;
      c.comm = default_comm(device);
    };
  };
  add("gpipe", 2, 8, futurized(DeviceKind::cuda), {"executor", "'futurized'", "ordered with device:cuda"});
  add("gpipe", 2, 8, futurized(DeviceKind::emulated), {"executor", "ordered with device:emulated"});
  add("pipedream", 2, 8, futurized(DeviceKind::cpu), {"executor", "ordered for pipedream", "the order decides"});
  add("c10d", 2, 8, futurized(DeviceKind::cpu), {"executor", "ordered for c10d"});
  add("parameter-server", 3, 8,
      [](Case& c) {
        c.executor = ExecutorKind::futurized;
        c.strategy.parameters = {{"mode", "async"}};
      },
      {"executor", "ordered for parameter-server", "the order decides"});
  add("gpipe", 2, 8, [](Case& c) { c.precision = Precision::tf32; }, {"precision", "'tf32'"});
  add("gpipe", 2, 8, [](Case& c) { c.comm = CommKind::nccl; }, {"comm", "'nccl'"});
  add("gpipe", 2, 8, [](Case& c) { c.strategy.parameters = {{"depth", "2"}}; }, {"parameter of gpipe", "'depth'"});
  return all;
}

TEST(CheckCase, RefusesImpossibleCasesNamingTheKey) {
  for (const BadCase& bad : bad_cases()) {
    try {
      check_case(bad.spec, chain_model(5));
      ADD_FAILURE() << bad.what << ": accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << bad.what;
      for (const std::string& part : bad.said) EXPECT_THAT(error.what(), HasSubstr(part)) << bad.what;
    }
  }
}

TEST(CheckCase, LeavesDevicesThatAreMissingHereToTheMachine) {
  Case spec = case_of("gpipe", 2, 8);
  spec.device = DeviceKind::cuda;
  spec.comm = CommKind::nccl;
  spec.precision = Precision::tf32;
  EXPECT_NO_THROW(check_case(spec, chain_model(5)));
}

TEST(CheckCase, EmulatedRanksSumByAnyAlgorithmOfMessages) {
  Case spec = case_of("data-parallel", 4, 8);
  spec.device = DeviceKind::emulated;
  spec.comm = CommKind::threads;
  for (const ReduceKind reduce : {ReduceKind::ring, ReduceKind::halving_doubling, ReduceKind::double_tree}) {
    spec.reduce = reduce;
    EXPECT_NO_THROW(check_case(spec, chain_model(5))) << to_text(reduce);
  }
}

TEST(CheckCase, LetsOneRankReplayItsSteps) {
  for (const char* strategy : {"sequential", "gpipe", "pipedream"}) {
    Case spec = case_of(strategy, 1, 8);
    spec.device = DeviceKind::cuda;
    spec.graph = true;
    EXPECT_NO_THROW(check_case(spec, chain_model(5))) << strategy;
  }
}

TEST(CheckCase, RefusesToReplayDropout) {
  const NamedChoice net{"unet", {{"depth", "2"}, {"convolutions", "1"}, {"channels", "8"}}};
  Case spec = case_of("sequential", 1, 8);
  spec.device = DeviceKind::cuda;
  const models::ModelSpec model = models::make_model(net, {3, 32, 32}, 2, false);
  EXPECT_NO_THROW(check_case(spec, model));
  spec.graph = true;
  EXPECT_THAT([&] { check_case(spec, model); },
              ThrowsMessage<Error>(AllOf(HasSubstr("graph"), HasSubstr("unet"), HasSubstr("dropout"))));
}

TEST(CheckCase, RefusesPiecesThatLeaveABatchNormOneValue) {
  const models::ModelSpec tiny = models::make_model({"resnet18", {}}, {3, 32, 32}, 10, false);   // ends in 1 x 1 maps
  const models::ModelSpec large = models::make_model({"resnet18", {}}, {3, 64, 64}, 10, false);  // ends in 2 x 2 maps
  Case spec = case_of("gpipe", 2, 7);                                                            // pieces of 2 2 2 1
  EXPECT_NO_THROW(check_case(spec, large));
  try {
    check_case(spec, tiny);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("batch"), HasSubstr("'7'"), HasSubstr("layer4"), HasSubstr("try batch:8")));
  }
  spec.batch = 8;
  EXPECT_NO_THROW(check_case(spec, tiny));
}

}  // namespace
}  // namespace parabench::plan
