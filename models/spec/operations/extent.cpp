#include "models/spec/operations/extent.h"

namespace parabench::models {

std::string to_text(const Extent& extent) {
  const std::string height = std::to_string(extent.height);
  return extent.height == extent.width ? height : height + 'x' + std::to_string(extent.width);
}

}  // namespace parabench::models
