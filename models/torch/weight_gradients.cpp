#include "models/torch/weight_gradients.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <set>
#include <utility>

namespace parabench::modules {

void WeightGradients::run() {
  const torch::NoGradGuard no_grad;
  while (!waiting_.empty()) {
    DeferredGradient next = std::move(waiting_.front());
    waiting_.pop_front();
    torch::Tensor gradient = next.compute(next.parameter, std::move(next.kept)).to(next.parameter.scalar_type());
    torch::Tensor& sum = next.parameter.mutable_grad();
    torch::autograd::AccumulateGrad::accumulateGrad(next.parameter, sum, gradient, /*num_expected_refs=*/1,
                                                    [&](torch::Tensor&& first) { sum = std::move(first); });
  }
}

std::int64_t WeightGradients::kept_bytes() const {
  std::set<const void*> storages;
  std::int64_t bytes = 0;
  for (const DeferredGradient& gradient : waiting_)
    for (const torch::Tensor& tensor : gradient.kept)
      if (storages.insert(tensor.storage().data()).second)
        bytes += static_cast<std::int64_t>(tensor.storage().nbytes());
  return bytes;
}

}  // namespace parabench::modules
