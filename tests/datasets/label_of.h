// Labels of sources with one per sample.
#pragma once

#include "datasets/source.h"

namespace parabench::datasets {

inline int label_of(const SampleSource& source, std::int64_t index) {
  std::int64_t label = 0;
  source.read_labels(index, {&label, 1});
  return static_cast<int>(label);
}

}  // namespace parabench::datasets
