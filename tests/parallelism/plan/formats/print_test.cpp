#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_csv.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/print_svg.h"
#include "parallelism/plan/formats/print_text.h"
#include "parallelism/plan/formats/print_trace.h"
#include "parallelism/plan/formats/read_json.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Print, GridDrawsOneColumnPerTimeUnit) {
  const Plan gpipe = gpipe_of(3, 3, 3);
  EXPECT_EQ(to_grid(gpipe, timeline_of(gpipe)),
            "p0 F0 F1 F2 .  .  .  .  .  .  B0 B0 B1 B1 B2 B2\n"
            "p1 .  F0 F1 F2 .  .  .  B0 B0 B1 B1 B2 B2 .  .\n"
            "p2 .  .  F0 F1 F2 B0 B0 B1 B1 B2 B2 .  .  .  .\n");
  const Plan pipedream = pipedream_of(3, 4);
  EXPECT_EQ(to_grid(pipedream, timeline_of(pipedream)),
            "p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 .  B2 B2 .  B3 B3\n"
            "p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 .  B3 B3 .  .\n"
            "p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 .  .  .  .\n");
}

TEST(Print, GridShowsStagesOfManySegmentsAsOneActionAndUpdatesThatTakeTime) {
  const Plan plan = test_plan(case_of("sequential", 1, 2), 5);
  EXPECT_EQ(to_grid(plan, timeline_of(plan)), "p0 F0 B0 B0\n");
  EXPECT_EQ(to_grid(plan, timeline_of(plan, {.forward = .25, .backward = .5, .update = .25})), "p0 F0 B0 B0 U\n");
}

TEST(Print, CsvIsAnOrderInWhichActionsCanRun) {
  EXPECT_EQ(to_csv(gpipe_of(2, 2, 4)),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n");
  EXPECT_EQ(to_csv(test_plan(case_of("data-parallel", 2, 4), 3)), "0F0,0B0\n");
  EXPECT_EQ(to_csv(pipedream_of(2, 2)),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
}

TEST(Print, CsvJoinsPassesThatMayOverlap) {
  const std::string text = to_csv(test_plan(pipeline_case("dualpipev", 2, 4)));
  const std::string first_row = text.substr(0, text.find('\n'));
  EXPECT_THAT(first_row, HasSubstr("3I0,3SEND_B0,3W0,3F1,"));
  EXPECT_THAT(first_row, HasSubstr(",(0F3;3B1)OVERLAP_F_B,0SEND_F3,3SEND_B1,"));
  EXPECT_THAT(first_row, HasSubstr("(3F2;0B0)OVERLAP_F_B"));
  EXPECT_THAT(first_row, testing::Not(HasSubstr(",0F3")));
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Print, SvgDrawsEveryActionOnItsRow) {
  const Plan plan = test_plan(pipeline_case("zb-v", 2, 3));
  const std::string svg = to_svg(plan, timeline_of(plan, {.update = 1}));
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_EQ(count(svg, "<svg"), count(svg, "</svg>"));
  EXPECT_EQ(count(svg, "<rect"), count(svg, "</rect>") + 1);  // the ground has no title
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  // 2 ranks, 2 stages, 3 micro-batches of F, I and W, each once; 4 updates.
  for (const char* kind : {"F", "I", "W"}) {
    for (int stage = 0; stage < 4; ++stage) {
      for (int m = 0; m < 3; ++m) {
        const std::string action = std::to_string(stage) + kind + std::to_string(m);
        EXPECT_EQ(count(svg, "<title>" + action + ", stage "), 1) << action;
      }
    }
  }
  EXPECT_EQ(count(svg, "<title>U, stage "), 4);
  for (const char* label : {">forward<", ">input gradient<", ">weight gradient<", ">update<", ">p0<", ">p1<"}) {
    EXPECT_THAT(svg, HasSubstr(label));
  }
  EXPECT_THAT(svg, testing::Not(HasSubstr(">backward<")));
  EXPECT_EQ(svg, to_svg(plan, timeline_of(plan, {.update = 1})));
}

TEST(Print, SvgPlacesBarsInTime) {
  const Plan plan = gpipe_of(2, 1, 2);  // p0 F . . . B B, p1 . F B B
  const std::string svg = to_svg(plan, timeline_of(plan));
  EXPECT_THAT(svg, HasSubstr("x=\"44.00\" y=\"30.00\" width=\"106.67\""));
  EXPECT_THAT(svg, HasSubstr("x=\"150.67\" y=\"62.00\" width=\"106.67\""));
  EXPECT_THAT(svg, HasSubstr("x=\"257.33\" y=\"62.00\" width=\"213.33\""));
  EXPECT_THAT(svg, HasSubstr("bubble 50.0 %"));
}

TEST(Print, SvgEscapesText) {
  Plan plan = gpipe_of(2, 1, 2);
  plan.spec.model.name = "<a&\"b>";
  const std::string svg = to_svg(plan, timeline_of(plan));
  EXPECT_THAT(svg, HasSubstr("&lt;a&amp;&quot;b&gt;/"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("<a&")));
}

TEST(Print, JsonRoundTripsRandomPlans) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const Plan plan = random_plan(random);
    EXPECT_EQ(plan_from_json(json::parse(to_json(plan).dump())), plan);
  }
}

TEST(Print, JsonWithTimesIsTheSamePlan) {
  const Plan plan = gpipe_of(2, 2, 4);
  const Timeline timeline = timeline_of(plan);
  const json timed = to_json(plan, timeline);
  EXPECT_EQ(timed["makespan"], 9.0);
  EXPECT_NEAR(timed["bubble_fraction"].get<double>(), 1.0 / 3.0, 1e-12);
  EXPECT_EQ(timed["ranks"][1]["lanes"]["compute"][0]["start"], 1.0);
  EXPECT_EQ(timed["ranks"][1]["lanes"]["compute"][0]["end"], 2.0);
  EXPECT_EQ(plan_from_json(timed), plan);
}

TEST(Print, HashTellsPlansApart) {
  EXPECT_EQ(hash(gpipe_of(2, 2, 4)), hash(gpipe_of(2, 2, 4)));
  EXPECT_EQ(hash(gpipe_of(2, 2, 4)).size(), 16u);
  EXPECT_NE(hash(gpipe_of(2, 2, 4)), hash(gpipe_of(2, 2, 5)));
  Plan swapped = gpipe_of(2, 2, 4);
  std::swap(swapped.ranks[0].compute()[0], swapped.ranks[0].compute()[1]);
  EXPECT_NE(hash(swapped), hash(gpipe_of(2, 2, 4)));
}

TEST(Print, JsonNamesTheMissingOrForeignField) {
  const json good = to_json(gpipe_of(2, 2, 4));
  const auto message = [](const json& bad) -> std::string {
    try {
      plan_from_json(bad);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "accepted";
  };
  const auto changed = [&](const json::json_pointer& where, const json& value) {
    json bad = good;
    bad[where] = value;
    return message(bad);
  };
  using namespace nlohmann::literals;
  EXPECT_THAT(changed("/foreign"_json_pointer, 1), HasSubstr("foreign"));
  EXPECT_THAT(changed("/format"_json_pointer, "x"), HasSubstr("plan.format"));
  EXPECT_THAT(changed("/steps"_json_pointer, 1.5), HasSubstr("plan.steps"));
  EXPECT_THAT(changed("/pieces/0"_json_pointer, 1), HasSubstr("plan.pieces"));
  EXPECT_THAT(changed("/asynchronous"_json_pointer, 0), HasSubstr("plan.asynchronous"));
  EXPECT_THAT(changed("/ranks/1/lanes/compute/2/op"_json_pointer, "G"),
              HasSubstr("plan.ranks[1].lanes.compute[2].op: got 'G', expected one of F, B, I, W, RECOMPUTE"));
  for (const std::string lane : {"other", "send", "send:1", "send:activation", "send:activation:x",
                                 "send:activation:1x", "send:none:1", "compute:0"}) {
    EXPECT_THAT(changed(json::json_pointer("/ranks/1/lanes/" + lane), json::array()),
                HasSubstr("plan.ranks[1].lanes: got '" + lane + "', expected a lane"));
  }
  EXPECT_THAT(changed("/ranks/0/holds/0/stage"_json_pointer, "x"), HasSubstr("plan.ranks[0].holds[0].stage"));
  EXPECT_THAT(changed("/versions/1/lag"_json_pointer, 0.5), HasSubstr("plan.versions[1].lag"));
  EXPECT_THAT(message(json::array()), HasSubstr("an object"));
  for (const auto& [key, value] : good.items()) {
    json bad = good;
    bad.erase(key);
    EXPECT_THAT(message(bad), HasSubstr("plan." + key + ": got 'missing'"));
  }
  for (const auto& [key, value] : good["ranks"][0]["lanes"]["send:activation:1"][0].items()) {
    json bad = good;
    bad["ranks"][0]["lanes"]["send:activation:1"][0].erase(key);
    EXPECT_THAT(message(bad), HasSubstr("plan.ranks[0].lanes.send:activation:1[0]." + key));
  }
}

TEST(Print, TraceHasOneThreadPerLaneAndMicroseconds) {
  const Plan plan = gpipe_of(2, 2, 4);
  const json trace = to_trace(plan, timeline_of(plan));
  int operations = 0;
  bool found = false;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++operations;
    if (event["name"] == "1B1") {
      found = true;
      EXPECT_EQ(event["pid"], 1);
      EXPECT_EQ(event["tid"], compute_lane);
      EXPECT_EQ(event["ts"], 5e6);
      EXPECT_EQ(event["dur"], 2e6);
    }
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(operations, 2 * (4 + 1 + 2 + 2));
}

TEST(Print, TraceHasAnArrowFromEverySendIntoItsReceive) {
  const Plan plan = gpipe_of(2, 2, 4);
  std::map<std::string, std::vector<json>> flows;
  std::map<std::pair<int, int>, std::vector<json>> slices;
  const json trace = to_trace(plan, timeline_of(plan), "measured rank", 10);
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "s" || event["ph"] == "f") flows[event["id"].get<std::string>()].push_back(event);
    if (event["ph"] == "X") slices[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back(event);
  }
  EXPECT_EQ(flows.size(), 4u);  // two micro-batches, forward and back
  const auto slice_at = [&](const json& flow) {
    for (const json& slice : slices.at({flow["pid"].get<int>(), flow["tid"].get<int>()}))
      if (slice["ts"] <= flow["ts"] && flow["ts"] <= slice["ts"].get<double>() + slice["dur"].get<double>())
        return slice["name"].get<std::string>();
    return std::string();
  };
  for (const auto& [id, ends] : flows) {
    ASSERT_EQ(ends.size(), 2u) << id;
    EXPECT_EQ(ends[0]["ph"], "s");
    EXPECT_GE(ends[0]["pid"], 10);
    EXPECT_NE(ends[0]["pid"], ends[1]["pid"]);
    EXPECT_LE(ends[0]["ts"], ends[1]["ts"]);
    EXPECT_THAT(slice_at(ends[0]), HasSubstr("SEND")) << id;
    EXPECT_THAT(slice_at(ends[1]), HasSubstr("RECV")) << id;
  }
}

}  // namespace
}  // namespace parabench::plan
