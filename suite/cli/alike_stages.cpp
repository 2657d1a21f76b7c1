#include "suite/cli/alike_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace parabench::suite {
namespace {

using Row = std::vector<std::string>;
constexpr std::string_view of_stage = "[stage ";

int number_at(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<int> stage_of(const Row& row) {
  const std::size_t found = row.front().find(of_stage);
  if (found == std::string::npos) return std::nullopt;
  return number_at(std::string_view(row.front()).substr(found + of_stage.size()));
}

/// What the row says, with the numbers of stages counted from its own.
std::string relative(const Row& row, int stage) {
  std::string text;
  for (std::string_view name = row.front(); !name.empty();) {
    std::size_t digits = 0;
    if (text.ends_with("stage ") || text.ends_with(" to "))
      digits = std::min(name.find_first_not_of("0123456789"), name.size());
    text += digits > 0 ? fmt::format("{:+}", number_at(name) - stage) : std::string(1, name.front());
    name.remove_prefix(std::max(digits, std::size_t{1}));
  }
  for (std::size_t cell = 1; cell < row.size(); ++cell) text += '\n' + row[cell];
  return text;
}

/// Of the stages from `first` to `last`, which are like the one before `first`.
Row row_of(int first, int last, std::size_t cells) {
  Row row(cells);
  row.front() = first == last ? fmt::format("  stage {}", first) : fmt::format("  stages {} to {}", first, last);
  row.back() = fmt::format("as stage {}", first - 1);
  return row;
}

}  // namespace

std::vector<Row> without_alike_stages(const std::vector<Row>& rows) {
  std::vector<Row> kept;
  std::vector<std::string> before;  // what the stage before says
  std::optional<int> stage_before;
  int alike = 0;
  const auto tell = [&] {
    if (alike > 0) kept.push_back(row_of(*stage_before - alike + 1, *stage_before, rows.front().size()));
    alike = 0;
  };
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    const std::optional<int> stage = stage_of(rows[i]);
    std::vector<std::string> says;
    for (end = i; end < rows.size() && stage_of(rows[end]) == stage; ++end)
      if (stage) says.push_back(relative(rows[end], *stage));
    if (stage && stage_before == *stage - 1 && says == before) {
      ++alike;
    } else {
      tell();
      kept.insert(kept.end(), rows.begin() + static_cast<std::ptrdiff_t>(i),
                  rows.begin() + static_cast<std::ptrdiff_t>(end));
    }
    before = std::move(says);
    stage_before = stage;
  }
  tell();
  return kept;
}

}  // namespace parabench::suite
