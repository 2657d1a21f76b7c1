// Layers cut at their batch norms.
#include "models/spec/synchronised.h"

#include <gmock/gmock.h>

#include <set>
#include <variant>

#include "base/error.h"
#include "models/spec/cost.h"
#include "models/spec/nets/nets.h"
#include "models/spec/skips.h"

namespace parabench::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

ModelSpec net(const std::string& name) { return make_model({name, {}}, {3, 64, 64}, 10, /*small_stem=*/true); }

template <class Op>
int count(const ModelSpec& model) {
  int found = 0;
  for (const LayerSpec& layer : model.layers)
    for (const Node& node : layer.nodes) found += std::holds_alternative<Op>(node.operation);
  return found;
}

/// A block whose shortcut crosses two cuts and whose own skip is made behind the first.
ModelSpec small() {
  LayerSpec layer = chain("b", {{"b.conv1", Conv2d{3, 4, 3, 1, 1}},
                                {"b.bn1", BatchNorm{4}},
                                {"b.relu", Relu{}},
                                {"b.conv2", Conv2d{4, 4, 3, 1, 1}},
                                {"b.bn2", BatchNorm{4}}});
  append(layer, {"b.add", Add{}}, {4, 0});
  layer.makes.push_back({"skip", 2});
  LayerSpec head = chain("h", {{"h.gap", GlobalAveragePool{}}});
  head.takes.push_back({"skip", {4, 5, 5}});
  append(head, {"h.add", Add{}}, {0, append(head, {"h.gap2", GlobalAveragePool{}}, {taken_value(0)})});
  return {"small", {3, 5, 5}, 4, {layer, head}};
}

class Networks : public testing::TestWithParam<const char*> {};

TEST_P(Networks, KeepTensorsInOrderAndEndPartsWithStatistics) {
  const ModelSpec model = net(GetParam()), cut = synchronised(model);
  const int norms = count<BatchNorm>(model);
  ASSERT_GT(norms, 0);
  EXPECT_EQ(count<BatchNorm>(cut), 0);
  EXPECT_EQ(count<BatchNormBy>(cut), norms);
  EXPECT_THAT(cut.layers, SizeIs(model.layers.size() + norms));

  std::vector<ParameterSpec> before, after, statistics_before, statistics_after;
  const auto collect = [](const ModelSpec& of, auto specs, std::vector<ParameterSpec>& into) {
    for (const LayerSpec& layer : of.layers)
      for (const ParameterSpec& tensor : specs(layer)) into.push_back(tensor);
  };
  collect(
      model, [](const LayerSpec& layer) { return parameters(layer); }, before);
  collect(
      cut, [](const LayerSpec& layer) { return parameters(layer); }, after);
  collect(
      model, [](const LayerSpec& layer) { return buffers(layer); }, statistics_before);
  collect(
      cut, [](const LayerSpec& layer) { return buffers(layer); }, statistics_after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(statistics_before, statistics_after);

  int ends = 0;
  const std::vector<TensorSpec> all = boundaries(cut);
  for (std::size_t l = 0; l < cut.layers.size(); ++l) {
    const bool makes = std::holds_alternative<BatchStatistics>(cut.layers[l].nodes.back().operation);
    EXPECT_EQ(all[l + 1].kind() == ElementKind::sums, makes);
    ends += makes;
    EXPECT_TRUE(!makes || std::holds_alternative<BatchNormBy>(cut.layers[l + 1].nodes.front().operation));
  }
  EXPECT_EQ(ends, norms);
  EXPECT_EQ(all.back(), boundaries(model).back());
  EXPECT_NO_THROW(skips(cut));
}

TEST_P(Networks, CostWhatTheyDidButForTheStatistics) {
  const ModelSpec model = net(GetParam()), cut = synchronised(model);
  const LayerCost whole = cost(model.layers, model.input, sizeof(float), true);
  const LayerCost parts = cost(cut.layers, cut.input, sizeof(float), true);
  double statistics = 0;
  for (const LayerSpec& layer : cut.layers) {
    const Node& first = layer.nodes.front();
    if (std::holds_alternative<BatchNormBy>(first.operation))
      statistics += static_cast<double>(layer.takes[-2 - first.inputs.front()].tensor.elements());
  }
  EXPECT_DOUBLE_EQ(parts.forward_per_sample.value, whole.forward_per_sample.value + statistics);
  EXPECT_EQ(parts.backward_weight_per_sample, whole.backward_weight_per_sample);
}

INSTANTIATE_TEST_SUITE_P(WithBatchNorms, Networks,
                         testing::Values("resnet18", "resnet50", "resnet1001", "vgg11-bn", "mobilenetv2", "amoebanetd"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Synchronised, ValuesThatCrossACutSkipIt) {
  const ModelSpec cut = synchronised(small());
  ASSERT_THAT(cut.layers, SizeIs(4));
  const auto [first, middle, last, head] = std::tuple(cut.layers[0], cut.layers[1], cut.layers[2], cut.layers[3]);
  EXPECT_THAT(first.makes, ElementsAre(MadePort{"b.conv1>1", 0}, MadePort{"b.conv1>2", 0}));
  EXPECT_THAT(middle.takes, ElementsAre(TakenPort{"b.conv1>1", {4, 5, 5}}));
  EXPECT_THAT(middle.nodes.front().inputs, ElementsAre(taken_value(0), layer_input));
  EXPECT_THAT(middle.makes, ElementsAre(MadePort{"b.conv2>2", 2}, MadePort{"skip", 1}));
  EXPECT_THAT(last.takes, ElementsAre(TakenPort{"b.conv2>2", {4, 5, 5}}, TakenPort{"b.conv1>2", {4, 5, 5}}));
  EXPECT_EQ(head, small().layers[1]);
  EXPECT_EQ(boundaries(cut)[1], statistics_tensor(4));
}

TEST(Synchronised, ALayerThatBeginsWithANormHandsItsInputOn) {
  ModelSpec model = small();
  model.layers = {chain("c", {{"c.conv", Conv2d{3, 4}}}),
                  chain("l", {{"l.bn", BatchNorm{4}}, {"l.relu", Relu{}}, {"l.conv", Conv2d{4, 2}}})};
  const ModelSpec cut = synchronised(model);
  ASSERT_THAT(cut.layers, SizeIs(3));
  EXPECT_THAT(cut.layers[1].nodes, SizeIs(1));
  EXPECT_THAT(cut.layers[1].makes, ElementsAre(MadePort{"l.input>1", layer_input}));
}

TEST(Synchronised, LeavesLayersWithoutBatchNormsAlone) {
  const ModelSpec model = make_model({"mlp", {}}, {3, 8, 8}, 10, true);
  EXPECT_EQ(synchronised(model).layers, model.layers);
}

TEST(Synchronised, StatisticsAreOfAMicroBatch) {
  const TensorSpec statistics = statistics_tensor(7);
  EXPECT_EQ(to_text(statistics), "15:sums");
  for (const int samples : {1, 32}) EXPECT_EQ(statistics.bytes(samples, 4), 15 * 8);
  EXPECT_EQ((TensorSpec{3, 2, 2}).bytes(5, 4), 12 * 5 * 4);
  EXPECT_EQ((TensorSpec{{6}, ElementKind::int64}).bytes(5, 4), 6 * 5 * 8);
  LayerSpec layer = chain("l", {{"l.norm", BatchNormBy{7}}});
  layer.takes = {{"x", {7, 4, 4}}};
  layer.nodes[0].inputs = {taken_value(0), layer_input};
  EXPECT_EQ(output(layer, statistics), (TensorSpec{7, 4, 4}));
  EXPECT_THAT([&] { output(layer, statistics_tensor(6)); },
              ThrowsMessage<Error>(HasSubstr("statistics of 7 channels")));
}

}  // namespace
}  // namespace parabench::models
