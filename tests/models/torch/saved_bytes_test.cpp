// The bytes that LayerCost says autograd and a split backward keep, against what they really keep.
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/spec/cost.h"
#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "models/torch/tensor.h"
#include "tests/models/spec/operations.h"
#include "tests/models/torch/network.h"

namespace parabench::models {
namespace {

/// While set, every tensor that autograd saves on this thread is also put here.
thread_local std::vector<torch::Tensor>* recorder = nullptr;

struct RecordingHooks : torch::autograd::SavedVariableHooks {
  void call_pack_hook(const at::Tensor& tensor) override {
    kept_ = tensor;
    recorder->push_back(tensor);
  }
  at::Tensor call_unpack_hook() override { return kept_; }
  at::Tensor kept_;
};

struct RecordingEngine : torch::autograd::Engine {
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return recorder ? std::make_unique<RecordingHooks>() : nullptr;
  }
  static Engine& instance() {
    static auto* engine = new RecordingEngine;  // engines outlive static destruction
    return *engine;
  }
};

enum class Type { fp32, fp64, bf16 };

/// A network's layers from `first` on to before `last`, with so many samples.
struct LayerRun {
  const Network& network;
  std::size_t first, last;
  int samples;

  std::span<const LayerSpec> layers() const { return std::span(network.model.layers).subspan(first, last - first); }
  TensorSpec input() const { return boundaries(network.model)[first]; }
};

torch::Tensor forward(const LayerRun& run, Type type, const modules::ForwardMode& mode) {
  const TensorSpec in = run.input();
  const bool first = run.first == 0;
  const auto element = type == Type::fp64             ? torch::kFloat64
                       : type == Type::bf16 && !first ? torch::kBFloat16
                                                      : torch::kFloat32;
  const bool tokens = in.kind() == ElementKind::int64;
  torch::Tensor x = torch::ones(modules::sizes_of(in, run.samples), tokens ? torch::kInt64 : element);
  x.requires_grad_(!first && !tokens);
  const modules::AutocastGuard autocast(type == Type::bf16, torch::kCPU);
  for (std::size_t i = run.first; i < run.last; ++i)
    x = modules::forward(run.network.model.layers[i], run.network.layers[i], x, mode);
  return x;
}

/// Bytes of the distinct storages that the forward of `run` saved, parameters and running statistics left out.
std::int64_t really_saved(const LayerRun& run, Type type, const modules::ForwardMode& mode = {}) {
  torch::autograd::set_default_engine_stub(RecordingEngine::instance);
  std::set<const void*> owned;
  for (const auto& tensors : {run.network.parameters(), run.network.buffers()})
    for (const torch::Tensor& tensor : tensors) owned.insert(tensor.storage().data());

  std::vector<torch::Tensor> saved;
  recorder = &saved;
  const torch::Tensor y = forward(run, type, mode);
  recorder = nullptr;
  std::map<const void*, std::int64_t> storages;
  for (const torch::Tensor& tensor : saved)
    if (tensor.defined() && !owned.contains(tensor.storage().data()))
      storages[tensor.storage().data()] = static_cast<std::int64_t>(tensor.storage().nbytes());
  std::int64_t bytes = 0;
  for (const auto& [storage, size] : storages) bytes += size;
  return bytes;
}

LayerCost cost_of(const LayerRun& run, Type type) {
  const int element = type == Type::fp64 ? 8 : type == Type::fp32 ? 4 : 2;
  return cost(run.layers(), run.input(), element, run.first == 0);
}

std::int64_t predicted(const LayerRun& run, Type type) {
  const LayerCost total = cost_of(run, type);
  return total.saved_per_sample.value * run.samples + total.saved_per_batch.value;
}

/// While it lives, counts what tensors of this thread allocate and have not freed.
class LiveBytes {
 public:
  std::int64_t value() const { return counter_->bytes; }

 private:
  struct Counter : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override { bytes += size; }
    bool memoryProfilingEnabled() const override { return true; }
    std::int64_t bytes = 0;
  };
  std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

/// Runs the input part of a split backward and lets go of everything but the weight part; then the weight part.
void expect_kept_for_weights(const LayerRun& run, Type type) {
  const LayerCost total = cost_of(run, type);
  const std::int64_t expected = total.saved_weight_per_sample.value * run.samples + total.saved_weight_per_batch.value;
  const LiveBytes live;
  modules::WeightGradients later;
  {
    const torch::Tensor y = forward(run, type, {.deferred = &later});
    y.backward(torch::ones_like(y));
  }
  EXPECT_EQ(live.value(), expected);
  EXPECT_EQ(later.kept_bytes(), expected);
  later.run();
  for (const torch::Tensor& parameter : run.network.parameters()) parameter.mutable_grad().reset();
  EXPECT_EQ(live.value(), 0);
}

/// A batch norm in its two parts.
LayerSpec statistics_layer(int channels) {
  LayerSpec layer = chain("by", {{"conv", Conv2d{channels, channels}}, {"sums", BatchStatistics{channels}}});
  append(layer, {"bn", BatchNormBy{channels}}, {0, 1});
  append(layer, {{"relu", Relu{}}}, 2);
  return layer;
}

/// What the networks below lack.
ModelSpec other_operations() {
  return {
      "operations",
      {4, 12, 12},
      6,
      {chain("conv", {{"conv", Conv2d{4, 6, 3, 1, 1}}}), chain("instance", {{"norm", GroupNorm{6, 6, false}}}),
       chain("leaky", {{"leaky", LeakyRelu{}}}), chain("pad", {{"pad", Pad{1, 0, 1, 0}}}),
       chain("up", {{"up", Upsample{}}}), chain("cat", {{"cat", Concat{}}}), chain("mean", {{"mean", AveragePool{}}}),
       chain("inside", {{"conv", Conv2d{6, 6, 3, 1, 1}}, {"norm", GroupNorm{6, 6, false}}, {"leaky", LeakyRelu{}}}),
       chain("means", {{"means", AdaptiveAveragePool{2}}}), statistics_layer(6),
       chain("drop", {{"conv", Conv2d{6, 6, 1, 1, 0}}, {"drop", Dropout{0.3, true}}}),
       chain("head", {{"gap", GlobalAveragePool{}}})}};
}

/// Group norms before and after products, with weights and without.
ModelSpec group_norms() {
  ModelSpec model{.name = "group norms", .input = {3, 6, 5}, .classes = 8};
  model.layers.push_back(chain("stem", {{"conv", Conv2d{3, 8, 3, 1, 1}}}));
  for (const bool affine : {true, false, true}) {
    model.layers.push_back(chain("norm", {{"norm", GroupNorm{8, 4, affine}}, {"relu", Relu{}}}));
    model.layers.push_back(chain("conv", {{"conv", Conv2d{8, 8}}, {"norm", GroupNorm{8, 2, affine}}}));
  }
  return model;
}

std::vector<ModelSpec> models() {
  return {make_model({"resnet18", {}}, {3, 32, 32}, 10, false),
          make_model({"resnet50", {}}, {3, 40, 40}, 10, false),
          make_model({"resnet18", {}}, {1, 28, 28}, 10, true),
          make_model({"mlp", {{"layers", "9"}, {"hidden", "40"}}}, {3, 8, 8}, 10, true),
          make_model({"vgg11", {}}, {1, 28, 28}, 10, true),
          make_model({"vgg13-bn", {}}, {3, 32, 32}, 10, true),
          make_model({"mobilenetv2", {}}, {3, 64, 64}, 10, false),
          make_model({"mobilenetv2", {}}, {1, 28, 28}, 10, true),
          make_model({"transformer", {{"layers", "5"}, {"hidden", "24"}, {"heads", "3"}, {"sequence", "16"}}},
                     TensorSpec({12}, ElementKind::int64), 20, true),
          group_norms(),
          other_operations()};
}

TEST(SavedBytesModels, HaveEveryOperation) {
  EXPECT_THAT(operations_missing_in(layers_of(models())), testing::IsEmpty());
}

/// On processors ATen keeps the statistics of a norm without weights in bf16, where fp32 is predicted.
bool is_overestimated(const LayerRun& run, Type type) {
  return type == Type::bf16 && std::ranges::any_of(run.layers(), [](const LayerSpec& layer) {
           return std::ranges::any_of(layer.nodes, [](const Node& node) {
             const auto* norm = std::get_if<GroupNorm>(&node.operation);
             return norm && !norm->affine;
           });
         });
}

class SavedBytes : public testing::TestWithParam<Type> {
 protected:
  /// Calls `expect` for every layer by itself, whole networks and pieces of them.
  template <class Expect>
  void for_each_run(Expect expect) {
    for (const ModelSpec& model : models()) {
      const Network network(model, GetParam() == Type::fp64 ? torch::kFloat64 : torch::kFloat32);
      const std::size_t layers = model.layers.size();
      std::vector<LayerRun> runs{
          {network, 0, layers, 3}, {network, 0, 2, 3}, {network, 3, 6, 3}, {network, layers - 2, layers, 3}};
      for (std::size_t i = 0; i < layers; ++i)
        for (const int samples : {2, 5}) runs.push_back({network, i, i + 1, samples});
      for (const LayerRun& run : runs) {
        if (is_overestimated(run, GetParam())) continue;
        SCOPED_TRACE(model.name + " layers " + std::to_string(run.first) + " to " + std::to_string(run.last) +
                     ", samples " + std::to_string(run.samples));
        expect(run);
      }
    }
  }
};

TEST_P(SavedBytes, AreWhatAutogradKeeps) {
  for_each_run([](const LayerRun& run) { EXPECT_EQ(predicted(run, GetParam()), really_saved(run, GetParam())); });
}

TEST_P(SavedBytes, AreTheSameForASplitBackward) {
  for_each_run([](const LayerRun& run) {
    modules::WeightGradients later;
    EXPECT_EQ(predicted(run, GetParam()), really_saved(run, GetParam(), {.deferred = &later}));
  });
}

TEST_P(SavedBytes, OfTheWeightPartAreAllThatLivesAfterTheInputPart) {
  for_each_run([](const LayerRun& run) { expect_kept_for_weights(run, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(Types, SavedBytes, testing::Values(Type::fp32, Type::fp64, Type::bf16), [](const auto& test) {
  return std::string(test.param == Type::fp32 ? "fp32" : test.param == Type::fp64 ? "fp64" : "bf16");
});

TEST(SavedBytes, TheLossKeepsItsLogSoftmaxInSinglePrecisionUnderAutocast) {
  torch::autograd::set_default_engine_stub(RecordingEngine::instance);
  const torch::Tensor labels = torch::zeros({3, 5}, torch::kInt64);
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const torch::Tensor outputs = torch::ones({3, 5, 40}, type).requires_grad_();
    std::vector<torch::Tensor> saved;
    {
      const modules::AutocastGuard autocast(type == torch::kBFloat16, torch::kCPU);
      recorder = &saved;
      modules::cross_entropy(outputs, labels, 3);
      recorder = nullptr;
    }
    std::map<const void*, std::int64_t> storages;
    for (const torch::Tensor& tensor : saved)
      if (tensor.defined() && tensor.is_floating_point())
        storages[tensor.storage().data()] = static_cast<std::int64_t>(tensor.storage().nbytes());
    std::int64_t bytes = 0;
    for (const auto& [storage, size] : storages) bytes += size > 8 ? size : 0;  // the sum of weights is a scalar
    EXPECT_EQ(bytes, 3 * 5 * 40 * 4) << type;
  }
}

}  // namespace
}  // namespace parabench::models
