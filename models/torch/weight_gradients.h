// Weight gradients that a split backward leaves for later.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace parabench::modules {

/// The gradient of one parameter, not yet computed.
struct DeferredGradient {
  torch::Tensor parameter;          ///< the leaf whose gradient it is
  std::vector<torch::Tensor> kept;  ///< what it is computed from; no graph hangs on them
  std::function<torch::Tensor(const torch::Tensor& parameter, std::vector<torch::Tensor> kept)> compute;
};

/// The weight gradients of one or more graphs, first in, first out. The backward of a graph made with
/// ForwardMode::deferred (layer.h) puts its own here, so it must outlive that backward. Not thread-safe.
class WeightGradients {
 public:
  void defer(DeferredGradient gradient) { waiting_.push_back(std::move(gradient)); }

  /// Computes them in order and adds each to its leaf's gradient as an ordinary backward does (an undefined one is
  /// set); frees what each one kept before it goes on. May be called at any time, in any order of objects.
  void run();

  bool empty() const { return waiting_.empty(); }
  /// Of the distinct storages kept.
  std::int64_t kept_bytes() const;

 private:
  std::deque<DeferredGradient> waiting_;
};

}  // namespace parabench::modules
