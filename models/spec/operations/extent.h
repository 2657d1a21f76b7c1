// The sides of a window that slides over a map.
#pragma once

#include <string>

namespace parabench::models {

/// Height and width; a plain number is both.
struct Extent {
  int height, width;
  constexpr Extent(int side) : height(side), width(side) {}  // NOLINT(google-explicit-constructor)
  constexpr Extent(int high, int wide) : height(high), width(wide) {}
  constexpr bool operator==(const Extent&) const = default;
};

/// "3", "1x7".
std::string to_text(const Extent& extent);

}  // namespace parabench::models
