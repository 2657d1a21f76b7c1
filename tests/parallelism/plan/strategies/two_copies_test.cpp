#include "parallelism/plan/strategies/two_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

std::optional<Plan> two_of(const Case& spec) {
  return plan_of_two_copies(spec, chain_model(4), Profile(std::vector<double>(4, 1.0)));
}

Case copies_of_1f1b(int dp, int batch) {
  Case spec = case_of("1f1b", 2 * dp, batch, 2);
  spec.dp = dp;
  return spec;
}

TEST(TwoCopies, DoWhatTheyDoInThePlanOfAll) {
  Case bucketed = case_of("data-parallel", 6, 12);
  bucketed.bucket = Bytes(1);
  for (const Case& spec : {bucketed, case_of("local-sgd", 5, 10), copies_of_1f1b(3, 12), copies_of_1f1b(4, 16)}) {
    const std::optional<Plan> two = two_of(spec);
    ASSERT_TRUE(two) << spec.strategy.name;
    const Plan all = make_plan(spec, chain_model(4), Profile(std::vector<double>(4, 1.0)), 1);
    EXPECT_EQ(two->spec, all.spec);
    EXPECT_EQ(two->pieces, all.pieces);
    ASSERT_EQ(std::ssize(two->ranks), 2 * ranks_of_copy(spec));
    for (std::size_t r = 0; r < two->ranks.size(); ++r) EXPECT_EQ(two->ranks[r], all.ranks[r]) << spec.strategy.name;
    EXPECT_EQ(with_all_members(*two).groups, all.groups) << spec.strategy.name;
  }
}

TEST(TwoCopies, AreNoneOfCopiesThatDiffer) {
  EXPECT_FALSE(two_of(case_of("data-parallel", 2, 12))) << "no more than these two";
  EXPECT_FALSE(two_of(case_of("data-parallel", 6, 13))) << "one copy has a sample more";
  EXPECT_FALSE(two_of(copies_of_1f1b(3, 13)));
  for (const char* strategy : {"zero1", "zero2", "zero3", "dear", "parameter-server"})
    EXPECT_FALSE(two_of(case_of(strategy, 4, 12))) << strategy;
  EXPECT_FALSE(two_of(case_of("pipedream", 4, 12)));
  Case sharing = copies_of_1f1b(4, 16);
  sharing.zero = 1;
  EXPECT_FALSE(two_of(sharing));
}

TEST(TwoCopies, StandForMoreRanksThanAPlanCanList) {
  Case many = copies_of_1f1b(10'000, 40'000);
  const std::optional<Plan> two = two_of(many);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->ranks.size(), 4u);
  EXPECT_EQ(batch_samples(*two), 40'000);
  EXPECT_EQ(with_all_members(*two).groups.front().ranks.size(), 10'000u);
}

}  // namespace
}  // namespace parabench::plan
