#include "parallelism/plan/strategies.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "parallelism/plan/gradients.h"
#include "parallelism/plan/print.h"
#include "parallelism/plan/validate.h"
#include "tests/plan/plans.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string lane_text(const RankProgram& rank, Lane lane) {
  std::string text;
  for (const Op& op : rank.lane(lane)) text += (text.empty() ? "" : " ") + to_text(op);
  return text;
}

TEST(Strategies, WriteTheirGoldenOrders) {
  EXPECT_EQ(to_text(plan_of(case_of("sequential", 1, 2), 3)), "p0 F0 B0\n");
  EXPECT_EQ(to_text(plan_of(case_of("data-parallel", 2, 2), 3)), "p0 F0 B0\np1 F0 B0\n");
  EXPECT_EQ(to_text(plan_of(case_of("model-parallel", 2, 2), 3)), "p0 F0 B0\np1 F0 B0\n");
  EXPECT_EQ(to_text(plan_of(case_of("model-parallel", 4, 2), 4)), "p0 F0 B0\np1 F0 B0\np2 F0 B0\np3 F0 B0\n");
  EXPECT_EQ(to_text(gpipe_of(2, 4, 8)),
            "p0 F0 F1 F2 F3 B0 B1 B2 B3\n"
            "p1 F0 F1 F2 F3 B0 B1 B2 B3\n");
  EXPECT_EQ(to_text(gpipe_of(4, 2, 8)),
            "p0 F0 F1 B0 B1\n"
            "p1 F0 F1 B0 B1\n"
            "p2 F0 F1 B0 B1\n"
            "p3 F0 F1 B0 B1\n");
  EXPECT_EQ(to_text(pipeline_of("1f1b", 4, 8, 8)),
            "p0 F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7\n"
            "p2 F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7\n"
            "p3 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7\n");
  EXPECT_EQ(to_text(pipeline_of("dapple", 3, 6, 6)),
            "p0 F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
            "p2 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
  EXPECT_EQ(to_text(pipeline_of("1f1b", 3, 1, 2)), "p0 F0 B0\np1 F0 B0\np2 F0 B0\n");
  EXPECT_EQ(to_text(pipedream_of(2, 4)),
            "p0 F0 F1 B0 F2 B1 F3 B2 B3\n"
            "p1 F0 B0 F1 B1 F2 B2 F3 B3\n");
  EXPECT_EQ(to_text(pipedream_of(4, 8)),
            "p0 F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7\n"
            "p2 F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7\n"
            "p3 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7\n");
}

TEST(Strategies, SequentialRunsLayerByLayerAndUpdatesOnce) {
  const Plan plan = plan_of(case_of("sequential", 1, 5), 3);
  EXPECT_EQ(lane_text(plan.ranks[0], Lane::compute), "0F0 1F0 2F0 2B0 1B0 0B0 0-2UPDATE");
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(5)));
}

TEST(Strategies, DataParallelReducesBucketsInBackwardOrder) {
  Case spec = case_of("data-parallel", 2, 5);
  spec.bucket = Bytes(300);
  const Plan plan = plan_of(spec, 4);  // gradients of 100, 144, 196 and 256 bytes
  EXPECT_EQ(lane_text(plan.ranks[1], Lane::compute), "0F0 1F0 2F0 3F0 3B0 2B0 1B0 0B0 2-3UPDATE 0-1UPDATE");
  EXPECT_EQ(lane_text(plan.ranks[1], Lane::collectives), "2-3ALL_REDUCE 0-1ALL_REDUCE");
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(3), ElementsAre(2)));
  spec.precision = Precision::fp64;  // 200, 288, 392 and 512 bytes
  EXPECT_EQ(lane_text(plan_of(spec, 4).ranks[0], Lane::collectives), "3ALL_REDUCE 2ALL_REDUCE 0-1ALL_REDUCE");
  spec.np = 1;
  EXPECT_THAT(lane_text(plan_of(spec, 4).ranks[0], Lane::collectives), IsEmpty());
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

// SOSP'19: 4 stages, mini-batch 5 (from 1) uses versions 1, 2, 3, 4.
TEST(Strategies, PipedreamStashesTheVersionsOfThePaper) {
  const Plan plan = pipedream_of(4, 8);
  for (int stage = 0; stage < 4; ++stage) {
    const RankProgram& rank = plan.ranks[stage];
    EXPECT_EQ(rank.weight_versions, 4 - stage);
    for (const Op& op : rank.lane(Lane::compute)) {
      if (op.kind == OpKind::update) {
        EXPECT_EQ(op.version, op.step + 1);
      } else {
        EXPECT_EQ(op.version, std::max(0, op.step + 1 - (4 - stage)));
        if (op.step == 4) {
          EXPECT_EQ(op.version, stage + 1);
        }
      }
    }
  }
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

/// Most micro-batches between the start of their forward and the end of their backward, in the order of the lane.
int peak_in_flight(const RankProgram& rank) {
  int now = 0, peak = 0;
  for (const Op& op : rank.lane(Lane::compute)) {
    if (op.kind == OpKind::forward) peak = std::max(peak, ++now);
    if (op.kind == OpKind::backward) --now;
  }
  return peak;
}

TEST(Strategies, AlternatingPipelinesAreAsFastAsGpipeWithFewerMicroBatchesInFlight) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m = 1; m <= 16; ++m) {
      for (const std::string strategy : {"1f1b", "dapple"}) {
        const Plan plan = pipeline_of(strategy, stages, m, m + m / 2);
        EXPECT_THAT(validate(plan), IsEmpty()) << strategy << ", " << stages << " stages, " << m << " micro-batches";
        EXPECT_DOUBLE_EQ(makespan(timeline_of(plan)), 3.0 * (m + stages - 1));
        for (int stage = 0; stage < stages; ++stage) {
          const int limit = strategy == "1f1b" ? stages - stage : 2 * (stages - stage) - 1;
          EXPECT_EQ(peak_in_flight(plan.ranks[stage]), std::min(limit, m));
        }
      }
    }
  }
}

TEST(Strategies, DappleTakesTheWarmupOfItsFirstStage) {
  Case spec = case_of("dapple", 4, 16);
  spec.micro = 16;
  spec.warmup = 3;
  Case policy_a = spec;
  policy_a.strategy.name = "1f1b";
  policy_a.warmup.reset();
  EXPECT_EQ(to_text(plan_of(spec, 4)), to_text(plan_of(policy_a, 4)));
  spec.warmup = 5;
  const Plan between = plan_of(spec, 4);
  EXPECT_EQ(peak_in_flight(between.ranks[0]), 6);
  EXPECT_EQ(peak_in_flight(between.ranks[1]), 4);
  EXPECT_EQ(peak_in_flight(between.ranks[2]), 2);
  spec.warmup = 2;
  EXPECT_THROW(plan_of(spec, 4), Error);
}

TEST(Strategies, WriteValidPlansForAllStagesMicroBatchesAndUnevenBatches) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m = 1; m <= 16; ++m) {
      for (int batch : {m, m + 1, 2 * m - 1, 3 * m}) {
        const Plan plan = gpipe_of(stages, m, batch);
        EXPECT_THAT(validate(plan), IsEmpty()) << stages << " stages, " << m << " micro-batches";
        EXPECT_EQ(batch_samples(plan), batch);
      }
      EXPECT_THAT(validate(unroll(gpipe_of(stages, m, m), 3)), IsEmpty());
      EXPECT_THAT(validate(pipedream_of(stages, m)), IsEmpty()) << stages << " stages, " << m << " mini-batches";
      EXPECT_THAT(validate(unroll(plan_of(case_of("data-parallel", stages, m + stages), 5), 2)), IsEmpty());
    }
  }
}

TEST(Strategies, PipelinesSendTwoMessagesPerBoundaryAndMicroBatch) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m : {1, 2, 5, 16}) {
      for (const Plan& plan : {gpipe_of(stages, m, m), pipedream_of(stages, m)}) {
        int sends = 0;
        for (const RankProgram& rank : plan.ranks) {
          for (const auto& lane : rank.lanes) {
            sends += static_cast<int>(std::ranges::count_if(lane, [](const Op& op) { return is_send(op.kind); }));
          }
        }
        EXPECT_EQ(sends, 2 * (stages - 1) * m);
      }
    }
  }
}

TEST(Strategies, PipelinesTakeTheTimesOfTheirClosedForms) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m = 1; m <= 16; ++m) {
      const Plan gpipe = gpipe_of(stages, m, m);
      const Timeline drained = timeline_of(gpipe);
      EXPECT_DOUBLE_EQ(makespan(drained), 3.0 * (m + stages - 1));
      EXPECT_NEAR(bubble_fraction(gpipe, drained), (stages - 1.0) / (m + stages - 1.0), 1e-12);
      EXPECT_DOUBLE_EQ(makespan(timeline_of(pipedream_of(stages, m))), 3.0 * (m + stages - 1));
    }
    const Plan naive = plan_of(case_of("model-parallel", stages, 2), stages);
    EXPECT_NEAR(bubble_fraction(naive, timeline_of(naive)), 1.0 - 1.0 / stages, 1e-12);
  }
}

TEST(Strategies, PipedreamDoesNotDrainBetweenSteps) {
  const Plan plan = pipedream_of(4, 16);
  const auto completions = step_completions(plan, timeline_of(plan));
  for (std::size_t step = 1; step < completions.size(); ++step) {
    EXPECT_DOUBLE_EQ(completions[step] - completions[step - 1], 3.0);
  }
}

TEST(Strategies, PipedreamKeepsAsManyMiniBatchesInFlightAsStagesFollow) {
  for (int stages = 1; stages <= 6; ++stages) {
    const Plan plan = pipedream_of(stages, 10);
    for (int stage = 0; stage < stages; ++stage) {
      int in_flight = 0, peak = 0;
      for (const Op& op : plan.ranks[stage].lane(Lane::compute)) {
        in_flight += op.kind == OpKind::forward ? 1 : op.kind == OpKind::backward ? -1 : 0;
        peak = std::max(peak, in_flight);
      }
      EXPECT_EQ(peak, stages - stage);
    }
  }
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
  add("gpipe", 6, 8, as_is, {"np", "'6'", "at most 5 stages", "try np:5"});
  add("pipedream", 6, 8, as_is, {"np", "at most 5 stages"});
  add("gpipe", 2, 3, as_is, {"batch", "'3'", "at least 4 samples"});
  add("model-parallel", 0, 3, as_is, {"np", "'0'"});
  add("model-parallel", 2, 0, as_is, {"batch", "'0'"});
  add("gpipe", 2, 8, [](Case& c) { c.micro = 0; }, {"micro", "'0'"});
  add("pipedream", 2, 8, [](Case& c) { c.micro = 8; }, {"micro", "'8'", "pipedream does not use"});
  add("sequential", 1, 8, [](Case& c) { c.bucket = Bytes(1024); }, {"bucket", "sequential does not use"});
  add("data-parallel", 2, 8, [](Case& c) { c.partition = PartitionRule::uniform; }, {"partition", "'uniform'"});
  add("gpipe", 4, 8, [](Case& c) { c.dp = 2; }, {"dp", "'2'", "this version"});
  add("gpipe", 2, 8, [](Case& c) { c.chunks = 4; }, {"chunks", "'4'"});
  add("gpipe", 2, 8, [](Case& c) { c.warmup = 3; }, {"warmup", "'3'"});
  add("gpipe", 2, 8, [](Case& c) { c.recompute = Recompute::except_last; }, {"recompute", "'except-last'"});
  add("gpipe", 2, 8, [](Case& c) { c.graph = true; }, {"graph", "'on'"});
  add("gpipe", 2, 8, [](Case& c) { c.precision = Precision::tf32; }, {"precision", "'tf32'"});
  add("gpipe", 2, 8, [](Case& c) { c.comm = CommKind::nccl; }, {"comm", "'nccl'"});
  add("gpipe", 2, 8, [](Case& c) { c.strategy.parameters = {{"depth", "2"}}; }, {"strategy parameter", "'depth'"});
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

TEST(CheckCase, RefusesPiecesThatLeaveABatchNormOneValue) {
  const ModelSpec tiny = make_model({"resnet18", {}}, {3, 32, 32}, 10, false);   // ends in 1 x 1 maps
  const ModelSpec large = make_model({"resnet18", {}}, {3, 64, 64}, 10, false);  // ends in 2 x 2 maps
  Case spec = case_of("gpipe", 2, 7);                                            // pieces of 2 2 2 1
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
}  // namespace parabench
