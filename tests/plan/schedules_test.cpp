// The schedules: their orders, and the rules that they keep for every number of devices and micro-batches.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "parallelism/plan/print.h"
#include "parallelism/plan/schedule.h"
#include "parallelism/plan/validate.h"
#include "tests/plan/plans.h"

namespace parabench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string line(const Plan& plan, int rank) {
  std::string text = to_text(plan);
  for (; rank > 0; --rank) text.erase(0, text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}
std::string line(const std::string& strategy, int devices, int micro_batches, int rank) {
  return line(plan_of(pipeline_case(strategy, devices, micro_batches)), rank);
}

TEST(GoldenOrder, OfStrategiesWithoutMicroBatches) {
  EXPECT_EQ(to_text(plan_of(case_of("sequential", 1, 2), 3)), "p0 F0 B0\n");
  EXPECT_EQ(to_text(plan_of(case_of("data-parallel", 2, 2), 3)), "p0 F0 B0\np1 F0 B0\n");
  EXPECT_EQ(to_text(plan_of(case_of("model-parallel", 2, 2), 3)), "p0 F0 B0\np1 F0 B0\n");
  EXPECT_EQ(to_text(plan_of(case_of("model-parallel", 4, 2), 4)), "p0 F0 B0\np1 F0 B0\np2 F0 B0\np3 F0 B0\n");
}

TEST(GoldenOrder, OfGpipeAndLoopedBfs) {
  EXPECT_EQ(to_text(gpipe_of(2, 4, 8)), "p0 F0 F1 F2 F3 B0 B1 B2 B3\np1 F0 F1 F2 F3 B0 B1 B2 B3\n");
  EXPECT_EQ(to_text(plan_of(pipeline_case("looped-bfs", 2, 2))),
            "p0 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1\n"
            "p1 1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1\n");
}

TEST(GoldenOrder, OfAlternatingPipelines) {
  EXPECT_EQ(to_text(plan_of(pipeline_case("1f1b", 4, 8))),
            "p0 F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7\n"
            "p2 F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7\n"
            "p3 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7\n");
  EXPECT_EQ(to_text(plan_of(pipeline_case("dapple", 3, 6))),
            "p0 F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
            "p2 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
  EXPECT_EQ(to_text(plan_of(pipeline_case("1f1b", 3, 1))), "p0 F0 B0\np1 F0 B0\np2 F0 B0\n");
}

TEST(GoldenOrder, OfInterleaved) {
  EXPECT_EQ(line("interleaved", 2, 4, 0), "p0 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  EXPECT_EQ(line("interleaved", 2, 4, 1), "p1 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

TEST(GoldenOrder, OfZeroBubble) {
  EXPECT_EQ(line("zb-h1", 4, 8, 0), "p0 F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7");
  EXPECT_EQ(line("zb-h1", 4, 8, 3), "p3 F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7");
  EXPECT_EQ(line("zb-h2", 4, 8, 1), "p1 F0 F1 F2 F3 F4 I0 F5 I1 F6 I2 W0 F7 I3 W1 I4 W2 I5 W3 I6 W4 I7 W5 W6 W7");
  EXPECT_EQ(line("zb-v", 2, 4, 0),
            "p0 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3");
  EXPECT_EQ(line("zb-v", 2, 4, 1),
            "p1 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3");
}

TEST(GoldenOrder, OfDualPipeV) {
  EXPECT_EQ(line("dualpipev", 2, 4, 0),
            "p0 0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3|3B1) (3F2|0B0) 3B2 (3F3|0B1) 3B3 0I2 0W2 0I3 0W3");
}

TEST(GoldenOrder, OfChimera) {
  EXPECT_EQ(to_text(plan_of(pipeline_case("chimera", 4, 4))),
            "p0 F0d F1d F0u B0u F1u B1u B0d B1d\n"
            "p1 F0d F0u F1d F1u B0u B0d B1u B1d\n"
            "p2 F0u F0d F1u F1d B0d B0u B1d B1u\n"
            "p3 F0u F1u F0d B0d F1d B1d B0u B1u\n");
}

TEST(GoldenOrder, OfPipedream) {
  EXPECT_EQ(to_text(pipedream_of(2, 4)), "p0 F0 F1 B0 F2 B1 F3 B2 B3\np1 F0 B0 F1 B1 F2 B2 F3 B3\n");
  EXPECT_EQ(to_text(pipedream_of("3-1", 4, 2, 6)),
            "p0 F0 F3 B0 B3\np1 F1 F4 B1 B4\np2 F2 F5 B2 B5\np3 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
  EXPECT_EQ(to_text(plan_of(pipeline_case("pipedream-2bw", 2, 2), 2, 2)),
            "p0 F0 F1 B0 F2 B1 F3 B2 B3\np1 F0 B0 F1 B1 F2 B2 F3 B3\n");
}

std::string grid(const std::string& strategy, int devices, int micro_batches) {
  const Plan plan = plan_of(pipeline_case(strategy, devices, micro_batches));
  return to_grid(plan, timeline_of(plan));
}

TEST(GoldenGrid, OfEverySchedule) {
  EXPECT_EQ(grid("gpipe", 3, 3),
            "p0 F0 F1 F2 .  .  .  .  .  .  B0 B0 B1 B1 B2 B2\n"
            "p1 .  F0 F1 F2 .  .  .  B0 B0 B1 B1 B2 B2 .  .\n"
            "p2 .  .  F0 F1 F2 B0 B0 B1 B1 B2 B2 .  .  .  .\n");
  EXPECT_EQ(grid("1f1b", 3, 3),
            "p0 F0 F1 F2 .  .  .  .  B0 B0 .  B1 B1 .  B2 B2\n"
            "p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 .  B2 B2 .  .\n"
            "p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 .  .  .  .\n");
  EXPECT_EQ(grid("dapple", 3, 4),
            "p0 F0 F1 F2 F3 .  .  .  B0 B0 .  B1 B1 .  B2 B2 .  B3 B3\n"
            "p1 .  F0 F1 F2 .  B0 B0 F3 B1 B1 .  B2 B2 .  B3 B3 .  .\n"
            "p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 .  .  .  .\n");
  EXPECT_EQ(
      grid("interleaved", 2, 4),
      "p0 0F0 0F1 2F0 2F1 0F2 .   2B0 2B0 0F3 2B1 2B1 2F2 0B0 0B0 2F3 0B1 0B1 .   2B2 2B2 .   2B3 2B3 0B2 0B2 0B3 0B3\n"
      "p1 .   1F0 1F1 3F0 3B0 3B0 3F1 3B1 3B1 1F2 1B0 1B0 1F3 1B1 1B1 3F2 3B2 3B2 3F3 3B3 3B3 1B2 1B2 1B3 1B3 .   .\n");
  EXPECT_EQ(grid("looped-bfs", 2, 2),
            "p0 0F0 0F1 2F0 2F1 .   .   .   2B0 2B0 2B1 2B1 0B0 0B0 0B1 0B1\n"
            "p1 .   1F0 1F1 3F0 3F1 3B0 3B0 3B1 3B1 1B0 1B0 1B1 1B1 .   .\n");
  EXPECT_EQ(grid("zb-h1", 3, 3),
            "p0 F0 F1 F2 .  .  I0 W0 I1 W1 I2 W2\n"
            "p1 .  F0 F1 .  I0 F2 I1 W0 I2 W1 W2\n"
            "p2 .  .  F0 I0 F1 I1 F2 I2 W0 W1 W2\n");
  EXPECT_EQ(grid("zb-h2", 3, 3),
            "p0 F0 F1 F2 .  .  I0 W0 I1 W1 I2 W2 .\n"
            "p1 .  F0 F1 F2 I0 .  I1 .  I2 W0 W1 W2\n"
            "p2 .  .  F0 I0 F1 I1 F2 I2 W0 W1 W2 .\n");
  EXPECT_EQ(grid("zb-v", 2, 3),
            "p0 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2 0I1 0W1 0I2 0W2 .\n"
            "p1 .   1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2 1W2\n");
  EXPECT_EQ(grid("dualpipev", 2, 4),
            "p0 0F0 0F1 0F2 3F0 3I0 3W0 3F1 0F3 3B1 3B1 3F2 0B0 0B0 3B2 3B2 3F3 .   0B1 0B1 3B3 3B3 0I2 0W2 0I3 0W3\n"
            "p1 .   1F0 2F0 1F1 2F1 1F2 2B0 2B0 2F2 1B0 1B0 1F3 2B1 2B1 2F3 1B1 1B1 2B2 2B2 1B2 1B2 2I3 1I3 2W3 1W3\n");
  EXPECT_EQ(grid("chimera", 4, 4),
            "p0 F0d F1d .   F0u B0u B0u F1u B1u B1u .   B0d B0d .   .   B1d B1d\n"
            "p1 .   F0d F0u F1d F1u .   B0u B0u B0d B0d B1u B1u B1d B1d .   .\n"
            "p2 .   F0u F0d F1u F1d .   B0d B0d B0u B0u B1d B1d B1u B1u .   .\n"
            "p3 F0u F1u .   F0d B0d B0d F1d B1d B1d .   B0u B0u .   .   B1u B1u\n");
}

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
  const Plan plan = plan_of(pipeline_case(strategy, devices, micro_batches));
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
      const Plan h1 = plan_of(pipeline_case("zb-h1", devices, m)), h2 = plan_of(pipeline_case("zb-h2", devices, m));
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
    if (GetParam() == "zb-v" || GetParam() == "dualpipev") return chunk == 0 ? p : 2 * devices - 1 - p;
    if (GetParam() == "chimera") return chunk == 0 ? p : devices - 1 - p;
    return chunk * devices + p;
  }

  void expect_keeps_its_rules(const Case& spec) const;
};

void EverySchedule::expect_keeps_its_rules(const Case& spec) const {
  const std::string what = GetParam() + " np " + std::to_string(spec.np) + " micro " + std::to_string(spec.micro) +
                           " chunks " + std::to_string(spec.chunks) + " dp " + std::to_string(spec.dp);
  SCOPED_TRACE(what);
  const Plan plan = plan_of(spec);
  ASSERT_THAT(validate(plan), IsEmpty());
  const int devices = spec.np / spec.dp, chunks = strategy().chunks(spec), m = spec.micro;
  const bool crossed = GetParam() == "chimera", folded = GetParam() == "zb-v" || GetParam() == "dualpipev";
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
      EXPECT_EQ(crossed ? h.replica / 2 : h.replica, copy);
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
      if (is_send(lane.ops.front().kind)) sends += static_cast<int>(lane.ops.size());
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
        const Plan plan = plan_of(pipeline_case(strategy, stages, m));
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
        EXPECT_EQ(op.version, op.step + 1);
      } else {
        EXPECT_EQ(op.version, std::max(0, op.step + 1 - (4 - stage)));
        if (op.step == 4) {
          EXPECT_EQ(op.version, stage + 1);
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
              EXPECT_EQ(op.step % width, replica);
              EXPECT_EQ(op.version, std::max(0, op.step / width - ahead));
            } else {
              EXPECT_EQ(op.version, (op.step + 1) / width);
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
    const Plan plan = plan_of(pipeline_case("pipedream-2bw", stages, 4), stages, 5);
    ASSERT_THAT(validate(plan), IsEmpty());
    for (const RankProgram& rank : plan.ranks) {
      EXPECT_EQ(rank.weight_versions, 2);
      std::vector<int> forwards, backwards;
      for (const Op& op : rank.compute()) {
        if (op.kind == OpKind::forward) forwards.push_back(op.version);
        if (op.kind == OpKind::backward) backwards.push_back(op.version);
      }
      EXPECT_THAT(forwards, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
      EXPECT_EQ(backwards, forwards);
    }
  }
}

}  // namespace
}  // namespace parabench
