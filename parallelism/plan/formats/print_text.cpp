#include "parallelism/plan/formats/print_text.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/formats/actions.h"

namespace parabench::plan {
namespace {

struct Cell {
  double start = 0, end = 0;
  std::string text;
};

std::vector<Cell> cells(const Plan& plan, const Timeline& timeline, int rank) {
  const auto& spans = timeline.ranks[rank][compute_lane];
  std::vector<Cell> result;
  for (const Action& action : actions(plan, Rank(rank))) {
    result.push_back({spans[action.first].start - timeline.origin, spans[action.last].end - timeline.origin,
                      to_text(plan, Rank(rank), action)});
  }
  std::ranges::stable_sort(result, {}, &Cell::start);
  return result;
}

double shortest(const std::vector<std::vector<Cell>>& rows) {
  double unit = std::numeric_limits<double>::infinity();
  for (const auto& row : rows) {
    for (const Cell& cell : row) {
      if (cell.text != "U" && cell.end > cell.start) unit = std::min(unit, cell.end - cell.start);
    }
  }
  return unit;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string trimmed(std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

std::string grid_row(const std::vector<Cell>& row, double unit, int columns, std::size_t width) {
  std::string line;
  auto cell = row.begin();
  for (int column = 0; column < columns; ++column) {
    const double middle = (column + 0.5) * unit;
    while (cell != row.end() && cell->end <= middle) ++cell;
    const bool runs = cell != row.end() && cell->start <= middle;
    line += ' ' + padded(runs ? cell->text : ".", width);
  }
  return line;
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    text += 'p' + std::to_string(r);
    bool paired = false;
    for (const Action& action : actions(plan, Rank(r))) {
      if (!is_pass(action.op.kind)) continue;
      text += paired ? "|" : action.overlaps_next ? " (" : " ";
      text += to_text(plan, Rank(r), action);
      if (paired) text += ')';
      paired = action.overlaps_next;
    }
    text += '\n';
  }
  return text;
}

std::string to_grid(const Plan& plan, const Timeline& timeline) {
  std::vector<std::vector<Cell>> rows;
  std::size_t width = 1;
  double end = 0;
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    rows.push_back(cells(plan, timeline, r));
    for (const Cell& cell : rows.back()) {
      width = std::max(width, cell.text.size());
      end = std::max(end, cell.end);
    }
  }
  const double unit = shortest(rows);
  // A last column that its action does not reach the middle of stays empty, so it is left out.
  const int columns = static_cast<int>(std::floor(end / unit + 0.5));
  const std::size_t label = 1 + std::to_string(rows.size() - 1).size();
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += trimmed(padded('p' + std::to_string(r), label) + grid_row(rows[r], unit, columns, width)) + '\n';
  }
  return text;
}

}  // namespace parabench::plan
