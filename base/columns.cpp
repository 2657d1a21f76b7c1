#include "base/columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace parabench {

void widen(std::span<std::size_t> widths, std::span<const std::string> cells) {
  for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], cells[c].size());
}

std::string aligned_line(std::span<const std::string> cells, std::span<const std::size_t> widths,
                         const std::function<bool(std::size_t)>& is_left) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (widths[c] == 0) continue;
    if (c > 0) line += "  ";
    line += is_left(c) ? fmt::format("{:<{}}", cells[c], widths[c]) : fmt::format("{:>{}}", cells[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace parabench
