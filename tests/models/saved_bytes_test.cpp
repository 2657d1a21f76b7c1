// The bytes that LayerCost says autograd keeps, against what it really keeps.
#include <gmock/gmock.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/types.h>

#include <map>
#include <set>

#include "models/torch/autocast.h"
#include "tests/models/network.h"

namespace parabench {
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

/// Bytes of the distinct storages that the forward of `layers` saved, parameters and running statistics left out.
std::int64_t really_saved(const ModelSpec& model, std::size_t first, std::size_t last, int samples, Type type) {
  torch::autograd::set_default_engine_stub(RecordingEngine::instance);
  const Shape in = shapes(model)[first];
  Network network(model, type == Type::fp64 ? torch::kFloat64 : torch::kFloat32);
  torch::Tensor x =
      torch::ones({samples, in.channels, in.height, in.width}, type == Type::fp64                ? torch::kFloat64
                                                               : type == Type::bf16 && first > 0 ? torch::kBFloat16
                                                                                                 : torch::kFloat32);
  x.requires_grad_(first > 0);

  std::set<const void*> owned;
  for (const auto& tensors : {network.parameters(), network.buffers()})
    for (const torch::Tensor& tensor : tensors) owned.insert(tensor.storage().data());

  std::vector<torch::Tensor> saved;
  torch::Tensor y = x;
  {
    const AutocastGuard autocast(type == Type::bf16, torch::kCPU);
    recorder = &saved;
    for (std::size_t i = first; i < last; ++i) y = forward(model.layers[i], network.layers[i], y);
    recorder = nullptr;
  }
  std::map<const void*, std::int64_t> storages;
  for (const torch::Tensor& tensor : saved)
    if (tensor.defined() && !owned.contains(tensor.storage().data()))
      storages[tensor.storage().data()] = static_cast<std::int64_t>(tensor.storage().nbytes());
  std::int64_t bytes = 0;
  for (const auto& [storage, size] : storages) bytes += size;
  return bytes;
}

std::int64_t predicted(const ModelSpec& model, std::size_t first, std::size_t last, int samples, Type type) {
  const int element = type == Type::fp64 ? 8 : type == Type::fp32 ? 4 : 2;
  const LayerCost total =
      cost(std::span(model.layers).subspan(first, last - first), shapes(model)[first], element, first == 0);
  return total.saved_per_sample.value * samples + total.saved_per_batch.value;
}

std::vector<ModelSpec> models() {
  return {make_model({"resnet18", {}}, {3, 32, 32}, 10, false), make_model({"resnet50", {}}, {3, 40, 40}, 10, false),
          make_model({"resnet18", {}}, {1, 28, 28}, 10, true)};
}

class SavedBytes : public testing::TestWithParam<Type> {};

TEST_P(SavedBytes, OfEveryLayerAreWhatAutogradKeeps) {
  for (const ModelSpec& model : models())
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      for (int samples : {2, 5})
        EXPECT_EQ(predicted(model, i, i + 1, samples, GetParam()), really_saved(model, i, i + 1, samples, GetParam()))
            << model.name << " " << model.layers[i].name << " with " << samples << " samples";
}

TEST_P(SavedBytes, OfAChainCountItsBoundariesOnce) {
  for (const ModelSpec& model : models()) {
    const std::size_t layers = model.layers.size();
    for (const auto& [first, last] :
         {std::pair<std::size_t, std::size_t>{0, layers}, {0, 2}, {3, 6}, {layers - 2, layers}})
      EXPECT_EQ(predicted(model, first, last, 3, GetParam()), really_saved(model, first, last, 3, GetParam()))
          << model.name << " layers " << first << " to " << last;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SavedBytes, testing::Values(Type::fp32, Type::fp64, Type::bf16), [](const auto& test) {
  return std::string(test.param == Type::fp32 ? "fp32" : test.param == Type::fp64 ? "fp64" : "bf16");
});

}  // namespace
}  // namespace parabench
