#include "base/tensor_spec.h"

namespace parabench {

std::string to_text(const TensorSpec& tensor) {
  std::string text;
  for (const std::int64_t dim : tensor.dims()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return tensor.kind() == ElementKind::int64 ? text + ":int64" : text;
}

}  // namespace parabench
