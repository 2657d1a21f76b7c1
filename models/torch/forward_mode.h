// What a forward is for.
#pragma once

#include <cstdint>

#include "models/torch/weight_gradients.h"

namespace parabench::modules {

/// By what the draws of dropout are keyed, besides operation and element.
struct DropoutDraws {
  std::uint64_t seed = 0;
  std::int64_t first_sample = 0;  ///< position of the micro-batch's first sample in the training stream
};

struct ForwardMode {
  /// Set: the backward of the graph computes gradients of inputs only and leaves those of the parameters here; until
  /// run() they are as they were. Both together are bit for bit the ordinary backward, in fp64, fp32 and under
  /// autocast. For graphs only (gradients enabled); the object must outlive their backward.
  WeightGradients* deferred = nullptr;
  /// Unset: running statistics stay as they are, for a forward that is computed a second time.
  bool update_statistics = true;
  DropoutDraws dropout{};
};

}  // namespace parabench::modules
