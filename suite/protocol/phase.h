// What a launch of parabench-rank is for.
#pragma once

#include <array>
#include <string_view>

#include "base/enum_text.h"

namespace parabench::protocol {

enum class Phase {
  probe,        ///< what build and machine offer; without a plan
  verify,       ///< whether the plan trains what its reference does
  measure,      ///< how long its steps take
  calibrate,    ///< how long its layers, messages and reductions take
  paired,       ///< the same and the plan's steps in turn, so that the machine's drift is in both
  hand_over,    ///< what another product needs to train the same, as files in the reply folder; by one process
  communicate,  ///< how long collectives and messages take by themselves; its plan file is an ExchangeWork
};
constexpr std::array<std::string_view, 7> names_of(Phase) {
  return {"probe", "verify", "measure", "calibrate", "paired", "hand-over", "communicate"};
}

}  // namespace parabench::protocol
