// Of which sizes reductions and messages are timed.
#include "analytic/calibration/exchange_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr GroupShape both{.ranks = 2};

TEST(ExchangeSizes, AreThoseOfThePlansOwnBuckets) {
  Case spec = case_of("data-parallel", 2, 2);
  spec.bucket = Bytes(2 * 64);  // two layers of 16 parameters each
  const plan::Plan plan = test_plan(spec, 5);
  const Sizes sizes(chain(5));
  EXPECT_THAT(collective_sizes(plan, sizes, plan::OpKind::all_reduce, both), ElementsAre(64, 128))
      << "one is left over";
  EXPECT_THAT(collective_sizes(plan, sizes, plan::OpKind::reduce_scatter, both), IsEmpty());
  EXPECT_THAT(collective_sizes(plan, sizes, plan::OpKind::all_reduce, {.ranks = 3}), IsEmpty());
}

TEST(ExchangeSizes, OfSharesAreBesideThoseOfOtherCollectives) {
  Case spec = case_of("zero3", 2, 2);
  spec.bucket = Bytes(1);
  const plan::Plan plan = test_plan(spec, 3);
  const Sizes sizes(chain(3));
  EXPECT_THAT(collective_sizes(plan, sizes, plan::OpKind::all_gather, both), ElementsAre(64));
  EXPECT_THAT(collective_sizes(plan, sizes, plan::OpKind::reduce_scatter, both), ElementsAre(64));
  EXPECT_THAT(collective_sizes(plan, sizes, plan::OpKind::all_reduce, both), IsEmpty());
}

TEST(ExchangeSizes, OfMessagesAreWhatStagesHandOn) {
  plan::Plan plan = gpipe(2, 3);
  const Sizes sizes(chain(2));
  constexpr std::int64_t activation = 4 * 2 * 2 * sizeof(float);
  EXPECT_THAT(message_sizes(plan, sizes, /*between_hosts=*/false), ElementsAre(activation)) << "of one sample";
  EXPECT_THAT(message_sizes(plan, sizes, /*between_hosts=*/true), IsEmpty());
  plan.placement = {{0, 1}};
  EXPECT_THAT(message_sizes(plan, sizes, /*between_hosts=*/false), IsEmpty());
  EXPECT_THAT(message_sizes(plan, sizes, /*between_hosts=*/true), ElementsAre(activation));
}

TEST(ExchangeSizes, OfManyAreTheSmallestTheLargestAndSomeBetween) {
  Case spec = case_of("data-parallel", 2, 2);
  spec.bucket = Bytes(1);
  models::ModelSpec model{.name = "widening", .input = {1, 1, 1}, .classes = 11, .layers = {}};
  for (int width = 1; width < 11; ++width) {
    const std::string name(1, static_cast<char>('a' + width));
    model.layers.push_back(models::chain(name, {{name, models::Conv2d{.in = width, .out = width + 1}}}));
  }
  const plan::Plan plan = plan::make_plan(spec, model, std::vector<double>(10, 1.0), 1);
  const std::vector<std::int64_t> timed = collective_sizes(plan, Sizes(model), plan::OpKind::all_reduce, both);
  EXPECT_EQ(timed.size(), most_exchange_sizes);
  EXPECT_TRUE(std::ranges::is_sorted(timed));
  EXPECT_LT(timed.front() * 5, timed.back());
}

TEST(TimedSizes, OfAPlanAreItsOwnAndASmallOne) {
  EXPECT_THAT(timed_sizes(ExchangesOf::plan, 1024, 100'000, {40'000, 80'000}), ElementsAre(1024, 40'000, 80'000));
  EXPECT_THAT(timed_sizes(ExchangesOf::plan, 1024, 100'000, {24}), ElementsAre(24, 1024));
  EXPECT_THAT(timed_sizes(ExchangesOf::plan, 4096, 256, {256}), ElementsAre(256));
}

TEST(TimedSizes, OfAnyPlanAreEightTimesApartBesideItsOwn) {
  EXPECT_THAT(timed_sizes(ExchangesOf::any_plan, 1024, 10'000, {2048}), ElementsAre(1024, 2048, 8192, 9984));
  EXPECT_THAT(timed_sizes(ExchangesOf::any_plan, 1024, 8192 + 5, {}), ElementsAre(1024, 8192));
  EXPECT_THAT(timed_sizes(ExchangesOf::any_plan, 1024, 24, {}), ElementsAre(24));
  EXPECT_THAT(timed_sizes(ExchangesOf::plan, 1024, 10'000, {}), ElementsAre(1024, 9984)) << "where it has none";
}

TEST(TimedSizes, FitIntoTheBuffer) {
  EXPECT_THAT(timed_sizes(ExchangesOf::plan, 64, 1000, {500, 4000}), ElementsAre(64, 500, 1000));
}

TEST(TimedSizes, AreWholeNumbersOfWhatIsReduced) {
  EXPECT_THAT(timed_sizes(ExchangesOf::plan, 64, 1000, {2, 502}), ElementsAre(4, 64, 500)) << "bf16 may be odd";
}

}  // namespace
}  // namespace parabench::analytic
