// What an operation's forward and backward cost, counted while it tells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/strong.h"
#include "base/tensor_spec.h"
#include "models/spec/layer_cost.h"

namespace parabench::models {

/// Where a value of a layer lies. A storage is kept once, however many operations need it in backward.
struct Storage {
  std::int64_t bytes = 0;   ///< of one sample
  bool saved = false;       ///< some operation keeps it for its backward
  bool multiplied = false;  ///< a product keeps it for its weight gradient
};

/// An operation's output or input while its cost is counted.
struct CountedValue {
  TensorSpec tensor;
  bool requires_grad = true;  ///< backward computes its gradient
  int storage = 0;
  int gradient = 0;  ///< the storage of its gradient
};

/// Takes down the cost of one operation after another. Every pass over a map counts one read or one write of it.
class Tally {
 public:
  /// `element_bytes`: of an activation.
  explicit Tally(int element_bytes);

  /// The operation that tells from here on. Storages are those of `storages`.
  void enter(std::span<const CountedValue> inputs, const CountedValue& output, std::vector<Storage>& storages,
             std::vector<Storage>& gradients);

  const TensorSpec& in(int input = 0) const { return inputs_[input].tensor; }
  int inputs() const { return static_cast<int>(inputs_.size()); }
  const TensorSpec& out() const { return output_->tensor; }
  bool needs_gradient(int input = 0) const { return inputs_[input].requires_grad; }
  std::int64_t element_bytes() const { return element_; }
  /// Of a parameter and of a statistic: fp32 under autocast.
  std::int64_t parameter_bytes() const { return parameter_; }
  bool is_narrow() const { return element_ < parameter_; }

  /// Floating-point operations per sample; a multiply-add is 2.
  void flops(std::int64_t forward, std::int64_t backward);
  /// Elements of activations read and written per sample.
  void moved(std::int64_t forward, std::int64_t backward);
  /// The same in bytes.
  void moved_bytes(std::int64_t forward, std::int64_t backward);
  /// Backward needs the operation's input, its output.
  void keep_input(int input = 0);
  void keep_output();
  /// Backward needs bytes of its own, for each sample.
  void keep_bytes(std::int64_t per_sample);
  /// Statistics that backward needs, whatever the samples.
  void keep_statistics(std::int64_t elements);
  /// Reads a weight and writes its gradient. `kept`: backward keeps the copy in the type of the activations that
  /// autocast makes.
  void weights(std::int64_t elements, bool kept);
  /// Gradients of parameters that the input part of a split backward computes already.
  void early_gradients(std::int64_t elements);
  /// A product of the input with weights, `depth` multiply-adds per output element; backward does as many for each of
  /// its two gradients, and leaves that of the weights to its weight part.
  void weight_product(std::int64_t depth);
  /// The weight part reads the operation's input and the gradient of its output; `wide`: the latter in the type of the
  /// parameters, a copy.
  void keep_for_weights(bool wide);
  /// It reads that gradient alone.
  void keep_gradient_for_weights();
  /// Gradients that add up where a value has several readers.
  void gradient_sums(const TensorSpec& value, int sums);

  const LayerCost& total() const { return total_; }

 private:
  void keep(int storage);
  void keep_factor(Storage& storage);

  std::int64_t element_, parameter_;
  std::span<const CountedValue> inputs_;
  const CountedValue* output_ = nullptr;
  std::vector<Storage>* storages_ = nullptr;
  std::vector<Storage>* gradients_ = nullptr;
  LayerCost total_;
};

}  // namespace parabench::models
