// What ranks send by formula, beside what is counted over their plans.
#include "analytic/closed_forms/traffic_form.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parallelism/plan/formats/given_schedule.h"
#include "tests/analytic/closed_forms/wide_chain.h"

namespace parabench::analytic {
namespace {

TEST(TrafficForm, IsWhatThePlansOfEveryRowSend) {
  expect_of_every_row([](const plan::Strategy& row, std::size_t change, const plan::Plan& plan) {
    const Sizes sizes(wide_chain(16));
    for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
      const auto form = traffic_form(plan, sizes, rank);
      EXPECT_TRUE(form.has_value()) << row.name << " change " << change;
      if (!form) continue;
      // The layers that the last forwards read are still there for the first backwards.
      const double kept = plan.spec.reshard ? plan.room.weights * wide_layer_bytes : 0;
      EXPECT_NEAR(form->bytes, sent_bytes(plan, sizes, rank), kept + 1e-6) << row.name << " change " << change;
      EXPECT_FALSE(form->formula.empty());
    }
    return true;
  });
}

constexpr double all = 16 * wide_layer_bytes;

double bytes_of(const Case& spec, int rank) {
  return traffic_form(wide_plan(spec, 16, 12), Sizes(wide_chain(16)), Rank(rank)).value().bytes;
}

TEST(TrafficForm, CompressedSumsSendTheirMessages) {
  Case spec = case_of("data-parallel", 4, 16);
  const auto bytes = [&](const NamedChoice& compress) {
    spec.compress = compress;
    return bytes_of(spec, 0);
  };
  EXPECT_DOUBLE_EQ(bytes({"none", {}}), 2 * .75 * all);
  EXPECT_DOUBLE_EQ(bytes({"bf16", {}}), 2 * .75 * all / 2);
  EXPECT_DOUBLE_EQ(bytes({"powersgd", {}}), 2 * .75 * 16 * 4 * (64 + 64) * 4);
  EXPECT_DOUBLE_EQ(bytes({"topk", {{"ratio", "0.015625"}}}), 3 * 16 * 64 * (4 + 4));
}

TEST(TrafficForm, ServersSendTheWeightsToWhomTheyUpdateFor) {
  Case spec = case_of("parameter-server", 4, 16);
  EXPECT_DOUBLE_EQ(bytes_of(spec, 0), all);
  EXPECT_DOUBLE_EQ(bytes_of(spec, 3), 3 * all);
  spec.strategy.parameters = {{"mode", "async"}};
  EXPECT_DOUBLE_EQ(bytes_of(spec, 0), all / 3);
  EXPECT_DOUBLE_EQ(bytes_of(spec, 3), all);
}

plan::Plan plan_on(const models::ModelSpec& model, Case spec) {
  spec.partition = PartitionRule::uniform;
  return plan::make_plan(spec, model, std::vector<double>(model.layers.size(), 1.0), 12);
}

/// Pipelines of eight layers in two and four stages, one copy and two, micro-batches of two samples.
std::vector<plan::Plan> pipelines_on(const models::ModelSpec& model) {
  std::vector<plan::Plan> plans;
  for (const int devices : {2, 4}) {
    for (const std::string& name : schedules_serving(devices, 8)) {
      for (const int copies : {1, 2}) {
        Case spec = case_of(name, devices * copies, 16 * copies, 8);
        spec.dp = copies;
        plans.push_back(plan_on(model, spec));
      }
    }
  }
  plans.push_back(plan_on(model, case_of("pipedream-2bw", 4, 16, 8)));
  return plans;
}

void expect_counted(const plan::Plan& plan, const models::ModelSpec& model) {
  const Sizes sizes(model);
  for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
    const auto form = traffic_form(plan, sizes, rank);
    ASSERT_TRUE(form.has_value());
    EXPECT_NEAR(form->bytes, sent_bytes(plan, sizes, rank), 1e-6)
        << plan.spec.strategy.name << " np " << plan.spec.np << " dp " << plan.spec.dp << " rank " << rank.value;
  }
}

/// A chain of eight layers. The output of the first is added to the inputs of the fourth and the last.
models::ModelSpec skipping_chain() {
  models::ModelSpec model = chain(8);
  for (const int taker : {3, 7}) {
    const std::string port = taker == 3 ? "short" : "long";
    model.layers[0].makes.push_back({port, 1});
    models::LayerSpec& layer = model.layers[taker];
    layer.takes.push_back({port, {4, 2, 2}});
    layer.nodes.insert(layer.nodes.begin(), {"add", models::Add{}, {models::layer_input, models::taken_value(0)}});
    layer.nodes[1].inputs = {0};
    layer.nodes[2].inputs = {1};
  }
  return model;
}

constexpr double map_bytes = 2 * 64;  ///< of a micro-batch of two samples on a chain

TEST(TrafficForm, ASkipGoesOnceToEachRankThatTakesItAndItsGradientBack) {
  const models::ModelSpec model = skipping_chain();
  for (const plan::Plan& plan : pipelines_on(model)) expect_counted(plan, model);
  expect_counted(plan_on(model, case_of("pipedream", 4, 2)), model);
  // Stages of two layers: the second and the fourth take it.
  const plan::Plan plan = plan_on(model, case_of("gpipe", 4, 16, 8));
  const double maps[] = {1 + 2, 2 + 1, 2, 1 + 1};
  for (const int rank : {0, 1, 2, 3})
    EXPECT_DOUBLE_EQ(traffic_form(plan, Sizes(model), Rank(rank)).value().bytes, 8 * maps[rank] * map_bytes);
}

TEST(TrafficForm, RanksThatShareAStageSendTheirPartOfIt) {
  Case spec = case_of("pipedream", 3, 2);
  spec.strategy.parameters = {{"replicas", "2-1"}};
  for (const models::ModelSpec& model : {chain(8), skipping_chain()}) expect_counted(plan_on(model, spec), model);
}

TEST(TrafficForm, ATensorOfTwoStagesIsSummedBetweenThem) {
  const models::ModelSpec model = tied_chain(8);
  for (const plan::Plan& plan : pipelines_on(model)) expect_counted(plan, model);
  const plan::Plan plan = plan_on(model, case_of("1f1b", 4, 16, 8));
  const double maps[] = {1, 2, 2, 1}, tied[] = {64, 0, 0, 64};
  for (const int rank : {0, 1, 2, 3})
    EXPECT_DOUBLE_EQ(traffic_form(plan, Sizes(model), Rank(rank)).value().bytes,
                     8 * maps[rank] * map_bytes + tied[rank]);
}

TEST(TrafficForm, KnowsSchedulesFromFilesAndNoLayersInShards) {
  const plan::GivenSchedule given = plan::read_csv("0F0,0B0\n1F0,1B0\n");
  plan::Plan csv = plan::make_plan(case_of("csv", 2, 2, 1), chain(2), std::vector<double>(2, 1.0), 1, &given);
  expect_counted(csv, chain(2));
  csv.shards = 2;
  EXPECT_FALSE(traffic_form(csv, Sizes(chain(2)), Rank(0)).has_value());
}

}  // namespace
}  // namespace parabench::analytic
