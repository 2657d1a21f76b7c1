// Costs of layers, operation by operation, with what each value's memory is: a storage of its own, another value's that
// is written over or seen in another shape, or the layer's before.
#include "models/spec/cost.h"

#include <map>
#include <utility>

namespace parabench::models {
namespace {

class Counter {
 public:
  explicit Counter(int element_bytes) : tally_(element_bytes) {}

  LayerCost run(std::span<const LayerSpec> layers, const TensorSpec& in, bool first) {
    CountedValue value = fresh(in, !first);
    const int input = value.storage;
    for (const LayerSpec& layer : layers) value = run(layer, value);
    LayerCost total = tally_.total();
    total.keeps_input = storages_[input].saved;
    total.keeps_output = storages_[value.storage].saved;
    for (const auto& [port, made] : ports_) {
      Storage& storage = storages_[made.storage];
      if (storage.saved || made.storage == input || made.storage == value.storage) continue;
      total.saved_per_sample += Bytes(storage.bytes);
      storage.saved = true;
    }
    for (const int taken : entered_)
      if (storages_[taken].saved) total.saved_taken_per_sample += Bytes(storages_[taken].bytes);
    return total;
  }

 private:
  /// Of a sample: none of what a micro-batch has once, which is the output of its layer and lives as that.
  std::int64_t bytes_of(const TensorSpec& tensor) const {
    return tensor.kind() == ElementKind::sums ? 0 : tensor.bytes(1, tally_.element_bytes());
  }

  CountedValue fresh(const TensorSpec& tensor, bool requires_grad) {
    storages_.push_back({bytes_of(tensor)});
    return {tensor, requires_grad, static_cast<int>(storages_.size()) - 1, 0};
  }

  CountedValue run(const LayerSpec& layer, const CountedValue& in) {
    input_ = in;
    values_.clear();
    taken_.clear();
    for (const TakenPort& taken : layer.takes) {
      if (const auto made = ports_.extract(taken.port)) {
        taken_.push_back(made.mapped());
      } else {
        taken_.push_back(fresh(taken.tensor, true));
        entered_.push_back(taken_.back().storage);
      }
    }
    const std::vector<TensorSpec> tensors = values(layer, in.tensor);
    const std::vector<int> overwritten = overwritten_inputs(layer);
    const std::vector<int> gradients = gradient_storages(layer, tensors);
    for (std::size_t i = 0; i < layer.nodes.size(); ++i) {
      const Node& node = layer.nodes[i];
      inputs_.clear();
      bool requires_grad = false;
      for (const int value : node.inputs) {
        inputs_.push_back(at(value));
        requires_grad |= at(value).requires_grad;
      }
      requires_grad = requires_grad || !parameters(node.operation, node.name).empty();
      const int shared = is_view(node.operation) ? 0 : overwritten[i];
      CountedValue out{tensors[i], requires_grad, 0, gradients[i]};
      out.storage = shared == none_overwritten ? fresh(tensors[i], true).storage : inputs_[shared].storage;
      tally_.enter(inputs_, out, storages_, gradients_);
      count(node.operation, tally_);
      values_.push_back(out);
    }
    count_gradient_sums(layer);
    for (const MadePort& made : layer.makes) ports_.insert_or_assign(made.port, at(made.value));
    return values_.back();
  }

  const CountedValue& at(int value) const {
    if (value == layer_input) return input_;
    return value < 0 ? taken_[-2 - value] : values_[value];
  }

  /// Where a gradient is handed on as it is, or in another shape, those of both values are one storage.
  std::vector<int> gradient_storages(const LayerSpec& layer, const std::vector<TensorSpec>& tensors) {
    const std::vector<int> count = readers(layer);
    std::vector<int> storage(layer.nodes.size(), -1);
    for (std::size_t i = layer.nodes.size(); i-- > 0;) {
      if (storage[i] < 0) {
        gradients_.push_back({bytes_of(tensors[i])});
        storage[i] = static_cast<int>(gradients_.size()) - 1;
      }
      const Operation& operation = layer.nodes[i].operation;
      if (!is_view(operation) && !passes_gradient_on(operation)) continue;
      for (const int value : layer.nodes[i].inputs)
        if (value >= 0 && count[value] == 1) storage[value] = storage[i];
    }
    return storage;
  }

  /// Where several readers of a value need its gradient, theirs add up.
  void count_gradient_sums(const LayerSpec& layer) {
    std::map<int, int> gradients{{std::ssize(layer.nodes) - 1, 1}};
    for (const Node& node : layer.nodes)
      for (const int value : node.inputs) ++gradients[value];
    for (const MadePort& made : layer.makes) ++gradients[made.value];
    for (const auto& [value, number] : gradients)
      if (number > 1 && at(value).requires_grad) tally_.gradient_sums(at(value).tensor, number - 1);
  }

  Tally tally_;
  std::vector<Storage> storages_, gradients_;
  /// Made and not yet taken; the rest leaves the layers, held by the graph.
  std::map<std::string, CountedValue> ports_;
  std::vector<int> entered_;  ///< storages of skips that come from other layers
  CountedValue input_;
  std::vector<CountedValue> values_, taken_, inputs_;
};

}  // namespace

LayerCost cost(std::span<const LayerSpec> layers, const TensorSpec& in, int element_bytes, bool first) {
  return Counter(element_bytes).run(layers, in, first);
}

LayerCost cost(const LayerSpec& layer, const TensorSpec& in, int element_bytes, bool first) {
  return cost(std::span(&layer, 1), in, element_bytes, first);
}

}  // namespace parabench::models
