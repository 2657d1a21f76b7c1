#include "parallelism/plan/validate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> rules(const Plan& plan) {
  std::vector<std::string> result;
  for (const Violation& v : validate(plan)) result.push_back(v.rule);
  return result;
}

TEST(Validate, NamesTheRule) {
  Plan plan = gpipe_of(2, 2, 4);
  std::swap(plan.ranks[0].compute()[0], plan.ranks[0].compute()[1]);
  EXPECT_THAT(rules(plan), Contains("first in, first out"));

  plan = gpipe_of(2, 2, 4);
  plan.ranks[1].lane(receives_from(Rank(0), Payload::activation)).pop_back();
  EXPECT_THAT(rules(plan), Contains("pairing"));

  plan = pipedream_of(3, 6);
  plan.ranks[0].weight_versions = 2;
  EXPECT_THAT(rules(plan), Contains("version"));

  plan = test_plan(case_of("data-parallel", 2, 4), 3);
  plan.ranks[1].lane(collectives_of(GroupId(0), Payload::gradients)).clear();
  EXPECT_THAT(rules(plan), Contains("exactly once"));

  plan = test_plan(case_of("sequential", 1, 4), 3);
  plan.groups = {{Axis::data, {Rank(0)}}};
  plan.ranks[0].lane(collectives_of(GroupId(0), Payload::gradients)) = {
      all_reduce(SegmentId(0), 3, StepId(0), GroupId(0))};
  EXPECT_THAT(rules(plan), Contains("exactly once"));

  plan = gpipe_of(2, 2, 4);
  plan.pieces = {{3, 1}};
  EXPECT_THAT(rules(plan), Contains("samples"));

  plan = gpipe_of(2, 2, 4);
  plan.ranks[0].compute()[0].segment = SegmentId(1);
  EXPECT_THAT(rules(plan), Contains("placement"));

  plan = gpipe_of(2, 2, 4);
  plan.ranks[0].compute()[0].step = StepId(1);
  EXPECT_THAT(rules(plan), Contains("fields"));
}

void read_versions(Plan& plan, OpKind kind, int (*version)(int step)) {
  for (RankProgram& rank : plan.ranks)
    for (Op& op : rank.compute())
      if (op.kind == kind) op.version = VersionId(version(op.step.value));
}

// Mini-batch n, from 1, goes backward with version n - 1, whatever it went forward with.
TEST(Validate, RefusesAPipedreamWithoutStashing) {
  Plan plan = pipedream_of(4, 8);
  read_versions(plan, OpKind::backward, [](int step) { return step; });
  EXPECT_THAT(rules(plan), Contains("version"));
}

// All stages use max(0, n - P), so that each keeps P versions.
TEST(Validate, AcceptsVerticalSyncWithAVersionForEveryStageAndNotWithFewer) {
  Plan plan = pipedream_of(4, 8);
  for (VersionRule& rule : plan.versions) rule.lag = 3;
  for (const OpKind kind : {OpKind::forward, OpKind::backward})
    read_versions(plan, kind, [](int step) { return std::max(0, step - 3); });
  for (RankProgram& rank : plan.ranks) rank.weight_versions = 4;
  EXPECT_THAT(rules(plan), IsEmpty());
  for (RankProgram& rank : plan.ranks) {
    rank.weight_versions = 3;
    EXPECT_THAT(rules(plan), Contains("version"));
    rank.weight_versions = 4;
  }
}

// Every message meets its like, but each rank's send waits for a backward that waits for the other's.
TEST(Validate, FindsADeadlockOfWellPairedMessages) {
  Plan plan = test_plan(pipeline_case("interleaved", 2, 2));
  auto& first = plan.ranks[0].compute();                                 // 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1
  auto& second = plan.ranks[1].compute();                                // 1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1
  std::rotate(first.begin() + 1, first.begin() + 2, first.begin() + 3);  // 0F0 2F0 0F1: stage 1 is fed once
  std::rotate(second.begin(), second.begin() + 1, second.begin() + 2);   // 1F1 before 1F0
  plan.in_order = false;
  const auto found = validate(plan);
  EXPECT_THAT(found, Contains(Field(&Violation::rule, "progress")));
  EXPECT_THAT(found, Contains(Field(&Violation::text, HasSubstr("2F0 of step 0 on rank 0"))));
}

// A gradient slice is shared by all versions: the next mini-batch must not add to it before the update.
TEST(Validate, FindsGradientsOfTwoMiniBatchesInOneSlice) {
  Plan plan = pipedream_of(2, 3);
  auto& ops = plan.ranks[0].compute();  // F0 F1 B0 U F2 B1 U B2 U
  std::rotate(ops.begin() + 3, ops.begin() + 4, ops.begin() + 6);
  EXPECT_THAT(rules(plan), Contains("gradient"));
}

TEST(Validate, RefusesWhatOnlyADamagedFileSays) {
  constexpr int most = std::numeric_limits<int>::max();
  // Counts that would take terabytes, sums beyond int, and names of what is not there: by words, at once.
  const auto damaged = [](auto damage) {
    Plan plan = gpipe_of(2, 2, 4);
    damage(plan);
    EXPECT_THAT(validate(plan), Not(IsEmpty()));
    EXPECT_THROW(require_valid(plan), Error);
  };
  damaged([](Plan& plan) { plan.steps = most; });
  damaged([](Plan& plan) { plan.replicas = plan.stages = plan.shards = most; });
  damaged([](Plan& plan) { plan.pieces.clear(); });
  damaged([](Plan& plan) { plan.pieces.front() = {most, most, 1, -most}; });
  damaged([](Plan& plan) { plan.segments.front().layers = plan.segments.front().first_layer = most; });
  damaged([](Plan& plan) { plan.segments.back().stage = StageId(most); });
  damaged([](Plan& plan) { plan.ranks[0].compute()[0].segment = SegmentId(most); });
  damaged([](Plan& plan) { plan.ranks[0].holds.clear(); });
}

TEST(Validate, RequireValidListsViolationsAndTheOrder) {
  EXPECT_NO_THROW(require_valid(gpipe_of(2, 2, 4)));
  Plan plan = gpipe_of(2, 2, 4);
  plan.ranks[1].compute().erase(plan.ranks[1].compute().begin());
  try {
    require_valid(plan);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("exactly once: 1F0 of step 0 is missing on rank 1"));
    EXPECT_THAT(error.what(), HasSubstr("p1 F1 B0 B1"));
  }
}

}  // namespace
}  // namespace parabench::plan
