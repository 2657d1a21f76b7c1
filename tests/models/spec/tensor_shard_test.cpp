#include "models/spec/tensor_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/spec/layer_cost.h"

namespace parabench::models {
namespace {

constexpr int hidden = 64, heads = 8, sequence = 32;

ModelSpec transformer() {
  return make_model({"transformer", {{"layers", "2"}, {"hidden", "64"}, {"heads", "8"}, {"sequence", "32"}}},
                    TensorSpec({sequence}, ElementKind::int64), 100, false);
}

TEST(TensorShard, HasItsPartOfEachPairOfProductsAndTheRestWhole) {
  const ModelSpec model = transformer();
  for (const int ranks : {1, 2, 4, 8}) {
    const ModelSpec shard = tensor_shard(model, ranks);
    ASSERT_EQ(shard.layers.size(), model.layers.size());
    EXPECT_EQ(boundaries(shard), boundaries(model)) << "what layers hand on is whole";
    EXPECT_EQ(shard.layers.front(), model.layers.front());
    EXPECT_EQ(shard.layers.back(), model.layers.back());
    // 12 h^2 weights and the biases of the products by columns are divided, biases by rows and two norms are not.
    EXPECT_EQ(parameter_count(shard.layers[1]), (12 * hidden * hidden + 7 * hidden) / ranks + 6 * hidden);
    EXPECT_EQ(tensor_sums(shard.layers[1]), 2);
    EXPECT_EQ(tensor_sums(shard.layers.front()), 0);
  }
}

// Korthikanti et al. 2022, equation 2, in fp32 elements and without dropout: of sbh (10 + 24 / t + 5 a s / (h t)) bytes
// in 16 bits, what is not divided is the same on every rank.
TEST(TensorShard, ComputesItsPartOfTheFlops) {
  const ModelSpec model = transformer();
  const double whole = training_flops(model).value;
  const double half = training_flops(tensor_shard(model, 2)).value,
               quarter = training_flops(tensor_shard(model, 4)).value;
  // a + b, a + b / 2, a + b / 4
  EXPECT_NEAR(whole - half, 2 * (half - quarter), 1e-9 * whole);
  // Products with weights, and of scores with values: 3 times 24 s h^2 + 4 s^2 h a block.
  const double products = 2 * 3 * (24. * sequence * hidden * hidden + 4. * sequence * sequence * hidden);
  EXPECT_NEAR(2 * (whole - half), products, 0.05 * products);
}

TEST(TensorShard, RefusesWhatItCannotDivide) {
  const auto refusal = [](const ModelSpec& model, int ranks) -> std::string {
    try {
      tensor_shard(model, ranks);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(transformer(), 3), testing::HasSubstr("tp: got '3', expected a divisor of the heads"));
  EXPECT_THAT(refusal(transformer(), 16), testing::HasSubstr("a divisor of the heads of transformer["));
  const ModelSpec mlp = make_model({"mlp", {{"layers", "4"}}}, TensorSpec({3, 32, 32}), 10, true);
  EXPECT_THAT(refusal(mlp, 2), testing::HasSubstr("tp: got '2', expected 1 for mlp"));
}

}  // namespace
}  // namespace parabench::models
