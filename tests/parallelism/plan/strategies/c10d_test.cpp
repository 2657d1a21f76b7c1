#include "parallelism/plan/strategies/c10d.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Bytes of the sums of a rank, in order.
std::vector<std::int64_t> sums(const Case& spec, const models::ModelSpec& model) {
  const std::vector<double> equal(model.layers.size(), 1.0);
  const Plan plan = make_plan(spec, model, equal, 1);
  const std::vector<Bytes> bytes = gradient_bytes(plan, model);
  std::vector<std::int64_t> sums;
  for (const Lane& lane : plan.ranks[0].lanes) {
    for (const Op& op : lane.ops) {
      if (op.kind != OpKind::all_reduce) continue;
      sums.push_back(0);
      for (int s = 0; s < op.segments; ++s) sums.back() += bytes[op.segment.value + s].value;
    }
  }
  return sums;
}

TEST(Reducer, BucketsThatNobodyAskedForBeginWithOneMebibyte) {
  Case spec = case_of("c10d", 2, 4);
  EXPECT_EQ(bucket_limits(spec).first, Bytes(1 << 20));
  EXPECT_EQ(bucket_limits(spec).others, Bytes(25 << 20));
  spec.bucket = Bytes(1000);
  EXPECT_EQ(bucket_limits(spec).first, Bytes(1000));
  EXPECT_EQ(bucket_limits(spec).others, Bytes(1000));
}

TEST(Reducer, ABucketClosesWithTheTensorThatFillsIt) {
  // VGG-16's three last layers are each larger than any limit; then five convolutions of 9 MiB and smaller ones.
  const models::ModelSpec vgg = models::make_model({"vgg16", {}}, {3, 224, 224}, 1000, false);
  const auto conv = [](std::int64_t in, std::int64_t out) { return 4 * (9 * in * out + out); };
  EXPECT_THAT(sums(case_of("c10d", 2, 4), vgg),
              ElementsAre(4 * 4097 * 1000, 4 * 4097 * 4096, 4 * (25088 + 1) * 4096, 3 * conv(512, 512),
                          2 * conv(512, 512) + conv(256, 512) + 2 * conv(256, 256),
                          conv(128, 256) + conv(128, 128) + conv(64, 128) + conv(64, 64) + conv(3, 64)));
}

TEST(Reducer, SumsHaveTheBytesOfTheBucketsWhereverTheseClose) {
  const models::ModelSpec resnet = models::make_model({"resnet18", {}}, {3, 32, 32}, 10, false);
  const std::vector<double> equal(resnet.layers.size(), 1.0);
  const Plan plan = make_plan(case_of("c10d", 2, 16), resnet, equal, 1);
  std::vector<std::int64_t> bytes;
  for (const Lane& lane : plan.ranks[0].lanes)
    for (const Op& op : lane.ops)
      if (op.kind == OpKind::all_reduce) bytes.push_back(summed_bytes(plan, resnet, op).value);
  // The first bucket is closed by the last convolution, behind the classifier, a bias and a weight of the norm.
  constexpr std::int64_t first = 4 * (512 + 1) * 10 + 2 * 4 * 512 + 4 * 9 * 512 * 512;
  std::int64_t all = 0;
  for (const Bytes segment : gradient_bytes(plan, resnet)) all += segment.value;
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_EQ(bytes.front(), first);
  EXPECT_GE(bytes[1], 25 << 20);
  EXPECT_EQ(bytes[0] + bytes[1] + bytes[2], all);
}

TEST(Reducer, ASumThatClosesSeveralBucketsHasAllTheirBytes) {
  // A bucket for each tensor: every layer with parameters has two or more.
  const models::ModelSpec resnet = models::make_model({"resnet18", {}}, {3, 32, 32}, 10, false);
  const std::vector<double> equal(resnet.layers.size(), 1.0);
  Case spec = case_of("c10d", 2, 16);
  spec.bucket = Bytes(1);
  const Plan plan = make_plan(spec, resnet, equal, 1);
  const std::vector<Bytes> gradients = gradient_bytes(plan, resnet);
  int sums = 0;
  for (const Lane& lane : plan.ranks[0].lanes)
    for (const Op& op : lane.ops) {
      if (op.kind != OpKind::all_reduce) continue;
      Bytes own(0);
      for (int s = 0; s < op.segments; ++s) own += gradients[op.segment.value + s];
      EXPECT_EQ(summed_bytes(plan, resnet, op), own) << op.segment.value;
      ++sums;
    }
  EXPECT_EQ(sums, std::ranges::count_if(gradients, [](Bytes of) { return of > Bytes(0); }));
}

TEST(Reducer, OneUpdateWaitsForAllSums) {
  const Plan plan = test_plan(case_of("c10d", 2, 4));
  EXPECT_TRUE(validate(plan).empty());
  const std::vector<Op>& ops = plan.ranks[0].compute();
  EXPECT_EQ(std::ranges::count(ops, OpKind::update, &Op::kind), 1);
  EXPECT_EQ(ops.back().segments, std::ssize(plan.segments));
}

TEST(Reducer, IsForTheProcessorAndKeepsActivations) {
  for (const char* what : {"device", "recompute"}) {
    Case spec = case_of("c10d", 2, 4);
    if (what == std::string_view("device"))
      spec.device = DeviceKind::cuda;
    else
      spec.recompute = Recompute::all;
    try {
      check_reducer(spec);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(what) + ": got "));
    }
    spec.np = 1;
    EXPECT_NO_THROW(check_reducer(spec));
  }
}

}  // namespace
}  // namespace parabench::plan
