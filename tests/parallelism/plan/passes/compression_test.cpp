#include "parallelism/plan/passes/compression.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/state/messages.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A segment in each bucket.
Case compressed_case(const NamedChoice& compress, int np = 2, const std::string& strategy = "data-parallel") {
  Case spec = case_of(strategy, np, 2 * np);
  if (strategy == "data-parallel") spec.bucket = Bytes(1);
  spec.compress = compress;
  return spec;
}
const NamedChoice bf16{"bf16", {}}, low_rank{"powersgd", {{"rank", "1"}}}, topk{"topk", {{"ratio", "0.1"}}};

std::vector<std::string> collectives(const Plan& plan, Payload purpose) {
  const int lane = plan.ranks[0].find_lane(collectives_of(GroupId(0), purpose));
  return lane < 0 ? std::vector<std::string>() : texts(plan.ranks[0].lanes[lane].ops);
}

TEST(CompressedSums, AreEncodedAsSoonAsTheirGradientsAreThereAndDecodedBeforeTheirUpdate) {
  const Plan plan = test_plan(compressed_case(bf16), 2);
  EXPECT_THAT(texts(plan.ranks[1].compute()), ElementsAre("0F0", "1F0", "1B0", "1ENCODE", "0B0", "0ENCODE", "1DECODE",
                                                          "1UPDATE", "0DECODE", "0UPDATE"));
  EXPECT_THAT(collectives(plan, Payload::encoded), ElementsAre("1ALL_REDUCE_ENCODED", "0ALL_REDUCE_ENCODED"));
  EXPECT_THAT(collectives(plan, Payload::gradients), IsEmpty()) << "nothing else is summed";
  EXPECT_THAT(collectives(plan, Payload::projected), IsEmpty());
}

TEST(CompressedSums, OfTopKAreGathered) {
  const Plan plan = test_plan(compressed_case(topk), 2);
  EXPECT_THAT(collectives(plan, Payload::encoded), ElementsAre("1ALL_GATHER_ENCODED", "0ALL_GATHER_ENCODED"));
}

TEST(CompressedSums, OfPowerSgdAreProjectedABucketLater) {
  const Plan plan = test_plan(compressed_case(low_rank), 3);
  EXPECT_THAT(texts(plan.ranks[0].compute()),
              ElementsAre("0F0", "1F0", "2F0", "2B0", "2ENCODE", "1B0", "1ENCODE", "2PROJECT", "0B0", "0ENCODE",
                          "1PROJECT", "0PROJECT", "2DECODE", "2UPDATE", "1DECODE", "1UPDATE", "0DECODE", "0UPDATE"));
  EXPECT_THAT(collectives(plan, Payload::encoded),
              ElementsAre("2ALL_REDUCE_ENCODED", "1ALL_REDUCE_ENCODED", "0ALL_REDUCE_ENCODED"));
  EXPECT_THAT(collectives(plan, Payload::projected),
              ElementsAre("2ALL_REDUCE_PROJECTED", "1ALL_REDUCE_PROJECTED", "0ALL_REDUCE_PROJECTED"));
}

TEST(CompressedSums, WaitForEachOther) {
  const Plan plan = test_plan(compressed_case(low_rank), 2);
  const LocalDependencies needs = dependencies(plan, Rank(0));
  const auto before = [&](const std::string& text) {
    std::vector<std::string> found;
    for (int lane = 0; lane < std::ssize(plan.ranks[0].lanes); ++lane) {
      const auto& ops = plan.ranks[0].lanes[lane].ops;
      for (int i = 0; i < std::ssize(ops); ++i) {
        if (to_text(ops[i]) != text) continue;
        for (const OpRef& ref : needs.of(lane, i)) found.push_back(to_text(at(plan, ref)));
      }
    }
    return found;
  };
  EXPECT_THAT(before("1ENCODE"), ElementsAre("1B0"));
  EXPECT_THAT(before("1ALL_REDUCE_ENCODED"), ElementsAre("1ENCODE"));
  EXPECT_THAT(before("1PROJECT"), ElementsAre("1ALL_REDUCE_ENCODED"));
  EXPECT_THAT(before("1ALL_REDUCE_PROJECTED"), ElementsAre("1PROJECT"));
  EXPECT_THAT(before("1DECODE"), ElementsAre("1ALL_REDUCE_PROJECTED"));
  EXPECT_THAT(before("1UPDATE"), ElementsAre("1DECODE"));
}

TEST(CompressedSums, KeepAllRulesAndSurviveTheirFile) {
  for (const NamedChoice& compress : {bf16, low_rank, topk}) {
    for (const char* strategy : {"data-parallel", "horovod"}) {
      for (const int np : {2, 3, 5}) {
        const Plan plan = test_plan(compressed_case(compress, np, strategy), 3);
        EXPECT_THAT(validate(plan), IsEmpty());
        EXPECT_THAT(validate(unroll(plan, 3)), IsEmpty());
        EXPECT_EQ(plan_from_json(to_json(plan)), plan);
        // The same gradients reach the same updates as without.
        EXPECT_EQ(meaning_of(plan), meaning_of(test_plan(compressed_case({"none", {}}, np, strategy), 3)));
      }
    }
  }
}

TEST(CompressedSums, HaveTheBytesOfTheirFormulas) {
  const auto bytes = [](const NamedChoice& compress, Precision precision, int np = 2) {
    Case spec = compressed_case(compress, np);
    spec.precision = precision;
    const Plan plan = test_plan(spec, 2);
    const ParameterSizes sizes(chain_model(2));
    std::vector<std::int64_t> result;
    for (const Lane& lane : plan.ranks[0].lanes) {
      for (const Op& op : lane.ops)
        if (is_collective(op.kind)) result.push_back(collective_bytes(plan, sizes, op));
    }
    return result;
  };
  // Layers of 6 x 5 and 6, and of 5 x 4 and 5 values; each in whole cache lines of 64 bytes.
  EXPECT_THAT(bytes(bf16, Precision::fp32), ElementsAre(128, 64));
  EXPECT_THAT(bytes(bf16, Precision::fp64), ElementsAre(128, 64));
  // Rank 1: 22 is below 30, P of 6 values and the bias, Q of 5; 18 is below 20, P of 5 values and the bias, Q of 4.
  EXPECT_THAT(bytes(low_rank, Precision::fp32), ElementsAre(64, 64, 64, 64));
  EXPECT_THAT(bytes(low_rank, Precision::fp64), ElementsAre(128, 128, 64, 64));
  // A tenth: 3 and 1 of 8 bytes, 2 and 1; of all members.
  EXPECT_THAT(bytes(topk, Precision::fp32), ElementsAre(2 * 64, 2 * 64));
  EXPECT_THAT(bytes({"topk", {{"ratio", "1"}}}, Precision::fp32, 3), ElementsAre(3 * 320, 3 * 256));
}

}  // namespace
}  // namespace parabench::plan
