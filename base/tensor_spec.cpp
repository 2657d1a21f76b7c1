#include "base/tensor_spec.h"

#include "base/enum_text.h"

namespace parabench {

std::string to_text(const TensorSpec& tensor) {
  std::string text;
  for (const std::int64_t dim : tensor.dims()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  if (tensor.kind() != ElementKind::real) text.append(":").append(to_text(tensor.kind()));
  return text;
}

}  // namespace parabench
