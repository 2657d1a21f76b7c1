#include "parallelism/plan/strategies/parameter_server.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/case_text.h"
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

Case moded_case(int np, const std::string& servers, const std::string& mode, const std::string& k = "",
                int batch = 12) {
  Case spec = served_case(np, servers, batch);
  spec.strategy.parameters.push_back({"mode", mode});
  if (!k.empty()) spec.strategy.parameters.push_back({"k", k});
  return spec;
}

/// What one rank makes of the same pieces that reads the weights of `lag` steps ago.
std::optional<Meaning> delayed_meaning(int pieces, int layers, int steps, int lag, int batch = 12) {
  Case spec = case_of("gpipe", 1, batch);
  spec.micro = pieces;
  Plan plan = unroll(test_plan(spec, layers), steps);
  plan.versions[0].lag = lag;
  plan.ranks[0].weight_versions = lag + 1;
  for (Op& op : plan.ranks[0].compute())
    if (is_pass(op.kind)) op.version = version_read(plan, StageId(0), op.step);
  return meaning_of(plan);
}

/// Of an operation, each as its text, step and rank.
std::vector<std::string> needs_of(const Plan& plan, Rank rank, const LaneKey& key, int index) {
  const LocalDependencies needs = dependencies(plan, rank);
  std::vector<std::string> result;
  for (const OpRef& ref : needs.of(plan.ranks[rank.value].find_lane(key), index))
    result.push_back(to_text(at(plan, ref)) + " of " + std::to_string(at(plan, ref).step.value));
  return result;
}

TEST(ParameterServer, WindowsHoldWholeTurnsOfWorkersThatUpdateAlone) {
  Case spec = case_of("parameter-server", 8, 16);
  EXPECT_EQ(turns(test_plan(spec, 3)), 1);
  spec.strategy.parameters = {{"mode", "async"}};
  const Plan plan = test_plan(spec, 3, 40);
  EXPECT_EQ(turns(plan), 7);
  const Window window = plan::window(plan, 5, 20);
  EXPECT_EQ(window.discarded, 7);
  EXPECT_EQ(window.measured, 21);
  EXPECT_EQ(window.samples, 21);
  EXPECT_EQ(plan::window(plan, 0, 7).steps(), 7);
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
  EXPECT_THAT(refusal_of(served_case(1), chain_model(3)), HasSubstr("more ranks than the 1 that serve"));
  EXPECT_THAT(refusal_of(served_case(2, "2"), chain_model(3)), HasSubstr("try np:3"));
  for (const char* servers : {"0", "-1", "two", "1.5", ""})
    EXPECT_THAT(refusal_of(served_case(4, servers), chain_model(3)), HasSubstr(std::string(servers_expected)))
        << servers;
  EXPECT_THAT(refusal_of(served_case(6, "4"), chain_model(3)), HasSubstr("at most the 3 layers"));
  EXPECT_THAT(refusal_of(served_case(6, "2147483647"), chain_model(3)), HasSubstr("at most the 3 layers"));
}

TEST(ParameterServer, RefusesOtherModesAndBoundsThatNothingReads) {
  EXPECT_THAT(refusal_of(moded_case(3, "1", "asynch"), chain_model(3)), HasSubstr("async"));
  for (const char* mode : {"sync", "async"})
    EXPECT_THAT(refusal_of(moded_case(3, "1", mode, "2"), chain_model(3)),
                HasSubstr("mode=stale or mode=backup beside it"))
        << mode;
  for (const char* k : {"0", "-1", "17", "one", ""}) {
    Case spec = moded_case(3, "1", "stale");
    spec.strategy.parameters.push_back({"k", k});
    EXPECT_THAT(refusal_of(spec, chain_model(3)), HasSubstr(std::string(k_expected))) << k;
  }
  EXPECT_EQ(refusal_of(moded_case(3, "1", "stale", "16"), chain_model(3)), "accepted");
}

TEST(ParameterServer, IsFiredByReadinessWhereTheOrderDecidesNoWeights) {
  Case spec = moded_case(3, "1", "sync");
  spec.executor = ExecutorKind::futurized;
  EXPECT_EQ(refusal_of(spec, chain_model(3)), "accepted");
  for (const char* mode : {"async", "stale"}) {
    spec.strategy.parameters[1].second = mode;
    EXPECT_THAT(refusal_of(spec, chain_model(3)),
                HasSubstr("mode=" + std::string(mode) + "], in which the order decides"))
        << mode;
  }
}

TEST(ParameterServer, AsynchronousWorkersTakeTurns) {
  const Plan plan = test_plan(moded_case(4, "1", "async"), 2, 7);
  EXPECT_TRUE(plan.asynchronous);
  EXPECT_THAT(plan.pieces, ElementsAre(ElementsAre(12))) << "a step is a batch of one worker's";
  EXPECT_THAT(plan.versions, ElementsAre(VersionRule{.lag = 2}));
  std::vector<int> steps, versions;
  for (const Op& op : plan.ranks[1].compute()) {
    if (op.kind != OpKind::forward || op.segment != SegmentId(0)) continue;
    steps.push_back(op.step.value);
    versions.push_back(op.version.value);
  }
  EXPECT_THAT(steps, ElementsAre(1, 4));
  EXPECT_THAT(versions, ElementsAre(0, 2)) << "what its own update has written";
  std::vector<int> pulled;
  for (const Op& op : plan.ranks[1].lanes[plan.ranks[1].find_lane(receives_from(Rank(3), Payload::parameters))].ops)
    pulled.push_back(op.version.value);
  EXPECT_THAT(pulled, ElementsAre(2, 5));
  EXPECT_THAT(texts(plan.ranks[3].compute()), testing::SizeIs(2 * 7)) << "an addition and an update for each step";
}

// Three workers, a third of their step apart: one begins to make gradients, in the last two thirds of its step, while
// another still does.
TEST(ParameterServer, UpdatesComeInTheOrderInWhichWorkersThatAreApartMakeGradients) {
  Case spec = moded_case(4, "1", "async");
  spec.bucket = Bytes(1);
  const Plan plan = test_plan(spec, 3, 3);
  std::vector<std::string> updates;
  for (const Op& op : plan.ranks[3].compute())
    if (op.kind == OpKind::update)
      updates.push_back(std::to_string(op.step.value) + "," + std::to_string(op.segment.value));
  EXPECT_THAT(updates, ElementsAre("0,2", "0,1", "1,2", "0,0", "1,1", "2,2", "1,0", "2,1", "2,0"));
}

TEST(ParameterServer, TrainsByTheDelayOfItsMode) {
  constexpr int steps = 9, layers = 4;
  for (const auto& [np, servers] : {std::pair(2, 1), {3, 1}, {4, 2}, {7, 3}}) {
    const int workers = np - servers;
    for (const int bucket : {1, 1 << 20}) {
      Case async = moded_case(np, std::to_string(servers), "async");
      async.bucket = Bytes(bucket);
      const auto meaning = meaning_of(test_plan(async, layers, steps));
      ASSERT_TRUE(meaning) << np << ' ' << servers;
      EXPECT_EQ(meaning, delayed_meaning(1, layers, steps, workers - 1)) << np << ' ' << servers;
      for (const int k : {1, 2, 5}) {
        Case stale = moded_case(np, std::to_string(servers), "stale", std::to_string(k));
        stale.bucket = Bytes(bucket);
        const auto bounded = meaning_of(test_plan(stale, layers, steps));
        ASSERT_TRUE(bounded) << np << ' ' << servers << ' ' << k;
        EXPECT_EQ(bounded, delayed_meaning(workers, layers, steps, k)) << np << ' ' << servers << ' ' << k;
        EXPECT_NE(bounded, delayed_meaning(workers, layers, steps, k + 1));
      }
    }
  }
}

TEST(ParameterServer, OfEveryModeKeepsAllRulesAndSurvivesItsFile) {
  for (const char* mode : {"async", "stale"}) {
    for (const auto& [np, servers] : {std::pair(2, 1), {3, 2}, {6, 1}, {7, 3}}) {
      const Plan plan = test_plan(moded_case(np, std::to_string(servers), mode), 5, 8);
      EXPECT_THAT(validate(plan), IsEmpty()) << mode << ' ' << np;
      EXPECT_THAT(validate(unroll(plan, 5)), IsEmpty()) << mode << ' ' << np;
      EXPECT_EQ(plan_from_json(to_json(plan)), plan);
    }
  }
}

// What is written over has been read, and has been sent, before.
TEST(ParameterServer, NothingIsWrittenOverThatIsStillNeeded) {
  const Plan plan = test_plan(moded_case(3, "1", "stale", "2"), 1, 6);
  const LaneKey compute = LaneKey{}, pushes = sends_to(Rank(2), Payload::gradients);
  // Versions 0 to 2 are there while version 3 comes, which takes the place of version 0: step 2 reads it last.
  EXPECT_THAT(needs_of(plan, Rank(0), receives_from(Rank(2), Payload::parameters), 2), ElementsAre("0B0 of 2"));
  EXPECT_THAT(needs_of(plan, Rank(0), receives_from(Rank(2), Payload::parameters), 1), IsEmpty());
  EXPECT_THAT(needs_of(plan, Rank(0), compute, 3), testing::UnorderedElementsAre("0F0 of 1", "0SEND_GRADIENTS of 0"));
  EXPECT_THAT(needs_of(plan, Rank(0), pushes, 1), ElementsAre("0B0 of 1"));
  // The additions of both workers and the update of step 1, which takes the place of version 1.
  ASSERT_EQ(to_text(plan.ranks[2].compute()[5]), "0UPDATE");
  EXPECT_THAT(needs_of(plan, Rank(2), compute, 5),
              testing::UnorderedElementsAre("0ADD of 1", "0SEND_PARAMETERS of 0", "0SEND_PARAMETERS of 0"));
  EXPECT_THAT(needs_of(plan, Rank(2), receives_from(Rank(0), Payload::gradients), 1), ElementsAre("0ADD of 0"));
}

TEST(ParameterServer, AWorkerLacksWhatOthersMadeSinceItsOwnUpdate) {
  const Case spec = moded_case(4, "1", "async");
  EXPECT_EQ(updates_missed(spec, Rank(0), 7), 0);
  EXPECT_EQ(updates_missed(spec, Rank(1), 7), 2);
  EXPECT_EQ(updates_missed(spec, Rank(2), 7), 1);
  EXPECT_EQ(updates_missed(spec, Rank(3), 7), 0) << "the server";
  EXPECT_EQ(updates_missed(spec, Rank(2), 2), 2) << "no turn yet";
  EXPECT_EQ(updates_missed(moded_case(4, "1", "stale"), Rank(1), 7), 0);
}

/// Of any mode, over a few steps.
Plan random_served_plan(std::mt19937& random) {
  const int servers = uniform(random, 1, 2), workers = uniform(random, 1, 4);
  const char* mode = std::array{"sync", "async", "stale"}[uniform(random, 0, 2)];
  Case spec = moded_case(servers + workers, std::to_string(servers), mode);
  spec.strategy.parameters.push_back({"cut", uniform(random, 0, 1) == 0 ? "layers" : "tensors"});
  spec.bucket = Bytes(uniform(random, 1, 400));
  const Plan plan = test_plan(spec, 4, 5);
  return plan.asynchronous ? plan : unroll(plan, 3);
}

/// What a worker and its server exchange about a run in a step, with the addition on the server's lane.
struct Exchange {
  Plan& plan;
  Op add;
  Rank server;

  bool is_of(const Op& op) const { return op.segment == add.segment && op.step == add.step; }
  /// At both ends of the push, or of the pull.
  void change(Payload payload, const std::function<void(std::vector<Op>&, std::vector<Op>::iterator)>& by) {
    const bool pushes = payload == Payload::gradients;
    const LaneKey of_worker = pushes ? sends_to(server, payload) : receives_from(server, payload);
    for (const auto& [rank, key] : {std::pair(add.peer, of_worker), {server, other_end(of_worker, add.peer)}}) {
      std::vector<Op>& lane = plan.ranks[rank.value].lane(key);
      by(lane, std::ranges::find_if(lane, [this](const Op& op) { return is_of(op); }));
    }
  }
  std::vector<Op>::iterator addition() { return std::ranges::find(plan.ranks[server.value].compute(), add); }
};

struct ServedMutation {
  const char* name;
  bool (*mutate)(Exchange& exchange);
};

void erase(std::vector<Op>& ops, std::vector<Op>::iterator op) { ops.erase(op); }
void repeat(std::vector<Op>& ops, std::vector<Op>::iterator op) { ops.insert(op, Op(*op)); }

const ServedMutation served_mutations[] = {
    {"no push", [](Exchange& e) { return e.change(Payload::gradients, erase), true; }},
    {"no push and no addition",
     [](Exchange& e) {
       e.change(Payload::gradients, erase);
       e.plan.ranks[e.server.value].compute().erase(e.addition());
       return true;
     }},
    {"two pushes", [](Exchange& e) { return e.change(Payload::gradients, repeat), true; }},
    {"two pushes and additions",
     [](Exchange& e) {
       e.change(Payload::gradients, repeat);
       repeat(e.plan.ranks[e.server.value].compute(), e.addition());
       e.plan = mark_accumulation(std::move(e.plan));
       return true;
     }},
    {"no pull", [](Exchange& e) { return e.change(Payload::parameters, erase), true; }},
    {"two pulls", [](Exchange& e) { return e.change(Payload::parameters, repeat), true; }},
    {"a pull of another version",
     [](Exchange& e) { return e.change(Payload::parameters, [](auto&, auto op) { ++op->version; }), true; }},
    {"a pull of another step",
     [](Exchange& e) {
       e.change(Payload::parameters, [&](auto&, auto op) { op->step = StepId((op->step.value + 1) % e.plan.steps); });
       return true;
     }},
    {"a push of another step",
     [](Exchange& e) {
       e.change(Payload::gradients, [&](auto&, auto op) { op->step = StepId((op->step.value + 1) % e.plan.steps); });
       return true;
     }},
    {"a push of a part",
     [](Exchange& e) {
       if (e.add.segments > 1) e.change(Payload::gradients, [](auto&, auto op) { --op->segments; });
       return e.add.segments > 1;
     }},
    {"a pull of a part",
     [](Exchange& e) {
       if (e.add.segments > 1) e.change(Payload::parameters, [](auto&, auto op) { --op->segments; });
       return e.add.segments > 1;
     }},
    {"an addition of another's",
     [](Exchange& e) {
       const int workers = computing_ranks(e.plan);
       e.addition()->peer = Rank((e.add.peer.value + 1) % workers);
       return workers > 1;
     }},
    {"an addition after its update",
     [](Exchange& e) {
       std::vector<Op>& ops = e.plan.ranks[e.server.value].compute();
       const auto add = e.addition();
       const auto updates = [&](const Op& op) { return op.kind == OpKind::update && e.is_of(op); };
       std::rotate(add, add + 1, std::next(std::find_if(add, ops.end(), updates)));
       return true;
     }},
};

TEST(ParameterServer, WhateverIsWrongWithAnExchangeIsTold) {
  std::mt19937 random(5);
  for (const auto& [name, mutate] : served_mutations) {
    int tried = 0;
    for (int round = 0; round < 60; ++round) {
      Plan plan = random_served_plan(random);
      ASSERT_THAT(validate(plan), IsEmpty());
      const Rank server = plan.servers[uniform(random, 0, static_cast<int>(std::ssize(plan.servers)) - 1)];
      std::vector<Op> adds;
      std::ranges::copy_if(plan.ranks[server.value].compute(), std::back_inserter(adds),
                           [](const Op& op) { return op.kind == OpKind::add; });
      Exchange exchange{plan, adds[uniform(random, 0, static_cast<int>(adds.size()) - 1)], server};
      if (!mutate(exchange)) continue;
      ++tried;
      EXPECT_THAT(validate(plan), Not(IsEmpty())) << name << " of " << parabench::to_text(plan.spec.strategy);
    }
    EXPECT_GE(tried, 10) << name;
  }
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
