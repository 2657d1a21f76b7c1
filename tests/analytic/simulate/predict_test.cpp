#include "analytic/simulate/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

double term(const Predicted& predicted, std::string_view name) {
  const auto found = std::ranges::find_if(predicted.terms, [&](const Term& t) { return t.name.starts_with(name); });
  if (found == predicted.terms.end()) ADD_FAILURE() << "no term " << name;
  return found == predicted.terms.end() ? 0 : found->value;
}

Predicted predict(const plan::Plan& plan, const models::ModelSpec& model, const Costs& costs, int warmup, int steps) {
  return predict(plan, model, *costs.time, *costs.memory, warmup, steps);
}

double sum(const Breakdown& b) {
  return b.forward + b.backward + b.recompute + b.update + b.communication_exposed + b.bubble + b.data_wait + b.other;
}

/// Rank 1 works twice as long as rank 0; every part has a time of its own.
class PartedTimes final : public TimeModel {
 public:
  TimeParts parts(const plan::Plan&, Rank rank, const plan::Op& op, int busy_ranks) const override {
    if (plan::is_message(op.kind)) return {.latency = .25, .transfer = .5};
    const double work = 1.0 + rank.value;
    if (op.kind == plan::OpKind::update) return {.launch = .125, .memory = work};
    return {.compute = work * busy_ranks, .launch = .125};
  }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }
};

TEST(Predict, PartsAreThoseOfTheBusiestRanksStep) {
  const plan::Plan plan = gpipe(2, 4);
  const Predicted p = predict(plan, chain(2), PartedTimes(), *unit_costs().memory, 1, 3);
  ASSERT_TRUE(p.step_parts);
  EXPECT_EQ(p.step_parts->rank, Rank(1));
  // Four forwards and backwards of 2 s with both ranks busy and an update of 2 s, four messages each way.
  EXPECT_EQ(p.step_parts->seconds,
            (TimeParts{.compute = 8 * 4, .launch = 9 * .125, .memory = 2, .latency = 8 * .25, .transfer = 8 * .5}));
}

TEST(Predict, PartsAreTheMeanOverTheStepsOfAnAsynchronousPlan) {
  const Predicted p = predict(pipedream(2, 10), chain(2), PartedTimes(), *unit_costs().memory, 2, 8);
  ASSERT_TRUE(p.step_parts);
  EXPECT_DOUBLE_EQ(p.step_parts->seconds.compute, 2 * 4);
  EXPECT_DOUBLE_EQ(p.step_parts->seconds.transfer, 2 * .5);
}

TEST(Predict, GpipeTakesItsMakespanEveryStep) {
  const Predicted p = predict(gpipe(4, 8), chain(4), unit_costs(), 2, 5);
  EXPECT_DOUBLE_EQ(p.step_time_s, 33);
  EXPECT_DOUBLE_EQ(p.throughput_samples_per_s, 8. / 33);
  ASSERT_EQ(p.ranks.size(), 4u);
  for (const RankPredicted& rank : p.ranks) {
    EXPECT_DOUBLE_EQ(rank.breakdown_s.forward, 8);
    EXPECT_DOUBLE_EQ(rank.breakdown_s.backward, 16);
    EXPECT_NEAR(sum(rank.breakdown_s), 33, 1e-9);
  }
  EXPECT_NEAR(p.ranks[0].breakdown_s.bubble, 9, 1e-9);
  EXPECT_NEAR(term(p, "bubble_fraction"), 9. / 33, 1e-9);
}

TEST(Predict, PipedreamHasNoBubbleInTheSteadyState) {
  const Predicted p = predict(pipedream(4, 30), chain(4), unit_costs(), 8, 22);
  EXPECT_DOUBLE_EQ(p.step_time_s, 3);
  EXPECT_THAT(p.second_opinion_step_time_s, ElementsAre(Key("pipedream_planner")));
  EXPECT_DOUBLE_EQ(p.second_opinion_step_time_s.at("pipedream_planner"), 3);
}

TEST(Predict, ReplicasOfAPipedreamStageShareItsMiniBatches) {
  Case spec = case_of("pipedream", 4, 1);
  spec.strategy.parameters = {{"replicas", "3-1"}};
  const HandCosts costs([](Rank, const plan::Op& op, int) {
    return KindSeconds{}(Rank(0), op, 1) * (op.segment == SegmentId(0) ? 3 : 1);
  });
  const Predicted p = predict(test_plan(spec, 2, 60), chain(2), costs, costs, 12, 48);
  EXPECT_NEAR(p.step_time_s, 3, 1e-9);
  EXPECT_NEAR(p.second_opinion_step_time_s.at("pipedream_planner"), 3, 1e-9);
}

TEST(Predict, SumsOfAPipedreamStageArePricedAsThoseOfItsOwnReplicas) {
  Case spec = case_of("pipedream", 4, 1);
  spec.strategy.parameters = {{"replicas", "1-3"}};
  // Ranks sum the whole model, two layers alike, in 100 s.
  const HandCosts costs(KindSeconds{.all_reduce = 100, .update = 1});
  const Predicted p = predict(test_plan(spec, 2, 60), chain(2), costs, costs, 12, 48);
  EXPECT_NEAR(term(p, "planner_period"), 50. / 3, 1e-9);
  EXPECT_NEAR(term(p, "data_parallel_period"), 100. / 4, 1e-9);
  EXPECT_NEAR(p.second_opinion_step_time_s.at("pipedream_planner"), 50. / 3, 1e-9);
}

TEST(Predict, UpdatesOfAReplicatedPipedreamStageCountOnceForEachReplica) {
  Case spec = case_of("pipedream", 4, 1);
  spec.strategy.parameters = {{"replicas", "1-3"}};
  const HandCosts costs(KindSeconds{.update = 9});
  const Predicted p = predict(test_plan(spec, 2, 60), chain(2), costs, costs, 12, 48);
  // The first stage: passes of 3 s and an update for every mini-batch; the second one's are divided by three.
  EXPECT_NEAR(term(p, "planner_period"), 12, 1e-9);
  EXPECT_NEAR(p.second_opinion_step_time_s.at("pipedream_planner"), 12, 1e-9);
}

TEST(Predict, FillingAReplicatedPipelineCountsInNoStep) {
  for (const auto& [replicas, period] : std::map<std::string, double>{{"5-3", 1}, {"4-5", .75}, {"7-3", 1}}) {
    Case spec = case_of("pipedream", replicas[0] - '0' + replicas[2] - '0', 1);
    spec.strategy.parameters = {{"replicas", replicas}};
    const int steps = plan::window(test_plan(spec, 2, 25), 5, 20).steps();
    EXPECT_NEAR(predict(test_plan(spec, 2, steps), chain(2), unit_costs(), 5, 20).step_time_s, period, 1e-9)
        << replicas;
  }
}

TEST(Predict, ReplicasOfAPipedreamStageHaveTheSameBreakdown) {
  Case spec = case_of("pipedream", 8, 1);
  spec.strategy.parameters = {{"replicas", "7-1"}};
  const Predicted p = predict(test_plan(spec, 2, 28), chain(2), unit_costs(), 5, 20);
  for (int rank = 0; rank < 7; ++rank) {
    EXPECT_NEAR(p.ranks[rank].breakdown_s.forward, 1. / 7, 1e-12);
    EXPECT_NEAR(p.ranks[rank].breakdown_s.backward, 2. / 7, 1e-12);
  }
  EXPECT_NEAR(p.ranks[7].breakdown_s.forward, 1, 1e-12);
}

TEST(Predict, ThePlannerPaysForForwardsThatRunAgain) {
  Case spec = case_of("pipedream", 4, 1);
  spec.recompute = Recompute::all;
  spec.strategy.parameters = {{"replicas", "4"}};
  const Predicted p = predict(test_plan(spec, 2, 60), chain(2), unit_costs(), 12, 48);
  EXPECT_NEAR(term(p, "planner_period"), 4. / 4, 1e-9);
  EXPECT_NEAR(term(p, "data_parallel_period"), 4. / 4, 1e-9);
  EXPECT_NEAR(p.second_opinion_step_time_s.at("pipedream_planner"), 4. / 4, 1e-9);
}

TEST(Predict, SecondOpinionsOfAnAsynchronousWindowAreOfOneStep) {
  Case spec = case_of("pipedream", 4, 1);
  spec.strategy.parameters = {{"replicas", "4"}};
  EXPECT_NEAR(second_opinions(test_plan(spec, 2, 60), chain(2), *unit_costs().time).at("pipedream_planner"), 3. / 4,
              1e-9);
  EXPECT_NEAR(second_opinions(pipedream(1, 60), chain(1), *unit_costs().time).at("sum_of_operations"), 3, 1e-9);
}

TEST(Predict, SecondOpinionsAgreeWhereTheirAssumptionsHold) {
  const Predicted pipe = predict(gpipe(4, 8), chain(4), unit_costs(), 1, 3);
  EXPECT_DOUBLE_EQ(pipe.second_opinion_step_time_s.at("ddlbench_eq_6_1_6_2"), 33);
  EXPECT_DOUBLE_EQ(pipe.second_opinion_step_time_s.at("unequal_stages"), 33);
  const Predicted one = predict(test_plan(case_of("sequential", 1, 4), 3), chain(3), unit_costs(), 1, 3);
  EXPECT_NEAR(one.second_opinion_step_time_s.at("sum_of_operations"), one.step_time_s, 1e-12);
  const Predicted data = predict(data_parallel(2, 3), chain(3), unit_costs(), 1, 3);
  // Unit costs do not depend on samples, so half of the sequential time is not half of a replica's.
  EXPECT_DOUBLE_EQ(data.second_opinion_step_time_s.at("ddlbench_eq_5_1"), data.step_time_s / 2);
}

TEST(Predict, TermsOfTheBusiestRankAddUpToItsStep) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int busy) {
    return KindSeconds{.update = 5}(rank, op, busy) + (op.accumulates ? 2 : 0);
  });
  const Predicted pipe = predict(gpipe(2, 4), chain(2), costs, costs, 1, 3);
  EXPECT_DOUBLE_EQ(term(pipe, "backward[stage 0]"), 2);
  EXPECT_DOUBLE_EQ(term(pipe, "backward_adding[stage 0]"), 4);
  EXPECT_DOUBLE_EQ(term(pipe, "step_backward"), 2 + 3 * 4);
  const Predicted halves = predict(pipeline("zb-h1", 2, 4), chain(2), costs, costs, 1, 3);
  EXPECT_DOUBLE_EQ(term(halves, "backward_weight_adding[stage 0]"), 3);
  EXPECT_DOUBLE_EQ(term(halves, "step_backward"), 4 * 1 + 1 + 3 * 3);
  const Predicted whole = predict(gpipe(2, 1), chain(2), costs, costs, 1, 3);
  EXPECT_THAT(whole.terms, testing::Not(testing::Contains(testing::Field(&Term::name, HasSubstr("_adding")))));
}

TEST(Predict, ARankAloneHasTheClosedFormOfItsMemoryAndSendsNothing) {
  HandCosts costs(KindSeconds{});
  costs.saved = 100;
  const Predicted one = predict(test_plan(case_of("sequential", 1, 4), 3), chain(3), costs, costs, 1, 3);
  EXPECT_THAT(one.terms, testing::Contains(testing::Field(&Term::name, HasSubstr("closed_form_memory"))));
  EXPECT_THAT(one.terms, testing::Not(testing::Contains(testing::Field(&Term::name, HasSubstr("bytes_sent")))));
}

TEST(Predict, SumsBesideTheBackwardCostWhatItDoesNotHide) {
  const HandCosts slow(KindSeconds{.all_reduce = 5});
  const auto predicted = [&](std::int64_t bucket) {
    Case spec = case_of("data-parallel", 2, 2);
    spec.bucket = Bytes(bucket);
    return predict(test_plan(spec, 3), chain(3), slow, slow, 2, 5);
  };
  const Predicted one = predicted(1 << 30), each = predicted(1);
  EXPECT_DOUBLE_EQ(one.step_time_s, 9 + 5);
  EXPECT_DOUBLE_EQ(one.second_opinion_step_time_s.at("overlapped_sums"), 9 + 5);
  // The closed form lets all of the backward hide sums; the first one has to wait for the first layer's.
  EXPECT_DOUBLE_EQ(each.step_time_s, 9 + 3 * 5 - 4);
  EXPECT_DOUBLE_EQ(each.second_opinion_step_time_s.at("overlapped_sums"), 9 + 3 * 5 - 6);
}

TEST(Predict, GathersInTheForwardsOrderLetItBeginBeforeTheyHaveEnded) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int busy) {
    if (op.kind == plan::OpKind::all_gather) return 3.0;
    return KindSeconds{.all_reduce = 1}(rank, op, busy);
  });
  const auto predicted = [&](const char* strategy) {
    Case spec = case_of(strategy, 2, 2);
    spec.bucket = Bytes(1);
    return predict(test_plan(spec, 3), chain(3), costs, costs, 2, 5);
  };
  // Passes take 9 s, the last sum one more, then the gathers: all three, or one and what two have left of the forwards.
  EXPECT_DOUBLE_EQ(predicted("zero1").step_time_s, 18);
  EXPECT_THAT(predicted("zero1").second_opinion_step_time_s,
              ElementsAre(Key("ddlbench_eq_5_1"), Key("overlapped_sums")));
  EXPECT_THAT(predicted("zero1").broken_assumptions,
              ElementsAre(testing::Pair("ddlbench_eq_5_1", ElementsAre(HasSubstr("does not hide")))));
  EXPECT_DOUBLE_EQ(predicted("dear").step_time_s, 17);
  EXPECT_DOUBLE_EQ(predicted("dear").second_opinion_step_time_s.at("decoupled_all_reduce"), 6 + 9);
}

TEST(Predict, AServerTakesAsLongAsItsWorkersGradientsTogetherAndTermsNameWhatItDoes) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int busy) {
    if (op.kind == plan::OpKind::add) return 2.0;
    return KindSeconds{.message = 1, .update = 3}(rank, op, busy);
  });
  const auto predicted = [&](int np) {
    Case spec = case_of("parameter-server", np, 12);
    return predict(test_plan(spec, 3), chain(3), costs, costs, 2, 5);
  };
  // Passes of 9 s, a push, an addition for each worker, an update, a pull.
  EXPECT_DOUBLE_EQ(predicted(2).step_time_s, 9 + 1 + 2 + 3 + 1);
  EXPECT_DOUBLE_EQ(predicted(5).step_time_s, 9 + 1 + 4 * 2 + 3 + 1);
  std::vector<std::string> names;
  for (const Term& term : predicted(3).terms) names.push_back(term.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"add[stage 0]", "update[stage 0]", "send_gradients[stage 0, bucket 0]",
                                            "send_parameters[stage 0, bucket 0]"}));
  EXPECT_THAT(predicted(3).second_opinion_step_time_s, ElementsAre(Key("parameter_server")));
}

TEST(Predict, WorkersThatDoNotWaitForEachOtherAreAsFastAsTheyOrTheServer) {
  double addition = 2;
  const HandCosts costs([&](Rank rank, const plan::Op& op, int busy) {
    if (op.kind == plan::OpKind::add) return addition;
    return KindSeconds{.message = 1, .update = 3}(rank, op, busy);
  });
  const auto predicted = [&](int np, const char* mode, const char* k = nullptr) {
    Case spec = case_of("parameter-server", np, 12);
    spec.strategy.parameters = {{"mode", mode}};
    if (k) spec.strategy.parameters.push_back({"k", k});
    return predict(test_plan(spec, 3, 60), chain(3), costs, costs, 24, 24);
  };
  // By turns: passes of 9 s, a push, an addition, an update, a pull; the server adds and updates for 5 s.
  EXPECT_DOUBLE_EQ(predicted(2, "async").step_time_s, 16);
  EXPECT_DOUBLE_EQ(predicted(3, "async").step_time_s, 8);
  EXPECT_DOUBLE_EQ(predicted(5, "async").step_time_s, 5);
  // The step before hides all but the passes; or the server's additions and its update do.
  EXPECT_DOUBLE_EQ(predicted(3, "stale").step_time_s, 9);
  EXPECT_DOUBLE_EQ(predicted(5, "stale").step_time_s, 4 * 2 + 3);
  for (const auto& [np, mode] : {std::pair(5, "async"), {3, "stale"}, {5, "stale"}}) {
    const Predicted p = predicted(np, mode);
    EXPECT_NEAR(p.second_opinion_step_time_s.at("parameter_server"), p.step_time_s, 1e-9) << np << ' ' << mode;
  }
  EXPECT_EQ(term(predicted(5, "async"), "staleness[stage 0]"), 3);
  EXPECT_EQ(term(predicted(5, "stale", "2"), "staleness[stage 0]"), 2);
  // From the end of a step to its weights 11 s pass: two steps, of which the second waits, take passes and that wait. A
  // bound of two steps hides it.
  addition = 3;
  EXPECT_DOUBLE_EQ(predicted(3, "stale", "1").step_time_s, (9 + 11) / 2.0);
  EXPECT_DOUBLE_EQ(predicted(3, "stale", "2").step_time_s, 9);
}

TEST(Predict, WeightsThatAreAveragedNowAndThenCostTheirPartOfEveryStep) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int busy) {
    return KindSeconds{.all_reduce = 6, .update = 1}(rank, op, busy);
  });
  const auto predicted = [&](const char* every) {
    Case spec = case_of("local-sgd", 2, 2);
    spec.strategy.parameters = {{"every", every}};
    return predict(test_plan(spec, 3), chain(3), costs, costs, 5, 20);
  };
  // Passes of 9 s and an update of 1; the sum, and the average, whose operation takes as long as an update.
  EXPECT_DOUBLE_EQ(predicted("1").step_time_s, 17);
  EXPECT_DOUBLE_EQ(predicted("4").step_time_s, 10 + 7 / 4.0);
  EXPECT_DOUBLE_EQ(predicted("4").second_opinion_step_time_s.at("local_steps"), 10 + 7 / 4.0);
  EXPECT_DOUBLE_EQ(*predicted("4").isolated_step_time_s, 10 + 7 / 4.0);
  EXPECT_EQ(predicted("4").timeline->first_step % 4, 3) << "the step that averages is shown";
}

/// Layers of 64 x 64 weights and 64 biases.
models::ModelSpec wide_chain(int layers) {
  models::ModelSpec model{.name = "wide", .input = {64}, .classes = 64, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    const std::string name(static_cast<std::size_t>(i) + 1, 'l');
    model.layers.push_back(models::chain(name, {{name, models::Linear{64, 64}}}));
  }
  return model;
}

TEST(Predict, ServersThatShareTakeAsLongAsTheLargestShare) {
  const models::ModelSpec model = wide_chain(3);
  for (const int servers : {2, 3, 5}) {
    Case spec = case_of("parameter-server", servers + 2, 12);
    spec.strategy.parameters = {{"servers", std::to_string(servers)}, {"cut", "tensors"}};
    spec.bucket = Bytes(1);
    const plan::Plan plan = plan::make_plan(spec, model, std::vector<double>(3, 1.0), 1);
    const Sizes sizes(model);
    // An addition takes a second for each byte of the share.
    const HandCosts costs([&](Rank rank, const plan::Op& op, int busy) {
      if (op.kind == plan::OpKind::add) return static_cast<double>(sizes.updated_bytes(plan, rank, op));
      return KindSeconds{}(rank, op, busy);
    });
    const Predicted p = predict(plan, model, costs, costs, 2, 5);
    double largest = 0, added = 0;
    for (const Rank server : plan.servers) {
      double share = 0;
      for (const plan::Op& op : plan.ranks[server.value].compute())
        if (op.kind == plan::OpKind::add) share += static_cast<double>(sizes.updated_bytes(plan, server, op));
      largest = std::max(largest, share);
      added += share;
    }
    EXPECT_EQ(added, 2.0 * static_cast<double>(sizes.parameter_bytes(plan, SegmentId(0), 3))) << "of both workers";
    EXPECT_LE(largest, added / servers + 3 * 2 * plan::slice_alignment_bytes);
    EXPECT_EQ(term(p, "add[stage 0]"), largest);
    EXPECT_GE(p.second_opinion_step_time_s.at("parameter_server"), largest);
    EXPECT_LE(p.second_opinion_step_time_s.at("parameter_server"), largest + 100);
  }
}

TEST(Predict, CompressedSumsCostWhatMakesThemAndTellTheirRatio) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int busy) {
    return KindSeconds{.all_reduce = 3, .update = 1}(rank, op, busy);
  });
  const auto predicted = [&](const NamedChoice& compress) {
    Case spec = case_of("data-parallel", 2, 2);
    spec.compress = compress;
    const models::ModelSpec model = wide_chain(3);
    return predict(plan::make_plan(spec, model, std::vector<double>(3, 1.0), 1), model, costs, costs, 5, 20);
  };
  // Passes of 9 s and an update of 1; in one bucket, which nothing hides: encode, sum and decode, and with two factors
  // a second product and sum.
  const Predicted rounded = predicted({"bf16", {}}), factored = predicted({"powersgd", {}});
  EXPECT_DOUBLE_EQ(rounded.step_time_s, 9 + 1 + 1 + 3 + 1);
  EXPECT_DOUBLE_EQ(factored.step_time_s, 9 + 1 + 1 + 3 + 1 + 3 + 1);
  for (const Predicted& one : {rounded, factored})
    EXPECT_THAT(one.second_opinion_step_time_s, ElementsAre(testing::Pair("compressed_sums", one.step_time_s)));
  EXPECT_DOUBLE_EQ(term(rounded, "compression_ratio[stage 0]"), 2);
  // Two factors of 64 x 4, and the biases as they are.
  EXPECT_DOUBLE_EQ(term(factored, "compression_ratio[stage 0]"), (4096 + 64) / (2 * 256.0 + 64));
  EXPECT_DOUBLE_EQ(term(factored, "project[stage 0]"), 1);
  EXPECT_DOUBLE_EQ(term(factored, "all_reduce[stage 0, projected 0]"), 3);
}

TEST(Predict, GathersOfShardedWeightsHideBehindThePassesAheadOfWhichTheyStart) {
  const auto predicted = [](int prefetch, double collective) {
    const KindSeconds kinds{.all_reduce = collective};
    const HandCosts costs(kinds);
    Case spec = case_of("zero3", 2, 2);
    spec.bucket = Bytes(1);
    spec.prefetch = prefetch;
    return predict(test_plan(spec, 8), chain(8), costs, costs, 2, 5);
  };
  // Eight layers of 1 + 2 s; collectives that take a quarter of a forward hide but for the first gather and the last
  // sum.
  EXPECT_NEAR(predicted(2, .25).step_time_s, 24 + .5, 1e-9);
  EXPECT_DOUBLE_EQ(predicted(2, .25).second_opinion_step_time_s.at("fully_sharded"), 24);
  // Without a buffer for the next run every gather of a forward and of all but one backward is exposed.
  EXPECT_NEAR(predicted(0, .25).step_time_s, 24 + 8 * .25 + 7 * .25 + .25, 1e-9);
  // Slower than the passes: eight gathers, five more and eight sums, which pass beside each other on two lanes.
  EXPECT_DOUBLE_EQ(predicted(2, 4).second_opinion_step_time_s.at("fully_sharded"), 8 * 4 + 5 * 4 + 8 * 4);
}

TEST(Predict, AnOrderByPriorityLetsTheNextForwardRunBesideTheSums) {
  const auto predicted = [](const char* order, double sum) {
    const HandCosts costs(KindSeconds{.all_reduce = sum});
    Case spec = case_of("data-parallel", 2, 2);
    spec.order.name = order;
    if (spec.order.name == "backward") spec.bucket = Bytes(1);
    plan::Profile profile(std::vector<double>(4, 3.0));
    profile.sum.latency_s = sum;
    return predict(plan::make_plan(spec, chain(4), profile, 1), chain(4), costs, costs, 2, 8);
  };
  const auto term = [](const Predicted& of, const std::string& name) {
    return std::ranges::find(of.terms, name, &Term::name)->value;
  };
  // Four layers of 1 + 2 s. Sums of 3 s end 14 s after the backward began, whose first gradients come after 2 s; with
  // the forward after them a step takes 4 s more. By priority, the first layers' sums are done 3 s before the last one.
  EXPECT_DOUBLE_EQ(predicted("backward", 3).step_time_s, 4 + 2 + 4 * 3);
  EXPECT_LT(predicted("priority", 3).step_time_s, predicted("backward", 3).step_time_s);
  EXPECT_DOUBLE_EQ(predicted("priority", 3).second_opinion_step_time_s.at("priority_order"), 12);
  EXPECT_GE(predicted("priority", 3).step_time_s, 12);
  EXPECT_DOUBLE_EQ(predicted("priority", 5).second_opinion_step_time_s.at("priority_order"), 20);
  // Where the backward hides all of them but the last one, an order gains what this one takes at most.
  EXPECT_DOUBLE_EQ(predicted("backward", 1).step_time_s, 13);
  EXPECT_DOUBLE_EQ(predicted("priority", 1).step_time_s, 13);
  EXPECT_DOUBLE_EQ(term(predicted("priority", 3), "exchanges_over_backward"), 12.0 / 8);
  EXPECT_DOUBLE_EQ(term(predicted("backward", 1), "exchanges_over_backward"), 4.0 / 8);
}

TEST(Predict, GroupsThatShareSumTheirSharesBesideTheReduceScatters) {
  const HandCosts costs(KindSeconds{.all_reduce = 1});
  const auto predicted = [&](const char* strategy) {
    Case spec = case_of(strategy, 4, 4);
    spec.bucket = Bytes(1);
    spec.shard = 2;
    return predict(test_plan(spec, 3), chain(3), costs, costs, 2, 5);
  };
  // Passes of 9 s; after the last backward its reduce-scatter and the sum of its shares, beside which the other weights
  // are gathered, and a gather.
  EXPECT_DOUBLE_EQ(predicted("zero1").step_time_s, 9 + 1 + 1 + 1);
  EXPECT_DOUBLE_EQ(predicted("zero1").second_opinion_step_time_s.at("hybrid_sharded"), 3 + 6 + 3);
  EXPECT_DOUBLE_EQ(predicted("zero3").second_opinion_step_time_s.at("fully_sharded"), 3 + (1 + 6));
  std::vector<std::string> names;
  for (const Term& one : predicted("zero1").terms) names.push_back(one.name);
  EXPECT_THAT(names,
              testing::IsSupersetOf({"reduce_scatter[stage 0, bucket 2]", "all_reduce[stage 0, gradient_shares 2]"}));
}

/// Passes take nothing, the link a second for each byte.
class SlowLink final : public TimeModel {
 public:
  TimeParts parts(const plan::Plan&, Rank, const plan::Op&, int) const override { return {}; }
  Link link(const plan::Plan&) const override { return {.bytes_per_s = 1}; }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }
};

TEST(Predict, AFusionBufferIsWhatTheClosedFormExposes) {
  const auto opinion = [](const char* fusion) {
    Case spec = case_of("horovod", 2, 2);
    spec.strategy.parameters = {{"fusion", fusion}};
    return second_opinions(test_plan(spec, 3), chain(3), SlowLink()).at("ddlbench_eq_5_1");
  };
  EXPECT_DOUBLE_EQ(opinion("50"), 50);
  EXPECT_DOUBLE_EQ(opinion("64MiB"), 3 * 64);
}

TEST(Predict, SchedulesHaveTheirOwnFormulaAsSecondOpinion) {
  int with_formula = 0;
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (!strategy.makespan.of || (strategy.chunks({}) == 1 && !strategy.splits_backwards())) continue;
    const int m = strategy.schedule.stages == plan::StageOrder::crossed ? 4 : 8;
    const plan::Plan plan = pipeline(std::string(strategy.name), 4, m);
    const auto opinions = second_opinions(plan, chain(static_cast<int>(plan.segments.size())), *unit_costs().time);
    EXPECT_THAT(opinions, ElementsAre(Key("schedule_formula"))) << strategy.name;
    EXPECT_DOUBLE_EQ(opinions.at("schedule_formula"), plan::makespan(simulate(plan, *unit_costs().time)))
        << strategy.name;
    ++with_formula;
  }
  EXPECT_GE(with_formula, 7);
}

TEST(Predict, RecomputedPassesCountInTheSumOfOperations) {
  Case spec = case_of("sequential", 1, 4);
  spec.recompute = Recompute::all;
  EXPECT_NEAR(second_opinions(test_plan(spec, 3), chain(3), *unit_costs().time).at("sum_of_operations"), 4, 1e-12);
}

TEST(Predict, EveryTermSaysWhereItComesFrom) {
  for (const plan::Plan& plan : {gpipe(2, 4), data_parallel(2, 3), pipedream(2, 22)}) {
    const int steps = plan.asynchronous ? plan.steps - 2 : 6;
    const Predicted p = predict(plan, chain(static_cast<int>(plan.segments.size())), unit_costs(), 2, steps);
    EXPECT_GE(p.terms.size(), 10u);
    for (const Term& t : p.terms) {
      EXPECT_FALSE(t.name.empty() || t.unit.empty() || t.formula.empty() || t.source.empty()) << t.name;
      EXPECT_EQ(t.cost_source, "unit");
    }
    EXPECT_DOUBLE_EQ(term(p, "step_time"), p.step_time_s);
    EXPECT_NEAR(term(p, "step_forward") + term(p, "step_backward") + term(p, "step_update") +
                    term(p, "step_communication_exposed") + term(p, "step_bubble"),
                p.step_time_s,
                plan.asynchronous ? .1 * p.step_time_s : 1e-9);  // its pipe drains once, in the last steps
  }
}

TEST(Predict, TheIntervalMovesEveryOperationByItsDeviation) {
  const models::ModelSpec model = chain(2);
  Calibration c;
  c.machine.cores = 2;
  for (int l = 0; l < 2; ++l) {
    c.layers[layer_key(model.layers[l], model.input, l == 0, {}, 1)] = {
        {.samples = 4, .forward_s = 1, .backward_s = 2, .forward_mad_s = .01, .backward_mad_s = .02}};
  }
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, 0}}}};
  const plan::Plan plan = test_plan(case_of("sequential", 1, 4), 2);
  const Predicted p = predict(plan, model, calibrated_costs(c, model), 1, 3);
  EXPECT_NEAR(p.step_time_s, 6, 1e-12);
  EXPECT_NEAR(p.interval_s.second - p.step_time_s, 1.96 * 1.4826 * .06, 1e-9);
  EXPECT_NEAR(p.step_time_s - p.interval_s.first, 1.96 * 1.4826 * .06, 1e-9);
  EXPECT_EQ(p.terms.front().cost_source, "calibrated");
}

TEST(Predict, WithoutDeviationsTheIntervalIsThePoint) {
  const Predicted p = predict(gpipe(2, 2), chain(2), unit_costs(), 0, 2);
  EXPECT_EQ(p.interval_s, std::pair(p.step_time_s, p.step_time_s));
}

TEST(Predict, OnAGpuEveryGuessSaysWhatItAssumes) {
  const models::ModelSpec model = chain(2);
  Case spec = case_of("data-parallel", 2, 4);
  spec.device = DeviceKind::cuda;
  spec.comm = CommKind::nccl;
  const plan::Plan plan = test_plan(spec, 2);
  const Predicted p = predict(plan, model, data_sheet_costs({.cores = 2}, model), 1, 2);
  for (const Term& t : p.terms) {
    const bool of_the_machine = t.name.starts_with("forward") || t.name.starts_with("all_reduce");
    if (of_the_machine) {
      EXPECT_THAT(t.source, HasSubstr("no GPU known: data sheet of A10")) << t.name;
    }
  }
  EXPECT_EQ(term(p, "memory_reserved"), p.ranks[0].peak_memory.reserved);
  EXPECT_EQ(term(p, "memory_device_used"), p.ranks[0].peak_memory.device_used);
  EXPECT_GT(p.ranks[0].peak_memory.device_used, p.ranks[0].peak_memory.reserved + (500 << 20));
  const Predicted cpu = predict(data_parallel(2, 2), model, data_sheet_costs({.cores = 2}, model), 1, 2);
  for (const Term& t : cpu.terms) {
    EXPECT_THAT(t.source, Not(HasSubstr("GPU")));
    EXPECT_FALSE(t.name.starts_with("memory"));
  }
}

TEST(Predict, MemoryOfEveryRankIsFilledIn) {
  const models::ModelSpec model = chain(2);
  const plan::Plan plan = gpipe(2, 4);
  const Predicted p = predict(plan, model, data_sheet_costs({.cores = 2}, model), 1, 2);
  for (const RankPredicted& rank : p.ranks) {
    EXPECT_EQ(rank.peak_memory[MemoryCategory::parameters], 64);
    EXPECT_GT(rank.peak_memory[MemoryCategory::activations], 0);
    EXPECT_GT(rank.peak_memory[MemoryCategory::workspace], 0);
  }
}

}  // namespace
}  // namespace parabench::analytic
