// Servers that share every bucket: parameter-server[cut=tensors].
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/optimizer.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Case shared_case(int np, const std::string& servers, const std::string& mode = "sync", const std::string& k = "",
                 const std::string& cut = "tensors") {
  Case spec = case_of("parameter-server", np, 12);
  spec.strategy.parameters = {{"servers", servers}, {"cut", cut}, {"mode", mode}};
  if (!k.empty()) spec.strategy.parameters.push_back({"k", k});
  return spec;
}

std::int64_t bytes_updated(const StateLayout& layout) {
  std::int64_t elements = 0;
  for (const ElementRange& range : layout.updated) elements += range.count;
  return elements * layout.element_bytes;
}

TEST(ServerShares, EveryServerHasAShareOfEveryBucket) {
  Case spec = shared_case(4, "2");
  spec.bucket = Bytes(1);
  const Plan plan = test_plan(spec, 2);
  EXPECT_EQ(plan.stages, 1);
  EXPECT_THAT(plan.servers, ElementsAre(Rank(2), Rank(3)));
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].ranks, plan.servers);
  EXPECT_TRUE(served_in_shares(plan));
  for (const Rank server : plan.servers) {
    EXPECT_TRUE(updates(plan, server, StageId(0)));
    EXPECT_THAT(texts(plan.ranks[server.value].compute()),
                ElementsAre("1ADD", "1ADD", "1UPDATE", "0ADD", "0ADD", "0UPDATE"));
    EXPECT_THAT(plan.ranks[server.value].compute(), Each(Field(&Op::group, GroupId(0))));
    EXPECT_THAT(texts(plan.ranks[0].lanes[plan.ranks[0].find_lane(sends_to(server, Payload::gradients))].ops),
                ElementsAre("1SEND_GRADIENTS", "0SEND_GRADIENTS"));
  }
  EXPECT_FALSE(updates(plan, Rank(0), StageId(0)));
  EXPECT_EQ(computing_ranks(plan), 2);
  EXPECT_THAT(stage_widths(plan), ElementsAre(2));
}

TEST(ServerShares, AMessageIsOfTheShareOfItsServerAtBothEnds) {
  const Plan plan = test_plan(shared_case(5, "3"), 3);
  for (Rank worker; worker.value < 2; ++worker.value) {
    for (const Rank server : plan.servers) {
      const int index = server.value - 2;
      const Op push = send_gradients(SegmentId(0), 3, StepId(0), server, GroupId(0));
      for (const auto& [rank, op] : {std::pair(worker, push), {server, receive_of(push, worker, {})}}) {
        EXPECT_EQ(moved_part(plan, rank, op).index, index);
        EXPECT_EQ(moved_part(plan, rank, op).count, 3);
      }
    }
  }
}

TEST(ServerShares, OneServerHasAllOfIt) {
  Plan plan = test_plan(shared_case(3, "1"), 4);
  EXPECT_FALSE(served_in_shares(plan));
  plan.spec = shared_case(3, "1", "sync", "", "layers");
  EXPECT_EQ(plan, test_plan(plan.spec, 4));
}

TEST(ServerShares, TrainWhatServersOfLayersDo) {
  constexpr int steps = 7, layers = 4;
  for (const auto& [np, servers] : {std::pair(3, 2), {4, 2}, {5, 3}, {9, 6}}) {
    for (const auto& [mode, k] : {std::pair("sync", ""), {"async", ""}, {"stale", "1"}, {"stale", "3"}}) {
      for (const int bucket : {1, 200, 1 << 20}) {
        for (const char* optimizer : {"sgd", "lars"}) {
          Case spec = shared_case(np, std::to_string(servers), mode, k), alone = spec;
          // Of layers there are no more servers than these; all numbers of them train the same.
          alone.strategy.parameters = {{"servers", "1"}, {"mode", mode}};
          if (*k) alone.strategy.parameters.push_back({"k", k});
          alone.np = np - servers + 1;
          for (Case* one : {&spec, &alone}) {
            one->bucket = Bytes(bucket);
            one->optimizer.name = optimizer;
          }
          const auto trained = [&](const Case& one) {
            const Plan plan = test_plan(one, layers, steps);
            return meaning_of(plan.asynchronous ? plan : unroll(plan, steps));
          };
          ASSERT_TRUE(trained(spec)) << np << mode << bucket << optimizer;
          EXPECT_EQ(trained(spec), trained(alone)) << np << mode << bucket << optimizer;
        }
      }
    }
  }
}

TEST(ServerShares, KeepAllRulesAndSurviveTheirFile) {
  for (const char* mode : {"sync", "async", "stale"}) {
    for (const auto& [np, servers] : {std::pair(3, 2), {4, 3}, {9, 7}}) {
      for (const char* optimizer : {"adam", "lars"}) {
        Case spec = shared_case(np, std::to_string(servers), mode);
        spec.optimizer.name = optimizer;
        spec.bucket = Bytes(150);
        const Plan plan = test_plan(spec, 5, 8);
        EXPECT_THAT(validate(plan), IsEmpty()) << mode << np << optimizer;
        EXPECT_THAT(validate(unroll(plan, 5)), IsEmpty()) << mode << np << optimizer;
        EXPECT_EQ(plan_from_json(to_json(plan)), plan);
      }
    }
  }
}

TEST(ServerShares, AServerStoresItsShareAndNoMore) {
  for (const char* optimizer : {"sgd", "adam", "lars"}) {
    for (const int bucket : {1, 400, 1 << 20}) {
      Case spec = shared_case(8, "6");  // more than there are layers
      spec.optimizer.name = optimizer;
      spec.bucket = Bytes(bucket);
      const models::ModelSpec model = chain_model(3);
      const Plan plan = test_plan(spec, 3);
      const ParameterSizes sizes(model);
      const StateLayout worker = state_layout(plan, sizes, Rank(0));
      EXPECT_EQ(worker.bytes(StateRole::optimizer), 0);
      EXPECT_EQ(worker.bytes(StateRole::weights), worker.copy_bytes());
      const int states = state_count(optimizer_rule(spec));
      std::int64_t all = 0;
      for (const Rank server : plan.servers) {
        const StateLayout layout = state_layout(plan, sizes, server);
        const std::int64_t share = bytes_updated(layout);
        all += share;
        EXPECT_EQ(layout.bytes(StateRole::weights), 0);
        EXPECT_EQ(layout.bytes(StateRole::gradients), 0);
        EXPECT_EQ(layout.bytes(StateRole::shares), share);
        EXPECT_EQ(layout.bytes(StateRole::gradient_shares), share);
        EXPECT_EQ(layout.bytes(StateRole::optimizer), states * share);
      }
      EXPECT_EQ(all, worker.copy_bytes()) << optimizer << bucket;
    }
  }
}

TEST(ServerShares, AreEvenWhateverTheLayers) {
  const models::ModelSpec model = models::make_model({"resnet18", {}}, {3, 32, 32}, 10, true);
  const ParameterSizes sizes(model);
  for (const int servers : {2, 4, 8}) {
    const auto largest_over_mean = [&](const char* cut) {
      const Case spec = shared_case(2 * servers, std::to_string(servers), "sync", "", cut);
      const Plan plan = make_plan(spec, model, std::vector<double>(model.layers.size(), 1.0), 1);
      std::int64_t largest = 0, all = 0;
      for (const Rank server : plan.servers) {
        const std::int64_t own = bytes_updated(state_layout(plan, sizes, server));
        largest = std::max(largest, own);
        all += own;
      }
      return static_cast<double>(largest) * servers / static_cast<double>(all);
    };
    EXPECT_LE(largest_over_mean("tensors"), 1.001) << servers;
    EXPECT_GT(largest_over_mean("layers"), 1.1) << servers;
  }
}

TEST(ServerShares, MayBeMoreThanLayersAndHaveTiedTensors) {
  EXPECT_EQ(refusal_of(shared_case(6, "5"), chain_model(3)), "accepted");
  EXPECT_THAT(refusal_of(shared_case(6, "5", "sync", "", "layers"), chain_model(3)), HasSubstr("try cut=tensors"));
  const models::ModelSpec tied = models::make_model(
      {"transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "6"}, {"tied", "on"}}},
      TensorSpec({6}, ElementKind::int64), 11, true);
  EXPECT_EQ(refusal_of(shared_case(4, "2"), tied), "accepted");
  EXPECT_THAT(refusal_of(shared_case(4, "2", "sync", "", "layers"), tied), HasSubstr("try cut=tensors"));
}

TEST(ServerShares, RefuseWhatTheyCannotDo) {
  const models::ModelSpec model = chain_model(3);
  EXPECT_THAT(refusal_of(shared_case(5, "2", "backup", "1"), model), HasSubstr("try cut=layers or servers=1"));
  EXPECT_EQ(refusal_of(shared_case(4, "1", "backup", "1"), model), "accepted");
  EXPECT_THAT(refusal_of(shared_case(4, "2", "sync", "", "tensor"), model), HasSubstr("did you mean 'tensors'?"));
  EXPECT_THAT(refusal_of(shared_case(4, "2", "sync", "", "rows"), model), HasSubstr("layers, tensors"));
  EXPECT_THAT(refusal_of(shared_case(4, "4"), model), HasSubstr("try np:5"));
  EXPECT_THAT(refusal_of(shared_case(4, "2147483647"), model), HasSubstr("more ranks than the 2147483647"));
  EXPECT_THAT(refusal_of(shared_case(8192, "4096"), model), HasSubstr("try fewer servers or cut=layers"));
}

/// What is told of a plan of two workers and two servers, of two buckets, once `damage` has changed it.
std::vector<Violation> told(const std::function<void(Plan&)>& damage, const char* optimizer = "sgd") {
  Case spec = shared_case(4, "2");
  spec.bucket = Bytes(1);
  spec.optimizer.name = optimizer;
  Plan plan = test_plan(spec, 2);
  damage(plan);
  return validate(plan);
}
auto has_rule(const std::string& rule, const std::string& text) {
  return Contains(testing::AllOf(Field(&Violation::rule, rule), Field(&Violation::text, HasSubstr(text))));
}

/// Both ends of what worker 0 and a server exchange first of a payload.
void change_message(Plan& plan, Rank server, Payload payload, const std::function<void(Op&)>& change) {
  const bool pushes = payload == Payload::gradients;
  const LaneKey key = pushes ? sends_to(server, payload) : receives_from(server, payload);
  change(plan.ranks[0].lane(key).front());
  change(plan.ranks[server.value].lane(other_end(key, Rank(0))).front());
}

TEST(ServerShares, WhateverIsWrongWithAFileIsTold) {
  EXPECT_THAT(told([](Plan&) {}), IsEmpty());
  EXPECT_THAT(told([](Plan& plan) {
                plan.servers = {Rank(3), Rank(3)};
              }),
              has_rule("servers", "rank 3 is a server more than once"));
  EXPECT_THAT(told([](Plan& plan) { plan.servers = {Rank(3), Rank(2)}; }), has_rule("servers", "ascending"));
  EXPECT_THAT(told([](Plan& plan) { plan.servers = {Rank(3)}; }), Not(IsEmpty()));
  EXPECT_THAT(told([](Plan& plan) { plan.servers = {Rank(2), Rank(7)}; }), has_rule("servers", "or several of one"));
  EXPECT_THAT(told([](Plan& plan) { plan.servers = {Rank(1), Rank(2), Rank(3)}; }), Not(IsEmpty()));
  EXPECT_THAT(told([](Plan& plan) { plan.servers = {}; }), Not(IsEmpty()));
  EXPECT_THAT(told([](Plan& plan) { plan.taken = 1; }), has_rule("first come", "servers that share a stage"));
  EXPECT_THAT(told([](Plan& plan) {
                plan.groups[0].ranks = {Rank(0), Rank(2), Rank(3)};
              }),
              has_rule("fields", "group"));
  EXPECT_THAT(told([](Plan& plan) { plan.groups[0].ranks = {Rank(2)}; }), has_rule("fields", "group"));
}

TEST(ServerShares, WhateverIsWrongWithAShareIsTold) {
  const auto of_server = [](OpKind kind, const std::function<void(Op&)>& change) {
    return [kind, change](Plan& plan) {
      for (Op& op : plan.ranks[3].compute())
        if (op.kind == kind) return change(op);
    };
  };
  const auto whole = [](Op& op) { op.group = GroupId(-1); };
  EXPECT_THAT(told(of_server(OpKind::update, whole)), has_rule("group", "does not join the servers"));
  EXPECT_THAT(told(of_server(OpKind::add, whole)), has_rule("fields", "group"));
  EXPECT_THAT(told(of_server(OpKind::add, [](Op& op) { op.peer = Rank(-1); })), has_rule("fields", "group"));
  EXPECT_THAT(told([&](Plan& plan) {
                std::erase_if(plan.ranks[3].compute(),
                              [](const Op& op) { return op.kind == OpKind::update && op.segment == SegmentId(0); });
              }),
              has_rule("exactly once", "0UPDATE"));
  for (const Payload payload : {Payload::gradients, Payload::parameters}) {
    EXPECT_THAT(told([&](Plan& plan) { change_message(plan, Rank(3), payload, whole); }), has_rule("fields", "group"));
    EXPECT_THAT(told([&](Plan& plan) { change_message(plan, Rank(3), payload, [](Op& op) { op.segments = 2; }); }),
                Not(IsEmpty()));
  }
  // A share of another run is other elements.
  const auto widen = [](Op& op) {
    op.segment = SegmentId(0);
    op.segments = 2;
  };
  EXPECT_THAT(told(of_server(OpKind::update, widen)), Not(IsEmpty()));
  // Another group of the same ranks is as good; of others, not.
  EXPECT_THAT(told([](Plan& plan) {
                plan.groups.push_back({Axis::data, {Rank(1), Rank(3)}});
                for (Op& op : plan.ranks[3].compute()) op.group = GroupId(1);
              }),
              has_rule("group", "does not join the servers"));
  // One that gets nothing of a worker, and one whose weights a worker does not take.
  EXPECT_THAT(told([](Plan& plan) {
                plan.ranks[0].lane(sends_to(Rank(3), Payload::gradients)).clear();
                plan.ranks[3].lane(receives_from(Rank(0), Payload::gradients)).clear();
              }),
              has_rule("exactly once", "SEND_GRADIENTS"));
  EXPECT_THAT(told([](Plan& plan) {
                plan.ranks[0].lane(receives_from(Rank(3), Payload::parameters)).clear();
                plan.ranks[3].lane(sends_to(Rank(0), Payload::parameters)).clear();
              }),
              has_rule("exactly once", "RECV_PARAMETERS"));
}

TEST(ServerShares, NormsOfWholeTensorsAreSummedAmongTheServers) {
  EXPECT_THAT(told([](Plan&) {}, "lars"), IsEmpty());
  EXPECT_THAT(told(
                  [](Plan& plan) {
                    for (const Rank server : plan.servers)
                      std::erase_if(plan.ranks[server.value].lanes,
                                    [](const Lane& lane) { return lane.key.purpose == Payload::norms; });
                  },
                  "lars"),
              has_rule("exactly once", "NORMS"));
}

TEST(ServerShares, AFileIsRunAsItsCaseSays) {
  const models::ModelSpec model = chain_model(4);
  const auto refusal = [&](const Plan& plan) -> std::string {
    try {
      check_executable(plan, model);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  Plan plan = test_plan(shared_case(4, "2"), 4);
  EXPECT_EQ(refusal(plan), "accepted");
  plan.spec = shared_case(4, "2", "sync", "", "layers");
  EXPECT_THAT(refusal(plan), HasSubstr("averages or servers"));
}

// A worker's forward reads what all servers have sent; its gradients make room when all have them.
TEST(ServerShares, AWorkerWaitsForAllServers) {
  const Plan plan = unroll(test_plan(shared_case(4, "3"), 1), 2);
  const LocalDependencies needs = dependencies(plan, Rank(0));
  const auto count = [&](OpKind of, OpKind kind, StepId step) {
    const auto& ops = plan.ranks[0].compute();
    const auto found = std::ranges::find_if(ops, [&](const Op& op) { return op.kind == of && op.step == step; });
    const auto refs = needs.of(compute_lane, static_cast<int>(found - ops.begin()));
    return std::ranges::count_if(refs, [&](const OpRef& ref) { return at(plan, ref).kind == kind; });
  };
  EXPECT_EQ(count(OpKind::forward, OpKind::receive, StepId(0)), 0);
  EXPECT_EQ(count(OpKind::forward, OpKind::receive, StepId(1)), 3);
  EXPECT_EQ(count(OpKind::backward, OpKind::send, StepId(1)), 3);
}

}  // namespace
}  // namespace parabench::plan
