#include "models/spec/model_json.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/spec/nets/nets.h"

namespace parabench::models {
namespace {

using nlohmann::json;

std::vector<ModelSpec> every_model() {
  std::vector<ModelSpec> all;
  for (const Net& net : nets()) {
    const TensorSpec input =
        net.samples == Samples::tokens ? TensorSpec({64}, ElementKind::int64) : TensorSpec{3, 64, 64};
    all.push_back(make_model({net.name, {}}, input, 10, true));
  }
  return all;
}

TEST(ModelJson, HasEveryLayerNodeAndTensor) {
  for (const ModelSpec& model : every_model()) {
    const json document = to_json(model);
    ASSERT_EQ(document["layers"].size(), model.layers.size()) << model.name;
    EXPECT_EQ(document["tie"].is_null(), !model.tie) << model.name;
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      const json& layer = document["layers"][l];
      const std::vector<ParameterSpec> tensors = parameters(model.layers[l]);
      ASSERT_EQ(layer["nodes"].size(), model.layers[l].nodes.size());
      ASSERT_EQ(layer["parameters"].size(), tensors.size());
      for (std::size_t p = 0; p < tensors.size(); ++p) {
        EXPECT_EQ(layer["parameters"][p], json({{"name", tensors[p].name}, {"shape", tensors[p].shape}}));
      }
      for (std::size_t n = 0; n < model.layers[l].nodes.size(); ++n)
        EXPECT_EQ(layer["nodes"][n]["inputs"], json(model.layers[l].nodes[n].inputs));
      EXPECT_EQ(layer["makes"].size(), model.layers[l].makes.size());
      EXPECT_EQ(layer["takes"].size(), model.layers[l].takes.size());
    }
  }
}

/// Whoever builds the network by it must be able to tell any two operations apart. Initial values, which travel beside
/// it, are no part of it.
TEST(ModelJson, TellsOperationsApartAsFarAsTheyComputeOtherThings) {
  std::map<std::string, std::set<std::string>> texts;
  for (const ModelSpec& model : every_model()) {
    const json document = to_json(model);
    for (std::size_t l = 0; l < model.layers.size(); ++l)
      for (std::size_t n = 0; n < model.layers[l].nodes.size(); ++n) {
        const std::string operation = document["layers"][l]["nodes"][n]["operation"].dump();
        texts[operation].insert(to_text(model.layers[l].nodes[n].operation));
      }
  }
  for (const auto& [operation, all] : texts) EXPECT_EQ(all.size(), 1u) << operation;
}

}  // namespace
}  // namespace parabench::models
