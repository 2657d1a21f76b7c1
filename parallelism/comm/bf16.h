// The upper half of a float as a number of its own (bfloat16).
#pragma once

#include <bit>
#include <cstdint>

namespace parabench::comm {

/// Loads as the f32 that it is, stores the nearest one to an f32, ties to even; what is no number stays none.
struct Bf16 {
  std::uint16_t bits = 0;

  Bf16& operator=(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = whole + 0x7fff + (whole >> 16 & 1);
    constexpr std::uint16_t no_number = 0x7fc0;
    bits = value == value ? static_cast<std::uint16_t>(rounded >> 16) : no_number;
    return *this;
  }
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};
static_assert(sizeof(Bf16) == 2);

}  // namespace parabench::comm
