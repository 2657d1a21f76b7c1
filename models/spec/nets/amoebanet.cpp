#include "models/spec/nets/amoebanet.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "base/error.h"

namespace parabench::models {
namespace {

enum class Branch { none, conv_1x1, conv_3x3, conv_1x7_7x1, average_3x3, max_2x2 };
struct Choice {
  int state;
  Branch branch;
};
/// Two choices are added, five times; each sum is a new state, after the cell's two inputs.
struct CellKind {
  bool reduces;
  std::array<Choice, 10> choices;
  std::span<const int> joined;  ///< states side by side in the output
};

constexpr int joined_normal[] = {0, 3, 4, 6}, joined_reduction[] = {4, 5, 6};
using enum Branch;
const CellKind normal{false,
                      {{{1, conv_1x1},
                        {1, average_3x3},
                        {1, none},
                        {0, conv_1x7_7x1},
                        {0, conv_1x1},
                        {0, conv_1x7_7x1},
                        {2, average_3x3},
                        {2, none},
                        {1, average_3x3},
                        {5, conv_1x1}}},
                      joined_normal};
const CellKind reduction{true,
                         {{{0, max_2x2},
                           {0, average_3x3},
                           {2, none},
                           {1, conv_3x3},
                           {2, conv_1x7_7x1},
                           {2, average_3x3},
                           {3, none},
                           {1, max_2x2},
                           {2, average_3x3},
                           {3, conv_1x1}}},
                         joined_reduction};

/// Builds one cell of `channels` channels.
class CellMaker {
 public:
  CellMaker(std::string name, int channels) : layer_{.name = std::move(name)}, channels_(channels) {}

  LayerSpec make(const CellKind& kind, const TensorSpec& last, const TensorSpec& before_last, bool after_reduction) {
    layer_.takes = {{layer_.name + ".before_last", before_last}};
    const int in = static_cast<int>(last[0]), in_before = static_cast<int>(before_last[0]);
    std::vector<int> states{convolutions("last", layer_input, {{in, channels_}})};
    int other = taken_value(0);
    if (after_reduction)
      other = factorised("before_last", other, in_before);
    else if (in_before != channels_)
      other = convolutions("before_last", other, {{in_before, channels_}});
    states.push_back(other);
    for (std::size_t i = 0; i < kind.choices.size(); i += 2) {
      std::vector<int> summands;
      for (const std::size_t at : {i, i + 1}) {
        const auto [state, branch] = kind.choices[at];
        const int stride = kind.reduces && state < 2 ? 2 : 1;
        summands.push_back(compute(fmt::format("branch.{}", at), branch, states[state], stride));
      }
      states.push_back(append(layer_, {name(fmt::format("sum.{}", i / 2)), Add{}}, summands));
    }
    std::vector<int> joined;
    for (const int state : kind.joined) joined.push_back(states[state]);
    append(layer_, {name("concat"), Concat{}}, joined);
    return std::move(layer_);
  }

 private:
  std::string name(const std::string& part) const { return layer_.name + "." + part; }

  /// ReLU, convolution and batch norm, for each of them.
  int convolutions(const std::string& part, int from, const std::vector<Conv2d>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string prefix = name(fmt::format("{}.{}", part, i));
      from = append(layer_,
                    {{prefix + ".relu", Relu{}}, {prefix + ".conv", all[i]}, {prefix + ".bn", BatchNorm{all[i].out}}},
                    from);
    }
    return from;
  }

  /// Halves the map without losing a pixel: every second one, and every second one of the map shifted by one.
  int factorised(const std::string& part, int from, int in) {
    const std::string prefix = name(part);
    const int x = append(layer_, {{prefix + ".relu", Relu{}}}, from);
    const Conv2d half{in, channels_ / 2, 1, 2};
    const int even = append(layer_, {{prefix + ".conv_1", half}}, x);
    const int odd = append(layer_, {{prefix + ".shift", Pad{-1, -1, 1, 1}}, {prefix + ".conv_2", half}}, x);
    return append(layer_, {{prefix + ".bn", BatchNorm{channels_}}},
                  append(layer_, {prefix + ".concat", Concat{}}, {even, odd}));
  }

  int compute(const std::string& part, Branch branch, int from, int stride) {
    const int c = channels_, narrow = channels_ / 4;
    switch (branch) {
      case none: return stride == 1 ? from : factorised(part, from, c);
      case conv_1x1: return convolutions(part, from, {{c, c, 1, stride}});
      case conv_3x3: return convolutions(part, from, {{c, narrow}, {narrow, narrow, 3, stride, 1}, {narrow, c}});
      case conv_1x7_7x1:
        return convolutions(
            part, from,
            {{c, narrow}, {narrow, narrow, {1, 7}, stride, {0, 3}}, {narrow, narrow, {7, 1}, 1, {3, 0}}, {narrow, c}});
      case average_3x3: return append(layer_, {{name(part), AveragePool{3, stride, 1}}}, from);
      case max_2x2: return append(layer_, {{name(part), MaxPool{2, stride, 0}}}, from);
    }
    return from;
  }

  LayerSpec layer_;
  int channels_;
};

}  // namespace

std::vector<LayerSpec> amoebanet_d_layers(const AmoebaNetSize& size, const TensorSpec& input, int classes) {
  if (size.layers % 3 != 0)
    throw usage_error("layers of amoebanetd", std::to_string(size.layers), "a multiple of 3",
                      fmt::format("try layers={}", size.layers / 3 * 3));
  if (size.filters % 16 != 0)
    throw usage_error("filters of amoebanetd", std::to_string(size.filters),
                      "a multiple of 16, which narrow branches divide by",
                      fmt::format("try filters={}", size.filters / 16 * 16));
  int channels = size.filters / 4;
  std::vector<LayerSpec> layers{chain("stem1", {{"stem1.relu", Relu{}},
                                                {"stem1.conv", Conv2d{static_cast<int>(input[0]), channels, 3, 2, 1}},
                                                {"stem1.bn", BatchNorm{channels}}})};
  TensorSpec last = output(layers[0], input), before_last = last;
  bool after_reduction = false;
  layers[0].makes = {{"stem2.before_last", static_cast<int>(layers[0].nodes.size()) - 1}};
  const auto cell = [&](const std::string& name, const CellKind& kind) {
    if (kind.reduces) channels *= 2;
    if (layers.size() > 1) layers.back().makes = {{name + ".before_last", layer_input}};
    layers.push_back(CellMaker(name, channels).make(kind, last, before_last, after_reduction));
    before_last = last;
    last = output(layers.back(), last);
    after_reduction = kind.reduces;
  };
  cell("stem2", reduction);
  cell("stem3", reduction);
  for (int group = 0; group < 3; ++group) {
    if (group > 0) cell(fmt::format("reduction{}", group), reduction);
    for (int index = 0; index < size.layers / 3; ++index) cell(fmt::format("cell{}.{}", group + 1, index), normal);
  }
  layers.push_back(
      chain("classifier", {{"avgpool", GlobalAveragePool{}}, {"fc", Linear{static_cast<int>(last[0]), classes}}}));
  return layers;
}

}  // namespace parabench::models
