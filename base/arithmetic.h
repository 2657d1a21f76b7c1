// The precision that a rank really computed in: a device may use less than its tensors' types say (TF32).
#pragma once

#include <optional>
#include <string>

#include "base/case.h"

namespace parabench {

struct Arithmetic {
  std::optional<Precision> parameters;  ///< as they are kept; nullopt for a stage without any
  std::optional<Precision> autocast;    ///< what factors are cast to before products; nullopt: they stay as they are
  Precision matmul = Precision::fp32, convolution = Precision::fp32;  ///< what products keep of their factors
  std::string note;  ///< where that is not what the case asks for; "" otherwise
  bool operator==(const Arithmetic&) const = default;
};

}  // namespace parabench
