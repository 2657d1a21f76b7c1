#include "models/spec/loss.h"

namespace parabench::models {

TensorSpec labels_of(const TensorSpec& output) {
  switch (output.rank()) {
    case 2: return {{output[0]}, ElementKind::int64};
    case 3: return {{output[1], output[2]}, ElementKind::int64};
    default: return {{}, ElementKind::int64};
  }
}

}  // namespace parabench::models
