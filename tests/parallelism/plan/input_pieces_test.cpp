#include "parallelism/plan/input_pieces.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(InputPieces, ImagesGoToTheFirstSegmentAndLabelsAloneToTheLast) {
  const Plan plan = unroll(gpipe_of(3, 2, 5), 2);
  const std::vector<InputPiece> all{{StepId(0), ReplicaId(0), MicroBatchId(0)},
                                    {StepId(0), ReplicaId(0), MicroBatchId(1)},
                                    {StepId(1), ReplicaId(0), MicroBatchId(0)},
                                    {StepId(1), ReplicaId(0), MicroBatchId(1)}};
  EXPECT_EQ(input_pieces(plan, Rank(0)).images, all);
  EXPECT_THAT(input_pieces(plan, Rank(0)).labels, IsEmpty());
  EXPECT_THAT(input_pieces(plan, Rank(1)).images, IsEmpty());
  EXPECT_THAT(input_pieces(plan, Rank(1)).labels, IsEmpty());
  EXPECT_THAT(input_pieces(plan, Rank(2)).images, IsEmpty());
  EXPECT_EQ(input_pieces(plan, Rank(2)).labels, all);
  EXPECT_EQ(most_samples(plan, all), 3);
  EXPECT_EQ(most_samples(plan, {all[1]}), 2);
  EXPECT_EQ(most_samples(plan, {}), 0);
}

TEST(InputPieces, OfWhoComputesBothEndsComeWithTheirImages) {
  const Plan plan = test_plan(case_of("sequential", 1, 4), 3);
  EXPECT_THAT(input_pieces(plan, Rank(0)).images, ElementsAre(InputPiece{StepId(0), ReplicaId(0), MicroBatchId(0)}));
  EXPECT_THAT(input_pieces(plan, Rank(0)).labels, IsEmpty());
}

/// The samples that a step reads on all ranks, by images.
std::multiset<std::int64_t> positions(const Plan& plan, int step) {
  std::multiset<std::int64_t> all;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    for (const InputPiece& piece : input_pieces(plan, r).images) {
      if (piece.step.value != step) continue;
      for (int i = 0; i < samples_of(plan, piece); ++i) all.insert(first_position(plan, piece) + i);
    }
  }
  return all;
}

TEST(InputPieces, EveryStepReadsTheNextBatchOrWithResidentInputAlwaysTheFirst) {
  std::vector<Plan> plans{unroll(test_plan(pipeline_case("gpipe", 2, 3, 1, 2)), 3), pipedream_of("3-1", 4, 2, 6)};
  plans.push_back(unroll(test_plan(pipeline_case("chimera", 2, 4)), 3));
  for (Plan& plan : plans) {
    const int batch = batch_samples(plan);
    std::multiset<std::int64_t> expected;
    for (int i = 0; i < batch; ++i) expected.insert(2 * batch + i);
    EXPECT_EQ(positions(plan, 2), expected);
    plan.spec.input = InputKind::resident;
    EXPECT_EQ(positions(plan, 2), positions(plan, 0));
    EXPECT_EQ(*positions(plan, 2).begin(), 0);
  }
}

TEST(InputPieces, ResidentOnesStandForAllStepsEachOnce) {
  const Plan plan = unroll(gpipe_of(2, 2, 4), 3);
  EXPECT_THAT(resident_pieces(input_pieces(plan, Rank(0)).images),
              ElementsAre(InputPiece{StepId(0), ReplicaId(0), MicroBatchId(0)},
                          InputPiece{StepId(0), ReplicaId(0), MicroBatchId(1)}));
  // A replica that takes every third mini-batch, from the second one on, has a piece all the same.
  EXPECT_THAT(resident_pieces(input_pieces(pipedream_of("3-1", 4, 2, 6), Rank(1)).images),
              ElementsAre(InputPiece{StepId(0), ReplicaId(0), MicroBatchId(0)}));
}

}  // namespace
}  // namespace parabench::plan
