// What a model that changes some times of another tells of the rest.
#include "analytic/costs/times_of.h"

#include <gtest/gtest.h>

#include "analytic/costs/ablation.h"
#include "analytic/costs/emulation.h"
#include "analytic/costs/group_times.h"
#include "analytic/costs/spread_times.h"
#include "analytic/costs/tensor_times.h"
#include "analytic/costs/what_if.h"
#include "analytic/simulate/jitter.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Nothing is as it is where a model does not know better.
class AllTold final : public TimeModel {
 public:
  TimeParts parts(const plan::Plan&, Rank, const plan::Op&, int) const override { return {.compute = 1}; }
  double deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const override { return 2; }
  BesideComputing beside_computing(const plan::Plan&, Rank, const plan::Op&) const override { return {.slowdown = 3}; }
  double load_s_per_sample(const plan::Plan&, int loading_ranks) const override { return 4 * loading_ranks; }
  Link link(const plan::Plan&) const override { return {.latency_s = 5, .bytes_per_s = 6}; }
  std::string assumption(const plan::Plan&) const override { return "a machine"; }
  std::string link_assumption(const plan::Plan&, Rank, const plan::Op&) const override { return "a network"; }
  int cores() const override { return 7; }
  int cores_of_rank(const Case&) const override { return 10; }
  bool shares_links() const override { return true; }
  Uplinks uplinks() const override { return {.hosts_per_rack = 8, .links = 9}; }
  std::string source() const override { return "calibrated"; }
  std::string link_source() const override { return "given by somebody"; }
};

struct Told {
  double deviation_s, slowdown, load_s;
  Link link;
  std::string assumption, link_assumption;
  int cores, cores_of_rank;
  bool shares_links;
  int hosts_per_rack;
  std::string source, link_source;
  bool operator==(const Told&) const = default;
};

constexpr int loading_ranks = 6;
const plan::Op sum = plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0));

Told told(const TimeModel& time) {
  const plan::Plan plan = data_parallel(4, 4);
  return {.deviation_s = time.deviation_s(plan, Rank(0), sum, 1),
          .slowdown = time.beside_computing(plan, Rank(0), sum).slowdown,
          .load_s = time.load_s_per_sample(plan, loading_ranks),
          .link = time.link(plan),
          .assumption = time.assumption(plan),
          .link_assumption = time.link_assumption(plan, Rank(0), sum),
          .cores = time.cores(),
          .cores_of_rank = time.cores_of_rank(plan.spec),
          .shares_links = time.shares_links(),
          .hosts_per_rack = time.uplinks().hosts_per_rack,
          .source = time.source(),
          .link_source = time.link_source()};
}

std::unique_ptr<const TimeModel> base() { return std::make_unique<AllTold>(); }

TEST(TimesOf, AreTheOtherModelsWhereTheyChangeNothing) {
  const AllTold all;
  const Told expected = told(all);
  const plan::Plan plan = data_parallel(4, 4);
  EXPECT_EQ(told(*without(AblatedTerm::overhead, all)), expected);
  EXPECT_EQ(told(*changed_times(base(), {}, Sizes(chain(4)))), expected);
  EXPECT_EQ(told(*tensor_times(base(), base(), case_of("data-parallel", 2, 4), Sizes(chain(4)), 2)), expected);
  EXPECT_EQ(told(*group_times(all, plan)), expected);
  EXPECT_EQ(told(Jittered(all, plan)), expected);
}

TEST(TimesOf, DevicesOfTheirOwnShareNoCores) {
  Told expected = told(AllTold());
  expected.cores = 0;
  EXPECT_EQ(told(*exclusive_times(base())), expected);
}

TEST(TimesOf, HostsOfTheirOwnShareNoCoresAndLoadForTheirRanksAlone) {
  Told expected = told(AllTold());
  expected.cores = 0;
  expected.load_s = 4 * 2;
  expected.assumption = "a machine, hosts of 2 cores, 2 ranks on each";
  expected.link_assumption = "a network, 32 hosts of 2 cores, 2 ranks on each";
  EXPECT_EQ(told(*spread_times(base(), {.cores = 2}, case_of("data-parallel", 64, 64), 2)), expected);
}

TEST(TimesOf, AGivenLinkIsNoneOfTheMachine) {
  const Link link{.latency_s = 1, .bytes_per_s = 2};
  Told expected = told(AllTold());
  expected.deviation_s = expected.slowdown = expected.hosts_per_rack = 0;
  expected.link = link;
  expected.link_source = "given";
  EXPECT_EQ(told(*over_link(base(), link, Sizes(chain(4)))), expected);
}

}  // namespace
}  // namespace parabench::analytic
