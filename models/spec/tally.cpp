#include "models/spec/tally.h"

#include <algorithm>

namespace parabench::models {

Tally::Tally(int element_bytes) : element_(element_bytes), parameter_(std::max(4, element_bytes)) {}

void Tally::enter(std::span<const CountedValue> inputs, const CountedValue& output, std::vector<Storage>& storages,
                  std::vector<Storage>& gradients) {
  inputs_ = inputs;
  output_ = &output;
  storages_ = &storages;
  gradients_ = &gradients;
}

void Tally::flops(std::int64_t forward, std::int64_t backward) {
  total_.forward_per_sample += Flops(static_cast<double>(forward));
  total_.backward_per_sample += Flops(static_cast<double>(backward));
}

void Tally::moved(std::int64_t forward, std::int64_t backward) { moved_bytes(forward * element_, backward * element_); }

void Tally::moved_bytes(std::int64_t forward, std::int64_t backward) {
  total_.moved_forward_per_sample += Bytes(forward);
  total_.moved_backward_per_sample += Bytes(backward);
}

void Tally::keep(int storage) {
  Storage& kept = (*storages_)[storage];
  if (kept.saved) return;
  kept.saved = true;
  total_.saved_per_sample += Bytes(kept.bytes);
}

void Tally::keep_input(int input) { keep(inputs_[input].storage); }

void Tally::keep_output() { keep(output_->storage); }

void Tally::keep_bytes(std::int64_t per_sample) { total_.saved_per_sample += Bytes(per_sample); }

void Tally::keep_statistics(std::int64_t elements) { total_.saved_per_batch += Bytes(elements * parameter_); }

void Tally::weights(std::int64_t elements, bool kept) {
  total_.moved_per_batch += Bytes(3 * elements * parameter_);
  if (kept && is_narrow()) total_.saved_per_batch += Bytes(elements * element_);
}

void Tally::early_gradients(std::int64_t elements) { total_.saved_weight_per_batch += Bytes(elements * parameter_); }

void Tally::weight_product(std::int64_t depth) {
  const std::int64_t n = in().elements(), m = out().elements(), product = 2 * depth * m;
  keep_input();
  flops(product, needs_gradient() ? 2 * product : product);
  moved(n + m, needs_gradient() ? 2 * (n + m) : n + m);
  total_.backward_weight_per_sample += Flops(static_cast<double>(product));
  total_.moved_backward_weight_per_sample += Bytes((n + m) * element_);
  keep_for_weights(/*wide=*/false);
}

void Tally::keep_factor(Storage& storage) {
  if (!storage.multiplied) total_.saved_weight_per_sample += Bytes(storage.bytes);
  storage.multiplied = true;
}

void Tally::keep_for_weights(bool wide) {
  keep_factor((*storages_)[inputs_[0].storage]);
  if (wide)
    total_.saved_weight_per_sample += Bytes(out().elements() * parameter_);
  else
    keep_gradient_for_weights();
}

void Tally::keep_gradient_for_weights() { keep_factor((*gradients_)[output_->gradient]); }

void Tally::gradient_sums(const TensorSpec& value, int sums) {
  flops(0, sums * value.elements());
  moved(0, 3 * sums * value.elements());
}

}  // namespace parabench::models
