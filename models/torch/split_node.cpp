#include "models/torch/split_node.h"

#include <ATen/autocast_mode.h>
#include <torch/autograd.h>

#include <mutex>
#include <string>
#include <utility>

namespace parabench::modules {
namespace {

using Tensors = std::vector<torch::Tensor>;

class SplitNode final : public torch::autograd::Node {
 public:
  SplitNode(const Tensors& saved, InputBackward backward) : backward_(std::move(backward)) {
    for (const torch::Tensor& tensor : saved) saved_.emplace_back(tensor, /*is_output=*/false);
  }

  std::string name() const override { return "parabench::modules::SplitNode"; }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    saved_.clear();
  }

 private:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const std::lock_guard lock(mutex_);
    Tensors saved;
    for (const torch::autograd::SavedVariable& variable : saved_) saved.push_back(variable.unpack());
    return {backward_(gradients[0], saved, task_should_compute_output(0))};
  }

  std::vector<torch::autograd::SavedVariable> saved_;
  InputBackward backward_;
};

}  // namespace

torch::Tensor record_split(torch::Tensor output, const torch::Tensor& x, const Tensors& saved, InputBackward backward) {
  auto node = std::make_shared<SplitNode>(saved, std::move(backward));
  node->set_next_edges(torch::autograd::collect_next_edges(x));
  torch::autograd::create_gradient_edge(output, node);
  return output;
}

torch::Tensor as_autocast(const torch::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const torch::DeviceType device = tensor.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), tensor, device);
}

DeferredGradient computed_gradient(const torch::Tensor& parameter, torch::Tensor gradient) {
  return {parameter, {std::move(gradient)}, [](const torch::Tensor&, Tensors kept) { return std::move(kept[0]); }};
}

}  // namespace parabench::modules
