// Costs of backwards in two parts: measured, or shared out by FLOPs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analytic/calibration/calibration_json.h"
#include "analytic/calibration/combine.h"
#include "analytic/costs/costs.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/memory/sizes.h"
#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Two layers, measured at 2 samples alone and by both ranks; their split backwards too.
Calibration measured(const models::ModelSpec& model) {
  Calibration c;
  c.machine.cores = 2;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    for (const int busy : {1, 2}) {
      const double s = busy * (l + 1);
      c.layers[layer_key(model.layers[l], model.input, l == 0, {}, busy)] = {
          {.samples = 2,
           .forward_s = s,
           .backward_s = 10 * s,
           .forward_mad_s = .1,
           .backward_mad_s = .2,
           .split = SplitTiming{.input_s = 3 * s, .weight_s = 5 * s, .input_mad_s = .3, .weight_mad_s = .4}}};
    }
  }
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, 0}}}};
  return c;
}

plan::Op part(plan::OpKind kind) { return plan::pass(kind, SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0)); }

TEST(SplitCosts, AreWhatWasMeasured) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Plan plan = test_plan(case_of("model-parallel", 1, 2), 2);  // both layers in one segment
  for (const int busy : {1, 2}) {
    EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), part(plan::OpKind::backward), busy), 30 * busy);
    EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), part(plan::OpKind::backward_input), busy), 9 * busy);
    EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), part(plan::OpKind::backward_weight), busy), 15 * busy);
  }
  EXPECT_DOUBLE_EQ(cost.time->deviation_s(plan, Rank(0), part(plan::OpKind::backward_input), 1), .6);
  EXPECT_DOUBLE_EQ(cost.time->deviation_s(plan, Rank(0), part(plan::OpKind::backward_weight), 1), .8);
}

TEST(SplitCosts, AreSharesByFlopsWhereALayerWasNotMeasured) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = measured(model);
  const Case spec = case_of(split_schedules().front(), 2, 8);
  EXPECT_TRUE(has_split_layers(calibration, model, spec));
  for (auto& [key, timings] : calibration.layers) {
    if (!key.layer.ends_with("+first")) timings.front().split.reset();
  }
  EXPECT_FALSE(has_split_layers(calibration, model, spec));
  EXPECT_TRUE(has_layers(calibration, model, spec));
  const Costs cost = calibrated_costs(calibration, model);
  const plan::Plan plan = test_plan(case_of("model-parallel", 1, 2), 2);
  const double input = cost.time->seconds(plan, Rank(0), part(plan::OpKind::backward_input), 1);
  const double weight = cost.time->seconds(plan, Rank(0), part(plan::OpKind::backward_weight), 1);
  EXPECT_DOUBLE_EQ(input + weight, 30);
  EXPECT_DOUBLE_EQ(weight / 30, Sizes(model).backward_share(plan, part(plan::OpKind::backward_weight)));
}

TEST(SplitTimings, ComeBackFromAFileAndOutliveAMeasurementWithoutThem) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  Calibration read = calibration_from_json(nlohmann::json::parse(to_json(known).dump()));
  ASSERT_EQ(read.layers.size(), known.layers.size());
  for (const auto& [key, timings] : known.layers) EXPECT_EQ(read.layers[key].front().split, timings.front().split);

  Calibration whole = known;
  for (auto& [key, timings] : whole.layers) {
    timings.front().split.reset();
    timings.front().forward_s = 77;
  }
  EXPECT_FALSE(to_json(whole)["launches"][0]["layers"][0]["timings"][0].contains("split"));
  merge(read, whole);
  for (const auto& [key, timings] : read.layers) {
    EXPECT_EQ(timings.front().forward_s, (77 + known.layers.at(key).front().forward_s) / 2);
    EXPECT_EQ(timings.front().split, known.layers.at(key).front().split);
  }
}

TEST(SplitTimings, MustBeWhole) {
  nlohmann::json file = to_json(measured(chain(2)));
  file["launches"][0]["layers"][0]["timings"][0]["split"].erase("weight_s");
  EXPECT_THROW(calibration_from_json(file), Error);
  file["launches"][0]["layers"][0]["timings"][0]["split"]["weight_s"] = -1;
  EXPECT_THROW(calibration_from_json(file), Error);
}

}  // namespace
}  // namespace parabench::analytic
