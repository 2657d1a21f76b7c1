#include "base/tensor_spec.h"

namespace parabench {

std::string to_text(const TensorSpec& tensor) {
  std::string text;
  for (const std::int64_t dim : tensor.dims()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  switch (tensor.kind()) {
    case ElementKind::real: return text;
    case ElementKind::int64: return text + ":int64";
    case ElementKind::sums: return text + ":sums";
  }
  return text;
}

}  // namespace parabench
