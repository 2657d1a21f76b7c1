// Tables of plain text, whose columns are aligned.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace parabench {

/// Makes each column at least as wide as its cell. Precondition: as many of both.
void widen(std::span<std::size_t> widths, std::span<const std::string> cells);

/// A line with its newline and no blanks before it: cells two blanks apart, on the left or on the right of their
/// columns. Columns of no width are left out; a cell that is wider than its column moves what is behind it.
std::string aligned_line(std::span<const std::string> cells, std::span<const std::size_t> widths,
                         const std::function<bool(std::size_t)>& is_left);

}  // namespace parabench
