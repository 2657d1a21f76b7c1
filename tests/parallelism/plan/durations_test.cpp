#include "parallelism/plan/durations.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/matching.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

/// A different time for each operation of a step, whichever step it is.
double seconds_of(int rank, const Op& op) {
  return 1000 * rank + 100 * static_cast<int>(op.kind) + 10 * op.segment.value + op.micro_batch.value;
}

Durations durations_of(const Plan& plan) {
  Durations result;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    auto& lanes = result.emplace_back();
    for (const Lane& lane : plan.ranks[r].lanes) {
      auto& durations = lanes.emplace_back();
      for (const Op& op : lane.ops) {
        const double seconds = seconds_of(r, op);
        durations.push_back({seconds, is_message(op.kind) ? seconds / 4 : 0});
      }
    }
  }
  return result;
}

TEST(Durations, UnrollAsThePlanDoes) {
  Case ordered = case_of("data-parallel", 2, 4);
  ordered.order.name = "priority";
  const Plan synchronous = gpipe_of(3, 4, 8), asynchronous = pipedream_of(3, 9), late = test_plan(ordered, 4);
  for (const Plan& plan : {synchronous, asynchronous, late}) {
    EXPECT_EQ(unroll(plan, durations_of(plan), 5), durations_of(unroll(plan, 5)));
  }
}

TEST(Durations, TravelInThePlanFileAndAreNoPartOfThePlan) {
  const Plan plan = gpipe_of(3, 4, 8);
  nlohmann::json file = to_json(plan);
  add_durations(file, plan, durations_of(plan));
  EXPECT_EQ(plan_from_json(file), plan);
  EXPECT_EQ(hash(plan_from_json(file)), hash(plan));
  EXPECT_EQ(durations_from_json(file, plan), durations_of(plan));
}

TEST(Durations, AMissingOrNegativeOneIsNamedAndOneThatIsLongerOnItsLinkThanInAll) {
  const Plan plan = gpipe_of(3, 4, 8);
  nlohmann::json file = to_json(plan);
  EXPECT_THROW(durations_from_json(file, plan), Error);
  add_durations(file, plan, durations_of(plan));
  const auto expect_refused = [&](nlohmann::json wrong, const OpRef& where, const std::string& what) {
    try {
      durations_from_json(wrong, plan);
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(what + " of " + describe(plan, where)));
    }
  };
  nlohmann::json negative = file, longer = file;
  negative["ranks"][1]["lanes"]["compute"][2]["seconds"] = -1;
  expect_refused(negative, {Rank(1), compute_lane, 2}, "seconds");
  const std::string lane = name(plan.ranks[1].lanes[1].key);
  longer["ranks"][1]["lanes"][lane][0]["on_link_seconds"] = 1e9;
  expect_refused(longer, {Rank(1), 1, 0}, "on_link_seconds");
}

}  // namespace
}  // namespace parabench::plan
