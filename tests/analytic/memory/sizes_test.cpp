#include "analytic/memory/sizes.h"

#include <gtest/gtest.h>

#include "parallelism/plan/strategies/c10d.h"
#include "tests/analytic/chain_memory.h"

namespace parabench::analytic {
namespace {

TEST(Sizes, MadeTensorsAreTheOutputsOfTheSteps) {
  models::ModelSpec model{.name = "stem", .input = {3, 8, 8}, .classes = 2, .layers = {}};
  model.layers.push_back(models::chain(
      "stem", {{"conv", models::Conv2d{.in = 3, .out = 2}}, {"relu", models::Relu{}}, {"pool", models::MaxPool{}}}));
  const plan::Plan plan = plan::make_plan(case_of("sequential", 1, 5), model, std::vector<double>(1, 1.0), 1);
  const auto made =
      Sizes(model).made_tensors(plan, Rank(0), plan::forward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0)));
  EXPECT_EQ(made, (std::vector<std::int64_t>{5 * 2 * 64 * 4, 5 * 2 * 16 * 4, 5 * 2 * 16 * 8}));
}

TEST(Sizes, SavedBytesOfAChainAreTheSumOfItsSegments) {
  const Sizes sizes(chain(3));
  const plan::Plan by_layer = test_plan(case_of("sequential", 1, 5), 3);
  std::int64_t sum = 0;
  for (SegmentId s; s.value < 3; ++s)
    sum += sizes.saved_bytes(by_layer, Rank(0), plan::forward(s, MicroBatchId(0), StepId(0), VersionId(0)));
  Case spec = case_of("model-parallel", 1, 5);
  const plan::Plan whole = test_plan(spec, 3);
  EXPECT_EQ(sum,
            sizes.saved_bytes(whole, Rank(0), plan::forward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0))));
  // Images and three outputs (ReLU in place); all maps are of one size.
  EXPECT_EQ(sum, 4 * 5 * sample_bytes);
}

TEST(Sizes, TheLossKeepsItsLogSoftmaxInTheMasterType) {
  models::ModelSpec model{.name = "two", .input = {4}, .classes = 8, .layers = {}};
  model.layers.push_back(models::chain("hidden", {{"hidden", models::Linear{4, 6}}}));
  model.layers.push_back(models::chain("fc", {{"fc", models::Linear{6, 8}}}));
  plan::Plan plan = plan::make_plan(case_of("model-parallel", 2, 5), model, std::vector<double>{1, 1}, 1);
  const auto saved = [&](int segment) {
    const plan::Op op = plan::forward(SegmentId(segment), MicroBatchId(0), StepId(0), VersionId(0));
    return Sizes(model).saved_bytes(plan, Rank(segment), op);
  };
  EXPECT_EQ(saved(0), 5 * (4 + 6) * 4) << "images and an output";
  EXPECT_EQ(saved(1), 5 * 8 * 4);
  plan.spec.precision = Precision::bf16;
  EXPECT_EQ(saved(0), 5 * (4 * 4 + 4 * 2 + 6 * 2)) << "images, their narrow copy and a narrow output";
  EXPECT_EQ(saved(1), 5 * 8 * 4 + 6 * 8 * 2) << "and the narrow weights, which the gradient of the input reads";
}

TEST(Sizes, MessagesCarryTheBoundaryOfBothEnds) {
  const Sizes sizes(chain(2));
  plan::Plan plan = gpipe(2, 2);
  plan.pieces = {{3, 2}};
  const plan::Op there = plan::send_forward(SegmentId(0), MicroBatchId(1), StepId(0), Rank(1));
  const plan::Op here = plan::recv_forward(SegmentId(1), MicroBatchId(1), StepId(0), Rank(0));
  EXPECT_EQ(sizes.payload_bytes(plan, Rank(0), there), 2 * sample_bytes);
  EXPECT_EQ(sizes.payload_bytes(plan, Rank(1), here), 2 * sample_bytes);
  plan.spec.precision = Precision::bf16;
  EXPECT_EQ(sizes.payload_bytes(plan, Rank(1), here), sample_bytes);
}

TEST(Sizes, SumsOfPyTorchsReducerAreThoseOfItsBuckets) {
  const models::ModelSpec model = chain(4);
  const Sizes sizes(model);
  Case spec = case_of("c10d", 2, 4);
  for (const std::int64_t bucket : {std::int64_t{1}, std::int64_t{100}, spec.bucket.value}) {
    for (const Precision precision : {Precision::fp32, Precision::fp64}) {
      spec.bucket = Bytes(bucket);
      spec.precision = precision;
      const plan::Plan plan = test_plan(spec, 4);
      std::int64_t all = 0;
      for (const plan::Lane& lane : plan.ranks[0].lanes)
        for (const plan::Op& op : lane.ops) {
          if (op.kind != plan::OpKind::all_reduce) continue;
          EXPECT_EQ(sizes.payload_bytes(plan, Rank(0), op), plan::summed_bytes(plan, model, op).value);
          all += sizes.payload_bytes(plan, Rank(0), op);
        }
      EXPECT_EQ(all, 4 * 64 / 4 * plan::parameter_bytes(precision)) << bucket;
    }
  }
}

TEST(Sizes, ATiedTensorsSumMovesThisTensorAlone) {
  const Sizes sizes(tied_chain(3));
  const auto plan = [](const Case& spec) {
    return plan::make_plan(spec, tied_chain(3), std::vector<double>(3, 1.0), 1);
  };
  const plan::Op sum = plan::all_reduce_tied(SegmentId(0), StepId(0), GroupId(0));
  EXPECT_EQ(sizes.payload_bytes(plan(case_of("1f1b", 3, 4, 4)), Rank(2), sum), 16 * 4);
  Case wide = case_of("1f1b", 3, 4, 4);
  wide.precision = Precision::fp64;
  EXPECT_EQ(sizes.payload_bytes(plan(wide), Rank(0), sum), 16 * 8);
  const plan::Plan alone = plan(case_of("sequential", 1, 4));
  EXPECT_EQ(sizes.parameter_bytes(alone, SegmentId(2), 1), 0) << "it is the first segment's";
  EXPECT_EQ(sizes.parameter_bytes(alone, SegmentId(0), 3), 2 * 64);
  EXPECT_EQ(sizes.gradient_bytes(alone, SegmentId(2)), 64) << "its backward makes all of them";
}

}  // namespace
}  // namespace parabench::analytic
