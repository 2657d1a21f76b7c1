// The rules that the schedules keep for every number of devices and micro-batches.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "parallelism/plan/schedules/schedule.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Peak of M_B per micro-batch and stage from F to I and M_W from I to W, the order being all that counts.
double peak_bytes(const Plan& plan, int rank, double until_input_gradient, double until_weight_gradient) {
  double now = 0, peak = 0;
  for (const Op& op : plan.ranks[rank].compute()) {
    if (op.kind == OpKind::forward) peak = std::max(peak, now += until_input_gradient);
    if (makes_input_gradient(op.kind)) now -= until_input_gradient - until_weight_gradient;
    if (makes_weight_gradient(op.kind)) now -= until_weight_gradient;
  }
  return peak;
}

std::vector<double> peaks(const std::string& strategy, int devices, int micro_batches) {
  const Plan plan = test_plan(pipeline_case(strategy, devices, micro_batches));
  const double chunks = static_cast<double>(plan.stages) / devices;
  std::vector<double> result;
  for (int rank = 0; rank < devices; ++rank) result.push_back(peak_in_flight(plan, rank) / chunks);
  return result;
}

// In units of what a device keeps for one micro-batch.
TEST(InFlight, IsThatOfThePapers) {
  EXPECT_THAT(peaks("gpipe", 4, 8), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(peaks("1f1b", 4, 8), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(peaks("dapple", 4, 8), ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(peaks("interleaved", 4, 8), ElementsAre(5.5, 4.5, 3.5, 2.5));
  EXPECT_THAT(peaks("looped-bfs", 4, 8), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(peaks("zb-h1", 4, 8), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(peaks("zb-h2", 4, 8), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(peaks("zb-v", 4, 8), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(peaks("dualpipev", 4, 8), ElementsAre(4.5, 4.5, 4.5, 4.5));
  EXPECT_THAT(peaks("chimera", 4, 4), ElementsAre(3, 4, 4, 3));
}

// H1: (P - p) M_B + p M_W, H2: (2 (P - p) - 1) M_B + 2 p M_W. Valid for M >= P and M >= 2P - 1.
TEST(InFlight, OfSplitBackwardsCountsTheirTwoParts) {
  for (int devices = 1; devices <= 8; ++devices) {
    for (int m : {2 * devices - 1, 2 * devices, 3 * devices + 1}) {
      const Plan h1 = test_plan(pipeline_case("zb-h1", devices, m)), h2 = test_plan(pipeline_case("zb-h2", devices, m));
      for (double share : {0.0, 0.5, 1.0}) {
        for (int p = 0; p < devices; ++p) {
          EXPECT_DOUBLE_EQ(peak_bytes(h1, p, 1, share), devices - p + p * share) << devices << ' ' << m << ' ' << p;
          EXPECT_DOUBLE_EQ(peak_bytes(h2, p, 1, share), 2 * (devices - p) - 1 + 2 * p * share)
              << devices << ' ' << m << ' ' << p;
        }
      }
    }
  }
}

class EverySchedule : public testing::TestWithParam<std::string> {
 protected:
  const Strategy& strategy() const { return find_strategy(GetParam()); }

  /// Whether the schedule is defined for P devices and M micro-batches.
  bool serves(int devices, int m) const {
    if (GetParam() == "interleaved") return m % std::max(1, m / devices) == 0;
    if (GetParam() == "dualpipev") return m >= 2 * devices;
    if (GetParam() == "chimera") return devices % 2 == 0 && m % 2 == 0;
    return true;
  }

  /// Most pairs of chunk and micro-batch on device p. Exact; zb-v: for M >= 2P - 1, else an upper bound.
  int in_flight(int devices, int m, int chunks, int p) const {
    const std::string& name = GetParam();
    if (name == "1f1b") return std::min(devices - p, m);
    if (name == "dapple") return std::min(2 * (devices - p) - 1, m);
    if (name == "interleaved") {
      return std::min(2 * (devices - 1 - p) + (chunks - 1) * (m / std::max(1, m / devices)) + 1, chunks * m);
    }
    if (name == "zb-h1") return std::min(devices, m);
    if (name == "zb-h2") return std::min(2 * devices - 1, m);
    if (name == "zb-v") return std::min(2 * devices, 2 * m);
    if (name == "dualpipev") return 2 * devices + 1;
    return chunks * m;
  }

  /// Stages of chunk c of device p.
  int stage(int devices, int chunk, int p) const {
    switch (strategy().schedule.stages) {
      case StageOrder::looped: return chunk * devices + p;
      case StageOrder::folded: return chunk == 0 ? p : 2 * devices - 1 - p;
      case StageOrder::crossed: return chunk == 0 ? p : devices - 1 - p;
    }
    return 0;
  }

  void expect_keeps_its_rules(const Case& spec) const;
};

void EverySchedule::expect_keeps_its_rules(const Case& spec) const {
  const std::string what = GetParam() + " np " + std::to_string(spec.np) + " micro " + std::to_string(spec.micro) +
                           " chunks " + std::to_string(spec.chunks) + " dp " + std::to_string(spec.dp);
  SCOPED_TRACE(what);
  const Plan plan = test_plan(spec);
  ASSERT_THAT(validate(plan), IsEmpty());
  const int devices = spec.np / spec.dp, chunks = strategy().chunks(spec), m = spec.micro;
  const bool crossed = strategy().schedule.stages == StageOrder::crossed;
  const bool folded = strategy().schedule.stages == StageOrder::folded;
  EXPECT_EQ(plan.stages, crossed ? devices : chunks * devices);
  EXPECT_EQ(micro_batches(plan) * plan.replicas, m * spec.dp);
  int sends = 0;
  for (int r = 0; r < spec.np; ++r) {
    const RankProgram& rank = plan.ranks[r];
    const int p = r % devices, copy = r / devices;
    std::set<int> expected, held;
    for (int chunk = 0; chunk < chunks; ++chunk) expected.insert(stage(devices, chunk, p));
    for (const Holding& h : rank.holds) {
      held.insert(h.stage.value);
      EXPECT_EQ(crossed ? h.replica.value / 2 : h.replica.value, copy);
    }
    EXPECT_EQ(held, expected);
    // Each stage here sees its micro-batches once per kind, in rising order; its B or its I and W are as many.
    std::map<std::pair<SegmentId, OpKind>, int> next;
    for (const Op& op : rank.compute()) {
      if (!is_pass(op.kind)) continue;
      int& expected_next = next[{op.segment, op.kind}];
      EXPECT_GE(op.micro_batch.value, expected_next);
      expected_next = op.micro_batch.value + 1;
    }
    for (SegmentId s : segments_held(plan, Rank(r))) {
      const auto count = [&](OpKind kind) {
        return std::ranges::count_if(rank.compute(), [&](const Op& op) { return op.kind == kind && op.segment == s; });
      };
      EXPECT_EQ(count(OpKind::forward), micro_batches(plan));
      EXPECT_EQ(count(OpKind::backward) + count(OpKind::backward_input), micro_batches(plan));
      EXPECT_EQ(count(OpKind::backward_input), count(OpKind::backward_weight));
    }
    EXPECT_EQ(std::ranges::count(rank.compute(), OpKind::update, &Op::kind), std::ssize(held));
    for (const Lane& lane : rank.lanes) {
      if (lane.ops.front().kind == OpKind::send) sends += static_cast<int>(lane.ops.size());
    }
    if (crossed) continue;
    const int peak = peak_in_flight(plan, r), limit = in_flight(devices, m, chunks, p);
    EXPECT_EQ(rank.in_flight, limit);
    EXPECT_LE(peak, limit);
    if (GetParam() == "zb-v" && m < 2 * devices - 1) continue;
    EXPECT_EQ(peak, limit);
  }
  // The turn of a V and the loop of a single device are no messages.
  const int hops = devices == 1 ? 0 : folded ? 2 * (devices - 1) : plan.stages - 1;
  EXPECT_EQ(sends, 2 * hops * m * spec.dp);
}

// P 1-16, M 1-64, v 1-4, every sixth combination, M < P, M = 1 and P = 1 among them.
TEST_P(EverySchedule, KeepsItsRulesWhereItIsDefined) {
  std::set<std::pair<int, int>> served, refused;
  int number = 0;
  for (int devices : {1, 2, 3, 4, 5, 6, 8, 13, 16}) {
    for (int m : {1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 26, 32, 33, 64}) {
      for (int chunks = 1; chunks <= (strategy().uses("chunks") ? 4 : 1); ++chunks) {
        const Case spec = pipeline_case(GetParam(), devices, m, chunks);
        ASSERT_EQ(is_possible(spec, strategy().stages(spec)), serves(devices, m)) << devices << ' ' << m;
        if (devices > 4 && m > 4 && ++number % 6 != 0) continue;
        if (serves(devices, m)) expect_keeps_its_rules(spec);
      }
    }
  }
}

TEST_P(EverySchedule, KeepsItsRulesInEveryCopy) {
  for (int dp : {2, 3}) {
    for (int devices : {1, 2, 4}) {
      const int m = 2 * devices;
      if (serves(devices, m)) expect_keeps_its_rules(pipeline_case(GetParam(), devices, m, 2, dp));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, EverySchedule, testing::ValuesIn(schedule_names()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Alternating, IsAsFastAsGpipe) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m = 1; m <= 16; ++m) {
      for (const std::string strategy : {"gpipe", "1f1b", "dapple"}) {
        const Plan plan = test_plan(pipeline_case(strategy, stages, m));
        const Timeline timeline = timeline_of(plan);
        EXPECT_DOUBLE_EQ(makespan(timeline), 3.0 * (m + stages - 1)) << strategy;
        EXPECT_NEAR(bubble_fraction(plan, timeline), (stages - 1.0) / (m + stages - 1.0), 1e-12);
      }
    }
  }
}

// Stage s of P, mini-batch n from 1: version max(0, n - (P - s)); SOSP'19: P = 4, n = 5 uses versions 1, 2, 3, 4.
TEST(Pipedream, StashesTheVersionsOfThePaper) {
  const Plan plan = pipedream_of(4, 8);
  for (int stage = 0; stage < 4; ++stage) {
    const RankProgram& rank = plan.ranks[stage];
    EXPECT_EQ(rank.weight_versions, 4 - stage);
    EXPECT_EQ(peak_in_flight(plan, stage), 4 - stage);
    for (const Op& op : rank.compute()) {
      if (op.kind == OpKind::update) {
        EXPECT_EQ(op.version.value, op.step.value + 1);
      } else {
        EXPECT_EQ(op.version.value, std::max(0, op.step.value + 1 - (4 - stage)));
        if (op.step.value == 4) {
          EXPECT_EQ(op.version.value, stage + 1);
        }
      }
    }
  }
}

TEST(Pipedream, DoesNotDrainBetweenSteps) {
  const Plan plan = pipedream_of(4, 16);
  const auto completions = step_completions(plan, timeline_of(plan));
  for (std::size_t step = 1; step < completions.size(); ++step) {
    EXPECT_DOUBLE_EQ(completions[step] - completions[step - 1], 3.0);
  }
}

struct Widths {
  std::string text;
  std::vector<int> ranks;
};

// r_s ranks of stage s, R in all: warm-up floor((R - 1 - ranks before) / r_s) per replica, NOAM = ceil(R / r_0) in
// flight on a first replica; mini-batch k on replica k mod r_s in both passes.
TEST(Pipedream, ServesStagesOfAnyWidths) {
  for (const Widths& widths : {Widths{"3-1", {3, 1}},
                               {"1-3", {1, 3}},
                               {"2-2-1", {2, 2, 1}},
                               {"4", {4}},
                               {"1-1-1", {1, 1, 1}},
                               {"15-1", {15, 1}},
                               {"2-3", {2, 3}}}) {
    SCOPED_TRACE(widths.text);
    const int stages = static_cast<int>(widths.ranks.size());
    int all = 0;
    for (int width : widths.ranks) all += width;
    for (int steps : {1, 2, 7, 4 * all}) {
      const Plan plan = pipedream_of(widths.text, all, stages, steps);
      ASSERT_THAT(validate(plan), IsEmpty()) << steps;
      int rank = 0;
      for (int stage = 0; stage < stages; ++stage) {
        const int width = widths.ranks[stage], before = rank, ahead = (all - 1 - before) / width;
        for (int replica = 0; replica < width; ++replica, ++rank) {
          int forwards = 0;
          for (const Op& op : plan.ranks[rank].compute()) {
            if (op.kind == OpKind::backward) break;
            ++forwards;
          }
          const int own = (steps - replica + width - 1) / width;
          EXPECT_EQ(forwards, std::min(ahead + 1, std::max(0, own)));
          if (stage == 0 && steps == 4 * all) {
            EXPECT_EQ(peak_in_flight(plan, rank), (all + width - 1) / width);
          }
          for (const Op& op : plan.ranks[rank].compute()) {
            if (is_pass(op.kind)) {
              EXPECT_EQ(op.step.value % width, replica);
              EXPECT_EQ(op.version.value, std::max(0, op.step.value / width - ahead));
            } else {
              EXPECT_EQ(op.version.value, (op.step.value + 1) / width);
            }
          }
        }
      }
    }
  }
}

// m = 4: micro-batches read version 0 eight times, then 1 four times, then 2; two versions are kept.
TEST(Pipedream2bw, ReadsTheVersionsOfThePaper) {
  for (int stages = 1; stages <= 5; ++stages) {
    const Plan plan = test_plan(pipeline_case("pipedream-2bw", stages, 4), stages, 5);
    ASSERT_THAT(validate(plan), IsEmpty());
    for (const RankProgram& rank : plan.ranks) {
      EXPECT_EQ(rank.weight_versions, 2);
      std::vector<int> forwards, backwards;
      for (const Op& op : rank.compute()) {
        if (op.kind == OpKind::forward) forwards.push_back(op.version.value);
        if (op.kind == OpKind::backward) backwards.push_back(op.version.value);
      }
      EXPECT_THAT(forwards, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
      EXPECT_EQ(backwards, forwards);
    }
  }
}

}  // namespace
}  // namespace parabench::plan
