#include "analytic/closed_forms/transformer.h"

#include <gtest/gtest.h>

#include <array>

#include "analytic/closed_forms/model_states.h"

namespace parabench::analytic {
namespace {

using R = TransformerRecompute;

constexpr double gib = 1024.0 * 1024 * 1024;

// Table 1 of Megatron-LM's SC'21 paper: TFLOP/s per GPU, and the seconds of an iteration that they mean by the formula.
struct Row {
  double hidden, layers, gpus, batch, tflops, seconds;
};
constexpr std::array table_1 = {
    Row{2304, 24, 32, 512, 137, 3.53},       Row{3072, 30, 64, 512, 138, 3.70},
    Row{4096, 36, 128, 512, 142, 3.70},      Row{6144, 40, 256, 1024, 135, 9.40},
    Row{8192, 48, 512, 1536, 138, 14.45},    Row{10240, 60, 1024, 1792, 140, 16.06},
    Row{12288, 80, 1536, 2304, 148, 24.82},  Row{16384, 96, 1920, 2160, 155, 37.61},
    Row{20480, 105, 2520, 2520, 163, 54.08}, Row{25600, 128, 3072, 3072, 163, 102.63},
};

TEST(IterationFlops, GiveTheSecondsOfTable1) {
  for (const Row& row : table_1) {
    const Transformer model{.layers = row.layers, .hidden = row.hidden, .sequence = 2048, .vocabulary = 51200};
    const double flops = iteration_flops(model, row.batch, R::full);
    EXPECT_NEAR(flops / (row.gpus * row.tflops * 1e12), row.seconds, .005) << row.hidden;
    const double h = row.hidden, s = 2048, v = 51200;
    const double unit = row.batch * s * row.layers * h * h;
    EXPECT_NEAR(flops / (96 * unit * (1 + s / (6 * h) + v / (16 * row.layers * h))), 1, 1e-12);
    EXPECT_NEAR(
        iteration_flops(model, row.batch, R::none) / (72 * unit * (1 + s / (6 * h) + v / (12 * row.layers * h))), 1,
        1e-12);
  }
}

TEST(IterationFlops, SelectiveRecomputationRepeatsTheCoreOfTheAttention) {
  const Transformer model{.layers = 3, .hidden = 8, .heads = 2, .sequence = 16, .vocabulary = 100};
  const double core = 4 * 5.0 * 16 * 16 * 8;
  EXPECT_DOUBLE_EQ(layer_forward_flops(model, 5), 24 * 5.0 * 16 * 8 * 8 + core);
  EXPECT_DOUBLE_EQ(iteration_flops(model, 5, R::selective) - iteration_flops(model, 5, R::none), 3 * core);
}

// Korthikanti et al.: GiB of the first stage's GPUs.
struct Memory {
  Transformer model;
  double micro_batch, stages, chunks, states, none, both;
  std::array<double, 4> percents;  ///< sequence parallel, selective, both, full; of none
};
const std::array published = {
    Memory{{48, 6144, 64, 2048}, 4, 1, 1, 45.5625, 59.25, 9.5625, {66.84, 49.42, 16.18, 7.64}},
    Memory{{96, 12288, 96, 2048}, 1, 8, 3, 45.5625, 66.84, 12.35, {62.04, 56.53, 18.49, 8.71}},
    Memory{{105, 20480, 128, 2048}, 1, 35, 3, 31.64, 114.02, 23.08, {58.31, 62.04, 20.27, 9.42}},
    Memory{{128, 25600, 160, 2048}, 1, 64, 1, 32.96, 131.25, 26.56, {58.31, 62.04, 20.27, 9.42}},
};

TEST(ActivationBytes, AreThePublishedOnes) {
  for (const Memory& m : published) {
    const auto layer = [&](bool sequence_parallel, R recompute) {
      return layer_activation_bytes(m.model, m.micro_batch, 8, sequence_parallel, recompute);
    };
    const double layers = m.model.layers * interleaved_activations(m.stages, m.chunks);
    const double none = layer(false, R::none);
    EXPECT_NEAR(layers * none / gib, m.none, .0051);
    EXPECT_NEAR(layers * layer(true, R::selective) / gib, m.both, .0051);
    const std::array shares = {layer(true, R::none), layer(false, R::selective), layer(true, R::selective),
                               layer(false, R::full)};
    for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(100 * shares[i] / none, m.percents[i], .15) << i;
  }
}

TEST(ModelStates, OfMegatronAreThePublishedOnes) {
  for (const Memory& m : published) {
    const double parameters = layer_parameters(m.model) / (8 * m.stages);
    EXPECT_NEAR(model_state_bytes(parameters, Training::megatron_adam, Sharded::nothing, 1) / gib, m.states, .0051);
  }
}

// 7.5e9 parameters on 64 ranks, the example of ZeRO's paper.
TEST(ModelStates, AreDividedStageByStage) {
  const auto gigabytes = [](Training training, Sharded sharded) {
    return model_state_bytes(7.5e9, training, sharded, 64) / 1e9;
  };
  EXPECT_NEAR(gigabytes(Training::mixed_adam, Sharded::nothing), 120, 1e-9);
  EXPECT_NEAR(gigabytes(Training::mixed_adam, Sharded::optimizer), 31.4, .05);
  EXPECT_NEAR(gigabytes(Training::mixed_adam, Sharded::gradients), 16.6, .05);
  EXPECT_NEAR(gigabytes(Training::mixed_adam, Sharded::parameters), 1.88, .005);
  EXPECT_NEAR(gigabytes(Training::fp32_adam, Sharded::nothing), 120, 1e-9);
  EXPECT_NEAR(gigabytes(Training::fp32_adam, Sharded::optimizer), 7.5 * (8 + 8 / 64.0), 1e-9);
  EXPECT_NEAR(gigabytes(Training::fp32_adam, Sharded::gradients), 7.5 * (4 + 12 / 64.0), 1e-9);
  EXPECT_NEAR(gigabytes(Training::fp32_adam, Sharded::parameters), 7.5 * 16 / 64.0, 1e-9);
  EXPECT_NEAR(gigabytes(Training::fp32_sgd, Sharded::nothing), 60, 1e-9);
  EXPECT_NEAR(gigabytes(Training::fp32_momentum, Sharded::nothing), 90, 1e-9);
}

}  // namespace
}  // namespace parabench::analytic
