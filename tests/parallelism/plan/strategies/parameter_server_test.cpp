#include "parallelism/plan/strategies/parameter_server.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Case served_case(int np, const std::string& servers = "1", int batch = 12) {
  Case spec = case_of("parameter-server", np, batch);
  spec.strategy.parameters = {{"servers", servers}};
  return spec;
}

std::vector<std::string> texts(const std::vector<Op>& ops) {
  std::vector<std::string> result;
  for (const Op& op : ops) result.push_back(to_text(op));
  return result;
}

TEST(ParameterServer, AddsWhatEachWorkerSendsAndReturnsWeights) {
  Case spec = served_case(3);
  spec.bucket = Bytes(1);
  Plan plan = test_plan(spec, 2);
  EXPECT_THAT(plan.servers, ElementsAre(Rank(2)));
  EXPECT_THAT(texts(plan.ranks[2].compute()), ElementsAre("1ADD", "1ADD", "1UPDATE", "0ADD", "0ADD", "0UPDATE"));
  EXPECT_FALSE(plan.ranks[2].compute()[0].accumulates);
  EXPECT_TRUE(plan.ranks[2].compute()[1].accumulates);
  EXPECT_THAT(texts(plan.ranks[0].compute()), ElementsAre("0F0", "1F0", "1B0", "0B0"));
  EXPECT_THAT(texts(plan.ranks[0].lane(sends_to(Rank(2), Payload::gradients))),
              ElementsAre("1SEND_GRADIENTS", "0SEND_GRADIENTS"));
  EXPECT_THAT(texts(plan.ranks[1].lane(receives_from(Rank(2), Payload::parameters))),
              ElementsAre("1RECV_PARAMETERS", "0RECV_PARAMETERS"));
}

TEST(ParameterServer, EachServerHasARangeOfTheKeys) {
  const Plan plan = test_plan(served_case(5, "2"), 6);
  EXPECT_EQ(plan.stages, 2);
  EXPECT_EQ(plan.replicas, 3);
  EXPECT_THAT(partition(plan), ElementsAre(4, 2));
  EXPECT_THAT(plan.servers, ElementsAre(Rank(3), Rank(4)));
  EXPECT_THAT(segments_held(plan, Rank(4)), ElementsAre(SegmentId(4), SegmentId(5)));
  EXPECT_EQ(segments_held(plan, Rank(1)).size(), 6u);
  EXPECT_TRUE(updates(plan, Rank(4), StageId(1)));
  EXPECT_FALSE(updates(plan, Rank(4), StageId(0)));
  EXPECT_FALSE(updates(plan, Rank(0), StageId(0)));
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(4), ElementsAre(4), ElementsAre(4))) << "servers compute nothing";
}

TEST(ParameterServer, TrainsAsDataParallelOverItsWorkers) {
  for (const auto& [np, servers] : {std::pair(2, 1), {3, 1}, {4, 2}, {5, 3}}) {
    Case spec = served_case(np, std::to_string(servers));
    const auto usual = meaning_of(unroll(test_plan(case_of("data-parallel", np - servers, 12), 4), 3));
    ASSERT_TRUE(usual);
    for (const int bucket : {1, 1 << 20}) {
      spec.bucket = Bytes(bucket);
      EXPECT_EQ(meaning_of(unroll(test_plan(spec, 4), 3)), usual) << np << ' ' << servers;
    }
  }
}

TEST(ParameterServer, KeepsAllRulesAndSurvivesItsFile) {
  for (const auto& [np, servers] : {std::pair(2, 1), {3, 2}, {6, 1}, {7, 3}}) {
    const Plan plan = test_plan(served_case(np, std::to_string(servers)), 5);
    EXPECT_THAT(validate(plan), IsEmpty());
    EXPECT_THAT(validate(unroll(plan, 4)), IsEmpty());
    EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  }
}

TEST(ParameterServer, RefusesServersWithoutWorkersAndMoreThanLayers) {
  const auto refusal = [](const Case& spec, int layers = 3) -> std::string {
    try {
      test_plan(spec, layers);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(served_case(1)), HasSubstr("more ranks than the 1 that serve"));
  EXPECT_THAT(refusal(served_case(2, "2")), HasSubstr("try np:3"));
  for (const char* servers : {"0", "-1", "two", "1.5", ""})
    EXPECT_THAT(refusal(served_case(4, servers)), HasSubstr(std::string(servers_expected))) << servers;
  EXPECT_THAT(refusal(served_case(6, "4")), HasSubstr("at most the 3 layers"));
}

TEST(ParameterServer, WhatAServerIsNotSentOrSendsTwiceIsTold) {
  const Plan good = test_plan(served_case(3), 2);
  Plan twice = good;
  twice.ranks[2].compute().insert(twice.ranks[2].compute().begin(), good.ranks[2].compute().front());
  EXPECT_THAT(validate(twice), Not(IsEmpty()));
  Plan other = good;
  other.ranks[2].compute()[1].peer = Rank(0);
  EXPECT_THAT(validate(other), Not(IsEmpty()));
  Plan computes = good;
  computes.servers = {Rank(0)};
  EXPECT_THAT(validate(computes), Not(IsEmpty()));
  Plan alike = test_plan(served_case(4, "2"), 2);
  alike.servers[1] = alike.servers[0];
  EXPECT_THAT(validate(alike), Not(IsEmpty())) << "two stages of one server";
  Plan lacks = good;
  lacks.servers = {};
  EXPECT_THAT(validate(lacks), Not(IsEmpty()));
  Plan worker_updates = good;
  worker_updates.ranks[0].compute().push_back(update(SegmentId(0), 2, StepId(0), VersionId(1)));
  EXPECT_THAT(validate(worker_updates), Not(IsEmpty()));
}

}  // namespace
}  // namespace parabench::plan
