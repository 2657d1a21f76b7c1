#include "parallelism/plan/strategies/horovod.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// One segment per entry, last first in backward order.
Plan segments(int count) {
  Plan plan;
  for (int s = 0; s < count; ++s) plan.segments.push_back({s, 1, StageId(0)});
  return plan;
}
SegmentRun run(int first, int count) { return {SegmentId(first), count}; }

const std::vector<Bytes> bytes = {Bytes(10), Bytes(10), Bytes(10), Bytes(10)};
const std::vector<double> ready = {.0085, .0055, .0015, .0012};

TEST(Fuse, JoinsWhatOneLookFinds) {
  const Plan plan = segments(4);
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(100), Seconds(1e-3)}), ElementsAre(run(2, 2), run(1, 1), run(0, 1)));
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(100), Seconds(3e-3)}), ElementsAre(run(2, 2), run(1, 1), run(0, 1)));
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(100), Seconds(9e-3)}), ElementsAre(run(0, 4)));
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(100), Seconds(0)}),
              ElementsAre(run(3, 1), run(2, 1), run(1, 1), run(0, 1)));
}

TEST(Fuse, FillsNoBufferAboveItsSizeUnlessASegmentAloneDoes) {
  const Plan plan = segments(4);
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(20), Seconds(1)}), ElementsAre(run(2, 2), run(0, 2)));
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(29), Seconds(1)}), ElementsAre(run(2, 2), run(0, 2)));
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(30), Seconds(1)}), ElementsAre(run(1, 3), run(0, 1)));
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(9), Seconds(1)}),
              ElementsAre(run(3, 1), run(2, 1), run(1, 1), run(0, 1)));
}

TEST(Fuse, ALookAtTheVeryTimeFindsWhatIsReadyThen) {
  const std::vector<double> whole = {.003, .002, .001 * (1 + 1e-15), .001};
  EXPECT_THAT(fuse(segments(4), bytes, whole, {Bytes(100), Seconds(1e-3)}),
              ElementsAre(run(2, 2), run(1, 1), run(0, 1)));
}

TEST(Fuse, SegmentsWithoutParametersJoinTheirNeighbours) {
  const std::vector<Bytes> some = {Bytes(0), Bytes(10), Bytes(0), Bytes(10), Bytes(0)};
  const std::vector<double> far = {5, 4, 3, 2, 1};
  EXPECT_THAT(fuse(segments(5), some, far, {Bytes(10), Seconds(1)}), ElementsAre(run(2, 3), run(0, 2)));
  const std::vector<Bytes> none(5);
  EXPECT_THAT(fuse(segments(5), none, far, {Bytes(10), Seconds(1)}), ElementsAre(run(0, 5)));
}

TEST(Fuse, NeverCrossesAStage) {
  Plan plan = segments(4);
  plan.stages = 2;
  plan.segments[2].stage = plan.segments[3].stage = StageId(1);
  EXPECT_THAT(fuse(plan, bytes, ready, {Bytes(100), Seconds(1)}), ElementsAre(run(2, 2), run(0, 2)));
}

TEST(GradientsReady, FollowTheBackward) {
  EXPECT_THAT(gradients_ready(segments(3), std::vector<double>{3, 6, 9}), ElementsAre(18, 16, 12));
  EXPECT_THAT(gradients_ready(segments(2), {}), ElementsAre(0, 0));
}

TEST(Horovod, FusesByPredictedTimes) {
  Case spec = case_of("horovod", 2, 4);
  spec.strategy.parameters = {{"cycle", "3s"}};
  // Three layers of a second: their gradients are there after 1 + 2/3, 2 + 1/3 and 3 seconds.
  EXPECT_THAT(test_plan(spec, 3).ranks[1].lane(collectives_of(GroupId(0), Payload::gradients)),
              ElementsAre(all_reduce(SegmentId(0), 3, StepId(0), GroupId(0))));
  spec.strategy.parameters = {{"cycle", "2s"}};
  EXPECT_THAT(test_plan(spec, 3).ranks[0].lane(collectives_of(GroupId(0), Payload::gradients)),
              ElementsAre(all_reduce(SegmentId(2), 1, StepId(0), GroupId(0)),
                          all_reduce(SegmentId(0), 2, StepId(0), GroupId(0))));
  spec.np = 1;
  EXPECT_TRUE(test_plan(spec, 3).groups.empty());
}

TEST(Horovod, ReadsItsParameters) {
  Case spec = case_of("horovod", 2, 4);
  EXPECT_EQ(fusion(spec).buffer, Bytes(64LL << 20));
  EXPECT_DOUBLE_EQ(fusion(spec).cycle.value, 1e-3);
  spec.strategy.parameters = {{"cycle", "0"}, {"fusion", "128MiB"}};
  EXPECT_EQ(fusion(spec).buffer, Bytes(128LL << 20));
  EXPECT_EQ(fusion(spec).cycle, Seconds(0));
  for (const auto& [name, value, said] :
       {std::tuple("fusion", "0", "at least one byte"), {"fusion", "big", "'big'"}, {"cycle", "-1ms", "'-1ms'"}}) {
    spec.strategy.parameters = {{name, value}};
    try {
      check_case(spec, chain_model(3));
      ADD_FAILURE() << name << ' ' << value;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(name) + " of horovod"));
      EXPECT_THAT(error.what(), HasSubstr(said));
    }
  }
}

}  // namespace
}  // namespace parabench::plan
