#include "parallelism/plan/strategies/priority.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunPart part(int segment, int number) { return {{SegmentId(segment), 1}, number}; }

std::vector<std::string> texts(const std::vector<RunPart>& parts) {
  std::vector<std::string> result;
  for (const auto& [run, number] : parts)
    result.push_back(std::to_string(run.first.value) + '.' + std::to_string(number));
  return result;
}

TEST(ByPriority, TakesWhatIsReadyIfTheLinkIsFreeAndWhatIsReadFirstIfItIsNot) {
  // Each sum takes two seconds, each layer's gradients come a second after the other.
  const std::vector<TimedPart> slow = {{part(3, 0), 1, 2}, {part(2, 0), 2, 2}, {part(1, 0), 3, 2}, {part(0, 0), 4, 2}};
  EXPECT_THAT(texts(by_priority(slow)), ElementsAre("3.0", "1.0", "0.0", "2.0"));
  std::vector<TimedPart> quick = slow;
  for (TimedPart& one : quick) one.sum_s = .5;
  EXPECT_THAT(texts(by_priority(quick)), ElementsAre("3.0", "2.0", "1.0", "0.0"));
}

TEST(ByPriority, PartsOfAnEarlierLayerGoBetweenThoseOfALaterOne) {
  std::vector<TimedPart> parts;
  for (const int number : {3, 1, 2}) parts.push_back({part(1, number), 1, 1});
  for (const int number : {1, 2}) parts.push_back({part(0, number), 1.5, 1});
  EXPECT_THAT(texts(by_priority(parts)), ElementsAre("1.1", "0.1", "0.2", "1.2", "1.3"));
}

TEST(ByPriority, OrdersEveryPartOnceAndNeverKeepsTheLinkIdleBesideAReadyOne) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<TimedPart> parts;
    for (int segment = uniform(random, 1, 8); segment-- > 0;) {
      for (int number = uniform(random, 1, 4); number > 0; --number)
        parts.push_back({part(segment, number), uniform(random, 0, 20) * 1.0, uniform(random, 0, 3) * 1.0});
    }
    const std::vector<RunPart> order = by_priority(parts);
    ASSERT_EQ(order.size(), parts.size());
    double now = 0;
    for (const RunPart& next : order) {
      const auto timed = std::ranges::find_if(
          parts, [&](const TimedPart& p) { return p.what.run == next.run && p.what.part == next.part; });
      ASSERT_NE(timed, parts.end());
      const double earliest = std::ranges::min(parts, {}, &TimedPart::ready_s).ready_s;
      now = std::max(now, earliest);
      EXPECT_LE(timed->ready_s, now);
      for (const TimedPart& other : parts) {
        const bool comes_first =
            std::pair(other.what.run.first, other.what.part) < std::pair(next.run.first, next.part);
        EXPECT_FALSE(comes_first && other.ready_s <= now);
      }
      now += timed->sum_s;
      parts.erase(timed);
    }
  }
}

Case priority_case(int np, const std::string& partition) {
  Case spec = case_of("data-parallel", np, 2 * np);
  spec.order = {"priority", {{"partition", partition}}};
  return spec;
}

/// Layers of 1/3 s forward and 2/3 s backward, sums of so many seconds each.
Plan prioritised(const Case& spec, int layers, double sum_s) {
  Profile profile(std::vector<double>(layers, 1.0));
  profile.sum.latency_s = sum_s;
  return make_plan(spec, chain_model(layers), profile, 1);
}

std::vector<std::string> sums(RankProgram rank) {
  return texts(rank.lane(collectives_of(GroupId(0), Payload::gradients)));
}

TEST(Priority, SumsEveryLayerInPartsOfWholeCacheLines) {
  // Of 3, 3, 4 and 5 lines of 64 bytes.
  const Plan plan = prioritised(priority_case(2, "192"), 4, 0);
  EXPECT_THAT(plan.parts, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(sums(plan.ranks[1]), ElementsAre("3ALL_REDUCE^1", "3ALL_REDUCE^2", "2ALL_REDUCE^1", "2ALL_REDUCE^2",
                                               "1ALL_REDUCE", "0ALL_REDUCE"));
  EXPECT_THAT(prioritised(priority_case(2, "1"), 2, 0).parts, ElementsAre(3, 3));
  EXPECT_THAT(prioritised(priority_case(2, "1MiB"), 2, 0).parts, ElementsAre(1, 1));
}

TEST(Priority, OnASlowLinkTheFirstLayersOvertakeTheOthers) {
  const Plan plan = prioritised(priority_case(2, "1MiB"), 5, 1);
  EXPECT_THAT(sums(plan.ranks[0]),
              ElementsAre("4ALL_REDUCE", "3ALL_REDUCE", "1ALL_REDUCE", "0ALL_REDUCE", "2ALL_REDUCE"));
  EXPECT_TRUE(plan.updates_late);
  EXPECT_EQ(plan_from_json(nlohmann::json::parse(to_json(plan).dump())), plan);
}

TEST(Priority, AForwardOfTheNextStepWaitsForTheUpdateOfItsOwnLayerAlone) {
  const Plan plan = unroll(prioritised(priority_case(2, "64"), 3, 1), 2);
  ASSERT_THAT(validate(plan), IsEmpty());
  EXPECT_THAT(texts(plan.ranks[0].compute()),
              ElementsAre("0F0", "1F0", "2F0", "2B0", "1B0", "0B0", "0UPDATE", "0F0", "1UPDATE", "1F0", "2UPDATE",
                          "2F0", "2B0", "1B0", "0B0", "0UPDATE", "1UPDATE", "2UPDATE"));
  const LocalDependencies waits = dependencies(plan, Rank(1));
  const int lane = plan.ranks[1].find_lane(collectives_of(GroupId(0), Payload::gradients));
  const auto& summed = plan.ranks[1].lanes[lane].ops;
  for (int i = 0; i < std::ssize(plan.ranks[1].compute()); ++i) {
    const Op& op = plan.ranks[1].compute()[i];
    if (op.kind != OpKind::update) continue;
    ASSERT_EQ(waits.of(compute_lane, i).size(), 1u);
    const OpRef last = waits.of(compute_lane, i).front();
    EXPECT_EQ(last.lane, lane);
    // The last part of the run in its lane.
    for (int k = 0; k < std::ssize(summed); ++k) {
      const bool same = summed[k].segment == op.segment && summed[k].step == op.step;
      EXPECT_LE(same ? k : 0, last.index);
    }
  }
}

TEST(Priority, LayersWithoutParametersAreUpdatedWithTheirNeighbours) {
  models::ModelSpec model = chain_model(3);
  model.layers[1] = models::chain("relu", {{"relu", models::Relu{}}});
  model.layers[2] = models::chain("last", {{"last", models::Linear{5, 6}}});
  const Plan plan = make_plan(priority_case(2, "1MiB"), model, std::vector<double>(3, 1.0), 1);
  EXPECT_THAT(validate(unroll(plan, 3)), IsEmpty());
  EXPECT_EQ(std::ranges::count(plan.ranks[0].compute(), OpKind::update, &Op::kind), 2);
}

TEST(Priority, OneRankIsSequential) {
  const Plan plan = prioritised(priority_case(1, "64"), 3, 1);
  EXPECT_THAT(texts(plan.ranks[0].compute()), ElementsAre("0F0", "1F0", "2F0", "2B0", "1B0", "0B0", "0-2UPDATE"));
  EXPECT_FALSE(plan.updates_late);
}

TEST(Priority, RefusesABucketOfItsOwnAndMorePartsThanAPlanLists) {
  Case spec = priority_case(2, "64");
  EXPECT_EQ(refusal_of(spec, chain_model(5)), "accepted");
  spec.bucket = Bytes(1 << 20);
  EXPECT_THAT(refusal_of(spec, chain_model(5)),
              AllOf(HasSubstr("bucket: got '1MiB'"), HasSubstr("order:priority[partition=1MiB]")));
  spec.bucket = Case{}.bucket;
  spec.compress.name = "bf16";
  EXPECT_THAT(refusal_of(spec, chain_model(5)), HasSubstr("expected backward with compress:bf16"));
  spec.compress = Case{}.compress;
  models::ModelSpec large = chain_model(1);
  large.layers = {models::chain("fc", {{"fc", models::Linear{4, 200'000}}})};
  EXPECT_THAT(refusal_of(spec, large), AllOf(HasSubstr("partition of priority: got '64'"), HasSubstr("at most 8190"),
                                             HasSubstr("try partition=512")));
  models::ModelSpec deep = chain_model(1);
  deep.layers.assign(9000, models::chain("fc", {{"fc", models::Linear{4, 4}}}));
  EXPECT_EQ(refusal_of(priority_case(2, "1KiB"), deep), "accepted") << "no layer is cut";
  spec.strategy.name = "zero1";
  EXPECT_THAT(refusal_of(spec, chain_model(5)), HasSubstr("zero1 does not use this key"));
}

}  // namespace
}  // namespace parabench::plan
