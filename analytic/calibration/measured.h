// What a measurement of a layer tells.
#pragma once

#include <array>
#include <cstdint>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {

/// What measurements of a layer may tell or not; a pass each of them does.
enum class Measured : std::uint8_t {
  pass,
  halves,          ///< seconds of I and W
  halves_bytes,    ///< what these hold
  adding,          ///< what a backward holds that adds to gradients
  adding_weights,  ///< likewise a W
};
/// All of them, each at its own number.
inline constexpr std::array all_measured = {Measured::pass, Measured::halves, Measured::halves_bytes, Measured::adding,
                                            Measured::adding_weights};

/// Whether a measurement tells that.
bool tells(const LayerTiming& timing, Measured what);

}  // namespace parabench::analytic
