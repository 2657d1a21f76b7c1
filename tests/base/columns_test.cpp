#include "base/columns.h"

#include <gtest/gtest.h>

#include <array>

namespace parabench {
namespace {

using Cells = std::array<std::string, 3>;

TEST(Columns, AreAsWideAsTheirWidestCells) {
  std::array<std::size_t, 3> widths{};
  const Cells head = {"case", "ms", ""}, row = {"a", "12.5", "pass"};
  widen(widths, head);
  widen(widths, row);
  EXPECT_EQ(widths, (std::array<std::size_t, 3>{4, 4, 4}));
  const auto is_left = [](std::size_t c) { return c != 1; };
  EXPECT_EQ(aligned_line(head, widths, is_left), "case    ms\n");
  EXPECT_EQ(aligned_line(row, widths, is_left), "a     12.5  pass\n");
}

TEST(Columns, AreLeftOutWithoutAWidthAndGiveWayToLongCells) {
  const Cells row = {"longer", "b", "c"};
  const auto is_left = [](std::size_t c) { return c == 0; };
  EXPECT_EQ(aligned_line(row, std::array<std::size_t, 3>{2, 0, 2}, is_left), "longer   c\n");
}

}  // namespace
}  // namespace parabench
