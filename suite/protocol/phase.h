// What a launch of parabench-rank is for.
#pragma once

#include <array>
#include <string_view>

#include "base/enum_text.h"

namespace parabench::protocol {

enum class Phase {
  probe,      ///< what build and machine offer; without a plan
  verify,     ///< whether the plan trains what its reference does
  measure,    ///< how long its steps take
  calibrate,  ///< how long its layers, messages and reductions take
};
constexpr std::array<std::string_view, 4> names_of(Phase) { return {"probe", "verify", "measure", "calibrate"}; }

}  // namespace parabench::protocol
