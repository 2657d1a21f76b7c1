#include "models/spec/nets/tower.h"

#include <gmock/gmock.h>

#include "models/spec/model.h"

namespace parabench::models {
namespace {

TEST(Tower, ParametersAndShapesFollowFromDepthAndChannels) {
  const ModelSpec model{"tower", {3, 32, 32}, 10, tower_layers(4, 16, {3, 32, 32}, 10)};
  const std::int64_t stem = 3 * 16 * 9 + 2 * 16, block = 16 * 16 * 9 + 2 * 16, head = 16 * 10 + 10;
  EXPECT_EQ(parameter_count(model), stem + 4 * block + head);
  const std::vector<TensorSpec> all = boundaries(model);
  ASSERT_EQ(all.size(), 7u);
  for (std::size_t i = 1; i <= 5; ++i) EXPECT_EQ(all[i], (TensorSpec{16, 32, 32}));
  EXPECT_EQ(all.back(), (TensorSpec{10}));
}

TEST(Tower, BlocksAreEqualWork) {
  const std::vector<LayerSpec> layers = tower_layers(4, 16, {3, 32, 32}, 10);
  for (std::size_t i = 2; i <= 4; ++i)
    EXPECT_EQ(signature(layers[i], {16, 32, 32}), signature(layers[1], {16, 32, 32}));
}

}  // namespace
}  // namespace parabench::models
