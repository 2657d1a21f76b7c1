#include "analytic/closed_forms/transformer_step.h"

#include <gtest/gtest.h>

#include <cmath>

namespace parabench::analytic {
namespace {

const TransformerRun run{.model = {.layers = 8, .hidden = 4, .heads = 2, .sequence = 3, .vocabulary = 10},
                         .batch = 24,
                         .micro_batch = 2,
                         .tensor = 1,
                         .pipeline = 4,
                         .data = 3};

TEST(TransformerStep, FillsAPipelineWhoseLastStageHasTheHead) {
  const StepCosts costs{.head_flops_per_s = 6.0 * 24 * 10 / 5, .hop = {1, 48}, .data = {.5, 1e300}};
  // m = 4 micro-batches, a stage of two layers of 3 s, the head 5 s, a hop of 1 s and 48 bytes there and back 4 s.
  EXPECT_DOUBLE_EQ(transformer_step(run, 3, costs), 3 * (6 + 5 + 4) + 3 * (6 + 4) + 6 + 5 + .5 * std::log2(3));
}

TEST(TransformerStep, SumsAndUpdatesWhatARankHolds) {
  const double parameters = (12.0 * 8 * 16 + 40) / 4;
  StepCosts costs{.head_flops_per_s = 1e300, .hop = {0, 1e300}, .data = {0, 2}, .fixed_s = 7};
  EXPECT_DOUBLE_EQ(transformer_step(run, 0, costs), 2 * (2.0 / 3) * (2 * parameters) / 2 + 7);
  costs.data.bytes_per_s = 1e300;
  costs.update_s_per_parameter = .01;
  EXPECT_NEAR(transformer_step(run, 0, costs), .01 * parameters + 7, 1e-9);
}

TEST(TransformerStep, OneStageHasNoHops) {
  TransformerRun one = run;
  one.pipeline = 1;
  const StepCosts costs{.head_flops_per_s = 1e300, .hop = {1, 1}, .data = {0, 1e300}};
  EXPECT_NEAR(transformer_step(one, 3, costs), 4 * 24, 1e-9);
}

TEST(TransformerLayer, TakesItsArithmeticItsTrafficOrItsLaunches) {
  LayerCosts costs{.flops_per_s = 1, .tensor = {0, 1e300}};
  const double forward = 24.0 * 2 * 3 * 16 + 4.0 * 2 * 9 * 4;
  EXPECT_NEAR(transformer_layer(run, costs), 4 * forward, 1e-6);
  costs = {.flops_per_s = 1e300, .k1 = 1e12, .k2 = 3e12, .k3 = 5e12, .tensor = {0, 1e300}};
  EXPECT_NEAR(transformer_layer(run, costs), 2 * (24 * 4 + 2 * 9 * 2 * 5) / 1.6, 1e-9);
  costs.launch_s = 1e6;
  EXPECT_NEAR(transformer_layer(run, costs), 1e6, 1e-3);
  TransformerRun divided = run;
  divided.tensor = 4;
  costs = {.flops_per_s = 1e300, .launch_s = 1, .tensor = {.25, 72}};
  EXPECT_NEAR(transformer_layer(divided, costs), 1 + 6 * (.5 + 1.5 * 48 / 72), 1e-9);
}

/// Whose sizes are multiples of a tile's, 256 x 128.
const TransformerRun tiled{.model = {.layers = 1, .hidden = 256, .heads = 4, .sequence = 256},
                           .batch = 1,
                           .micro_batch = 1,
                           .tensor = 1,
                           .pipeline = 1,
                           .data = 1};

TEST(TransformerLayerInWaves, OneProcessorIsAlwaysFull) {
  const WaveCosts costs{.flops_per_s = 1, .tensor = {0, 1e300}, .processors = 1};
  const double flops = 4 * layer_forward_flops(tiled.model, 1);
  EXPECT_NEAR(transformer_layer_in_waves(tiled, costs) / flops, 1, 1e-12);
}

TEST(TransformerLayerInWaves, ALastWaveOfOneTileTakesAsLongAsAFullOne) {
  WaveCosts costs{.flops_per_s = 1, .tensor = {0, 1e300}, .processors = 8};
  const double attention = 16.0 * 256 * 256 * 256, wave = 8 * 256 * 128 * 2;
  // 256 x 256 outputs are two tiles, 256 x 768 six and 256 x 1024 eight: all of them one wave.
  const double inner = 2 * 256 + 768 + 256 + 4 * 256 + 2 * 256 + 1024 + 256 + 2 * 1024 + 256 + 256;
  EXPECT_NEAR(transformer_layer_in_waves(tiled, costs) / (wave * inner + attention), 1, 1e-12);
  // With seven processors eight tiles are two waves: of the perceptron's first map the forwards and the gradient of the
  // weights, of its second one both gradients.
  costs.processors = 7;
  const double wide = 2 * 256 + 256 + 256 + 256;
  const double seven = 7.0 / 8 * wave;
  EXPECT_NEAR(transformer_layer_in_waves(tiled, costs) / (seven * (inner + wide) + attention), 1, 1e-12);
}

TEST(TransformerLayerInWaves, LaunchesHideKernelsAndSumsAndGrowWhereSoftmaxIsNotFused) {
  WaveCosts costs{.flops_per_s = 1e300, .launch_s = 3, .unfused_s = 2, .tensor = {1e-3, 1e300}};
  TransformerRun run_in_two = tiled;
  run_in_two.tensor = 2;
  EXPECT_NEAR(transformer_layer_in_waves(tiled, costs), 3, 1e-6) << "four heads";
  EXPECT_NEAR(transformer_layer_in_waves(run_in_two, costs), 5, 1e-6) << "two heads a rank";
  costs.launch_s = costs.unfused_s = 0;
  costs.score_bytes = 0.8e12 / (4 * 256 * 256);
  EXPECT_NEAR(transformer_layer_in_waves(tiled, costs), 1, 1e-9);
  costs = {.flops_per_s = 1e300, .tensor = {.25, 2.0 * 256 * 256}};
  // A ring of two takes two steps, which move 2 b s h bytes once.
  EXPECT_NEAR(transformer_layer_in_waves(run_in_two, costs), 6 * (2 * .25 + 1), 1e-9);
}

TEST(TransformerStep, AnOutputLayerMovesItsLogits) {
  StepCosts costs{.head_flops_per_s = 1e300, .hop = {0, 1e300}, .data = {0, 1e300}};
  const double without = transformer_step(run, 3, costs);
  costs.logit_bytes = 1.6e12 / (2 * 3 * 10);
  EXPECT_NEAR(transformer_step(run, 3, costs) - without, 4, 1e-9) << "one second a micro-batch";
}

}  // namespace
}  // namespace parabench::analytic
