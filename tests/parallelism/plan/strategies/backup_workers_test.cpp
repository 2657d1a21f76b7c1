// parameter-server with mode=backup: an update takes the gradients that come first.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/first_come.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Case backup_case(int np, const std::string& servers, const std::string& backups, int batch = 12) {
  Case spec = case_of("parameter-server", np, batch);
  spec.strategy.parameters = {{"servers", servers}, {"mode", "backup"}, {"k", backups}};
  return spec;
}

/// Of an operation, each as its text, step and, of messages, the other rank.
std::vector<std::string> needs_of(const Plan& plan, Rank rank, const LaneKey& key, int index) {
  const LocalDependencies needs = dependencies(plan, rank);
  std::vector<std::string> result;
  for (const OpRef& ref : needs.of(plan.ranks[rank.value].find_lane(key), index)) {
    const Op& op = at(plan, ref);
    result.push_back(to_text(op) + " of " + std::to_string(op.step.value));
    if (is_message(op.kind)) result.back() += " with " + std::to_string(op.peer.value);
  }
  return result;
}

TEST(BackupWorkers, TheServerAddsAsManyAsItTakesAndAnswersAll) {
  Case spec = backup_case(4, "1", "1");
  spec.bucket = Bytes(1);
  Plan plan = test_plan(spec, 2);
  EXPECT_EQ(plan.taken, 2);
  EXPECT_THAT(texts(plan.ranks[3].compute()),
              ElementsAre("1ADD^1", "1ADD^2", "1UPDATE", "0ADD^1", "0ADD^2", "0UPDATE"));
  EXPECT_FALSE(plan.ranks[3].compute()[0].accumulates);
  EXPECT_TRUE(plan.ranks[3].compute()[1].accumulates);
  for (const int worker : {0, 1, 2}) {
    EXPECT_THAT(texts(plan.ranks[3].lane(receives_from(Rank(worker), Payload::gradients))), SizeIs(2));
    EXPECT_THAT(texts(plan.ranks[3].lane(sends_to(Rank(worker), Payload::parameters))), SizeIs(2));
  }
  EXPECT_EQ(plan.ranks[0].weight_versions, 3);
  EXPECT_EQ(plan.ranks[3].weight_versions, 1);
  EXPECT_FALSE(plan.asynchronous);
}

TEST(BackupWorkers, AnUpdateIsTheMeanOverWhatItTakes) {
  const Plan plan = test_plan(backup_case(5, "1", "1", 12), 3);
  EXPECT_EQ(batch_samples(plan), 12);
  EXPECT_EQ(update_samples(plan, ReplicaId(2)), 9);
}

TEST(BackupWorkers, WithoutBackupsThePlanIsThatOfSync) {
  Plan none = test_plan(backup_case(4, "1", "0", 10), 3);
  Case sync = none.spec;
  sync.strategy.parameters = {{"servers", "1"}, {"mode", "sync"}};
  const Plan usual = test_plan(sync, 3);
  none.spec = usual.spec;
  EXPECT_EQ(none, usual);
}

// A receive takes the place of what its worker sent before, which may be dropped only once others were taken.
TEST(BackupWorkers, AnAdditionChoosesAmongAllAndWhatIsLeftStaysUntilTheUpdate) {
  const Plan plan = unroll(test_plan(backup_case(4, "1", "1"), 1), 4);
  const LaneKey compute = LaneKey{}, pushes = receives_from(Rank(1), Payload::gradients);
  for (const int place : {0, 1})
    EXPECT_THAT(
        needs_of(plan, Rank(3), compute, 3 + place),
        ElementsAre("0RECV_GRADIENTS of 1 with 0", "0RECV_GRADIENTS of 1 with 1", "0RECV_GRADIENTS of 1 with 2"));
  EXPECT_THAT(needs_of(plan, Rank(3), pushes, 0), IsEmpty());
  EXPECT_THAT(needs_of(plan, Rank(3), pushes, 2), ElementsAre("0UPDATE of 1"));
  // Three versions: the weights of step 3 take the place of those of step 0.
  const LaneKey pulls = receives_from(Rank(3), Payload::parameters);
  EXPECT_THAT(needs_of(plan, Rank(1), pulls, 1), IsEmpty());
  EXPECT_THAT(needs_of(plan, Rank(1), pulls, 2), ElementsAre("0B0 of 0"));
}

TEST(BackupWorkers, TrainOnWhateverComesFirst) {
  constexpr int layers = 4, steps = 3;
  for (const auto& [np, servers, backups] : {std::tuple(3, 1, 1), {5, 1, 1}, {5, 1, 3}, {6, 2, 2}}) {
    const int workers = np - servers;
    // What one rank makes of the pieces of the first ranks alone, which the symbolic run takes for the first that come.
    Case alone = case_of("gpipe", 1, 12);
    alone.micro = workers;
    Plan reference = unroll(test_plan(alone, layers), steps);
    std::erase_if(reference.ranks[0].compute(),
                  [&](const Op& op) { return is_pass(op.kind) && op.micro_batch.value >= workers - backups; });
    for (const int bucket : {1, 1 << 20}) {
      Case spec = backup_case(np, std::to_string(servers), std::to_string(backups));
      spec.bucket = Bytes(bucket);
      const auto meaning = meaning_of(unroll(test_plan(spec, layers), steps));
      ASSERT_TRUE(meaning) << np << ' ' << backups;
      EXPECT_EQ(meaning, meaning_of(reference)) << np << ' ' << backups;
    }
  }
}

TEST(BackupWorkers, KeepAllRulesAndSurviveTheirFile) {
  for (const auto& [np, servers, backups] : {std::tuple(3, 1, 1), {5, 1, 3}, {5, 2, 1}, {8, 2, 2}}) {
    const Plan plan = test_plan(backup_case(np, std::to_string(servers), std::to_string(backups)), 5);
    EXPECT_THAT(validate(plan), IsEmpty());
    EXPECT_THAT(validate(unroll(plan, 5)), IsEmpty());
    EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  }
}

TEST(BackupWorkers, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal_of(backup_case(4, "1", "2"), chain_model(3)), "accepted");
  EXPECT_THAT(refusal_of(backup_case(4, "1", "3"), chain_model(3)), HasSubstr("fewer than the 3 workers"));
  EXPECT_THAT(refusal_of(backup_case(4, "1", "3"), chain_model(3)), HasSubstr("try k=2"));
  EXPECT_THAT(refusal_of(backup_case(2, "1", "1"), chain_model(3)), HasSubstr("try np:3"));
  for (const char* k : {"-1", "one", "1.5", ""})
    EXPECT_THAT(refusal_of(backup_case(4, "1", k), chain_model(3)), HasSubstr(std::string(k_expected))) << k;
  EXPECT_THAT(refusal_of(backup_case(4, "1", "1", 10), chain_model(3)), HasSubstr("a multiple of the 3 workers"));
  EXPECT_THAT(refusal_of(backup_case(4, "1", "1", 10), chain_model(3)), HasSubstr("try batch:12"));
  Case fired = backup_case(4, "1", "1");
  fired.executor = ExecutorKind::futurized;
  EXPECT_THAT(refusal_of(fired, chain_model(3)), HasSubstr("whose servers add what comes first"));
  Case on_gpus = backup_case(4, "1", "1");
  on_gpus.device = DeviceKind::cuda;
  EXPECT_THAT(refusal_of(on_gpus, chain_model(3)), HasSubstr("cpu or emulated with mode=backup"));
}

/// A plan of a few steps, one server of it and one of its additions.
struct Served {
  Plan plan;
  Rank server;
  int addition = 0;  ///< on its compute lane

  std::vector<Op>& ops() { return plan.ranks[server.value].compute(); }
};

Served random_served(std::mt19937& random) {
  const int servers = uniform(random, 1, 2), workers = uniform(random, 2, 4);
  Case spec = backup_case(servers + workers, std::to_string(servers), std::to_string(uniform(random, 1, workers - 1)));
  spec.bucket = Bytes(uniform(random, 1, 400));
  Served served{unroll(test_plan(spec, 4), 3)};
  served.server = served.plan.servers[uniform(random, 0, servers - 1)];
  const std::vector<Op>& ops = served.ops();
  do {
    served.addition = uniform(random, 0, static_cast<int>(ops.size()) - 1);
  } while (ops[served.addition].kind != OpKind::add);
  return served;
}

struct BackupMutation {
  const char* name;
  void (*mutate)(Served& served);
};

/// Both ends of what a worker sends of the addition's run in its step.
void drop_push(Served& served, Rank worker, bool at_worker) {
  const Op add = served.ops()[served.addition];
  const auto is_of = [&](const Op& op) { return op.segment == add.segment && op.step == add.step; };
  std::erase_if(served.plan.ranks[served.server.value].lane(receives_from(worker, Payload::gradients)), is_of);
  if (at_worker)
    std::erase_if(served.plan.ranks[worker.value].lane(sends_to(served.server, Payload::gradients)), is_of);
}

const BackupMutation backup_mutations[] = {
    {"one more addition",
     [](Served& s) {
       Op more = s.ops()[s.addition];
       more.accumulates = true;
       s.ops().insert(s.ops().begin() + s.addition + 1, more);
     }},
    {"more taken than there are",
     [](Served& s) {
       Op more = s.ops()[s.addition];
       more.port = static_cast<std::uint16_t>(s.plan.replicas);
       s.plan.taken = s.plan.replicas;
       s.ops().insert(s.ops().begin() + s.addition + 1, more);
     }},
    {"an addition less", [](Served& s) { s.ops().erase(s.ops().begin() + s.addition); }},
    {"an update before its last addition",
     [](Served& s) {
       const auto add = s.ops().begin() + s.addition;
       const Op& of = *add;
       const auto is_update = [of](const Op& op) { return op.kind == OpKind::update && op.segment == of.segment; };
       std::rotate(add, add + 1, std::next(std::find_if(add, s.ops().end(), is_update)));
     }},
    {"a late gradient that nobody receives", [](Served& s) { drop_push(s, Rank(0), /*at_worker=*/false); }},
    {"a worker that sends nothing", [](Served& s) { drop_push(s, Rank(0), /*at_worker=*/true); }},
    {"additions of a named worker",
     [](Served& s) {
       s.ops()[s.addition].port = 0;
       s.ops()[s.addition].peer = Rank(0);
     }},
    {"a choice that the plan does not know of", [](Served& s) { s.plan.taken = 0; }},
    {"another order of the sum",
     [](Served& s) { s.ops()[s.addition].port = static_cast<std::uint16_t>(s.plan.taken + 1); }},
    {"uneven pieces",
     [](Served& s) {
       ++s.plan.pieces[0][0];
       ++s.plan.spec.batch;
     }},
};

TEST(BackupWorkers, WhateverIsWrongWithAChoiceIsTold) {
  std::mt19937 random(7);
  for (const auto& [name, mutate] : backup_mutations) {
    for (int round = 0; round < 30; ++round) {
      Served served = random_served(random);
      ASSERT_THAT(validate(served.plan), IsEmpty());
      mutate(served);
      EXPECT_THAT(validate(served.plan), Not(IsEmpty())) << name;
    }
  }
}

TEST(BackupWorkers, AFileThatTakesOthersThanItsCaseIsNotRun) {
  Plan plan = test_plan(backup_case(5, "1", "1"), 3);
  const models::ModelSpec model = chain_model(3);
  EXPECT_NO_THROW(check_executable(plan, model));
  plan.spec.strategy.parameters[2].second = "2";
  EXPECT_THROW(check_executable(plan, model), Error);
}

/// When what the workers send comes; nothing of those that have not sent yet.
std::optional<double> start(FirstCome& first_come, const Plan& plan, int index,
                            const std::vector<std::optional<double>>& came) {
  const LocalDependencies needs = dependencies(plan, plan.servers[0]);
  const Op& add = plan.ranks[plan.servers[0].value].compute()[index];
  return first_come.may_start(add, needs.of(compute_lane, index),
                              [&](const OpRef& ref) { return came[at(plan, ref).peer.value]; });
}

std::vector<int> workers_awaited(const FirstCome& first_come, const Plan& plan, int index) {
  const LocalDependencies needs = dependencies(plan, plan.servers[0]);
  std::vector<int> workers;
  for (const OpRef& ref :
       first_come.awaited(plan.ranks[plan.servers[0].value].compute()[index], needs.of(compute_lane, index)))
    workers.push_back(at(plan, ref).peer.value);
  return workers;
}

TEST(FirstComeRule, TheFirstAdditionOfAStepDecidesForAllOfThem) {
  Case spec = backup_case(5, "1", "2");
  spec.bucket = Bytes(1);
  const Plan plan = test_plan(spec, 2);
  ASSERT_THAT(texts(plan.ranks[4].compute()),
              ElementsAre("1ADD^1", "1ADD^2", "1UPDATE", "0ADD^1", "0ADD^2", "0UPDATE"));
  FirstCome first_come(plan);
  EXPECT_EQ(start(first_come, plan, 0, {{}, {}, 5.0, {}}), std::nullopt) << "one of two";
  EXPECT_EQ(start(first_come, plan, 0, {7.0, {}, 5.0, 6.0}), 6.0);
  EXPECT_THAT(workers_awaited(first_come, plan, 0), ElementsAre(2, 3)) << "its own, and the other that decided";
  EXPECT_EQ(start(first_come, plan, 1, {7.0, {}, 5.0, 6.0}), 6.0);
  EXPECT_THAT(workers_awaited(first_come, plan, 1), ElementsAre(3));
  // Of the next bucket others come first, and are not taken.
  EXPECT_EQ(start(first_come, plan, 3, {8.0, 9.0, {}, {}}), std::nullopt);
  EXPECT_EQ(start(first_come, plan, 3, {8.0, 9.0, 10.0, {}}), 10.0);
  EXPECT_EQ(start(first_come, plan, 4, {8.0, 9.0, 10.0, {}}), std::nullopt);
}

TEST(FirstComeRule, OfThoseThatComeTogetherTheLowestRanksAreTaken) {
  const Plan plan = test_plan(backup_case(5, "1", "2"), 1);
  FirstCome first_come(plan);
  EXPECT_EQ(start(first_come, plan, 0, {3.0, 3.0, 3.0, 2.0}), 3.0);
  EXPECT_THAT(workers_awaited(first_come, plan, 0), ElementsAre(0, 3));
}

TEST(FirstComeRule, NewerWeightsAreThoseOfAllServers) {
  Case spec = backup_case(4, "2", "1");
  spec.bucket = Bytes(1);
  const Plan plan = unroll(test_plan(spec, 4), 2);
  const auto newer = newer_weights(plan, Rank(0));
  ASSERT_THAT(newer, SizeIs(2));
  for (const int step : {0, 1}) {
    std::vector<std::string> last;
    for (const OpRef& ref : newer[step]) {
      last.push_back(to_text(at(plan, ref)));
      EXPECT_EQ(at(plan, ref).version, VersionId(step + 1));
    }
    EXPECT_THAT(last, ElementsAre("0RECV_PARAMETERS", "3RECV_PARAMETERS")) << "the last of each server";
  }
  EXPECT_THAT(newer_weights(plan, plan.servers[0])[0], IsEmpty());
}

}  // namespace
}  // namespace parabench::plan
