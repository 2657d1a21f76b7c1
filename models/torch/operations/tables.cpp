#include "models/torch/operations/tables.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "models/torch/split_node.h"

namespace parabench::modules {
namespace {

using Tensors = std::vector<torch::Tensor>;

torch::Tensor split_embedding(const torch::Tensor& indices, const torch::Tensor& table, WeightGradients& later) {
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = at::embedding(table, indices);
  }
  return record_split(std::move(y), indices, {indices},
                      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool) {
                        later.defer({table, {saved[0], gradient}, [](const torch::Tensor& weight, Tensors kept) {
                                       return at::embedding_dense_backward(kept[1], kept[0], weight.size(0),
                                                                           /*padding_idx=*/-1,
                                                                           /*scale_grad_by_freq=*/false);
                                     }});
                        return torch::Tensor();
                      });
}

/// The table's first rows as a row of the batch.
torch::Tensor rows(const torch::Tensor& table, const torch::Tensor& x) { return table.narrow(0, 0, x.size(1)); }

torch::Tensor split_positions(const torch::Tensor& x, const torch::Tensor& table, WeightGradients& later) {
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = x.add(rows(as_autocast(table), x));
  }
  return record_split(std::move(y), x, {}, [=, &later](const torch::Tensor& gradient, const Tensors&, bool) {
    later.defer({table, {gradient}, [](const torch::Tensor& weight, Tensors kept) {
                   const torch::Tensor sum = kept[0].sum(0);
                   torch::Tensor all = at::zeros_like(weight, sum.options());
                   all.narrow(0, 0, sum.size(0)).copy_(sum);
                   return all;
                 }});
    return gradient;
  });
}

}  // namespace

/// In the type of the activations also under autocast, which does not concern tables.
torch::Tensor compute(const models::Embedding&, const Call& call) {
  const torch::Tensor& table = call.parameters[0];
  const torch::Tensor y =
      call.mode.deferred ? split_embedding(call.x(), table, *call.mode.deferred) : at::embedding(table, call.x());
  return as_autocast(y);
}

torch::Tensor compute(const models::Positions&, const Call& call) {
  const torch::Tensor &x = call.x(), &table = call.parameters[0];
  if (call.mode.deferred) return split_positions(x, table, *call.mode.deferred);
  return x.add(rows(as_autocast(table), x));
}

}  // namespace parabench::modules
