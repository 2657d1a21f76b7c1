// The schedules, spelled out.
#include <gtest/gtest.h>

#include "parallelism/plan/formats/print_text.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

std::string line(const Plan& plan, int rank) {
  std::string text = to_text(plan);
  for (; rank > 0; --rank) text.erase(0, text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}
std::string line(const std::string& strategy, int devices, int micro_batches, int rank) {
  return line(test_plan(pipeline_case(strategy, devices, micro_batches)), rank);
}

TEST(GoldenOrder, OfStrategiesWithoutMicroBatches) {
  EXPECT_EQ(to_text(test_plan(case_of("sequential", 1, 2), 3)), "p0 F0 B0\n");
  EXPECT_EQ(to_text(test_plan(case_of("data-parallel", 2, 2), 3)), "p0 F0 B0\np1 F0 B0\n");
  EXPECT_EQ(to_text(test_plan(case_of("model-parallel", 2, 2), 3)), "p0 F0 B0\np1 F0 B0\n");
  EXPECT_EQ(to_text(test_plan(case_of("model-parallel", 4, 2), 4)), "p0 F0 B0\np1 F0 B0\np2 F0 B0\np3 F0 B0\n");
}

TEST(GoldenOrder, OfGpipeAndLoopedBfs) {
  EXPECT_EQ(to_text(gpipe_of(2, 4, 8)), "p0 F0 F1 F2 F3 B0 B1 B2 B3\np1 F0 F1 F2 F3 B0 B1 B2 B3\n");
  EXPECT_EQ(to_text(test_plan(pipeline_case("looped-bfs", 2, 2))),
            "p0 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1\n"
            "p1 1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1\n");
}

TEST(GoldenOrder, OfAlternatingPipelines) {
  EXPECT_EQ(to_text(test_plan(pipeline_case("1f1b", 4, 8))),
            "p0 F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7\n"
            "p2 F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7\n"
            "p3 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7\n");
  EXPECT_EQ(to_text(test_plan(pipeline_case("dapple", 3, 6))),
            "p0 F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5\n"
            "p1 F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
            "p2 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
  EXPECT_EQ(to_text(test_plan(pipeline_case("1f1b", 3, 1))), "p0 F0 B0\np1 F0 B0\np2 F0 B0\n");
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
  EXPECT_EQ(to_text(test_plan(pipeline_case("chimera", 4, 4))),
            "p0 F0d F1d F0u B0u F1u B1u B0d B1d\n"
            "p1 F0d F0u F1d F1u B0u B0d B1u B1d\n"
            "p2 F0u F0d F1u F1d B0d B0u B1d B1u\n"
            "p3 F0u F1u F0d B0d F1d B1d B0u B1u\n");
}

TEST(GoldenOrder, OfPipedream) {
  EXPECT_EQ(to_text(pipedream_of(2, 4)), "p0 F0 F1 B0 F2 B1 F3 B2 B3\np1 F0 B0 F1 B1 F2 B2 F3 B3\n");
  EXPECT_EQ(to_text(pipedream_of("3-1", 4, 2, 6)),
            "p0 F0 F3 B0 B3\np1 F1 F4 B1 B4\np2 F2 F5 B2 B5\np3 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
  EXPECT_EQ(to_text(test_plan(pipeline_case("pipedream-2bw", 2, 2), 2, 2)),
            "p0 F0 F1 B0 F2 B1 F3 B2 B3\np1 F0 B0 F1 B1 F2 B2 F3 B3\n");
}

std::string grid(const std::string& strategy, int devices, int micro_batches) {
  const Plan plan = test_plan(pipeline_case(strategy, devices, micro_batches));
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

}  // namespace
}  // namespace parabench::plan
