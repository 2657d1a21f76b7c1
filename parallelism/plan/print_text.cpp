#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "parallelism/plan/actions.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/print.h"
#include "parallelism/plan/progress.h"

namespace parabench {
namespace {

struct Cell {
  double start = 0, end = 0;
  std::string text;
};

std::vector<Cell> cells(const Plan& plan, const Timeline& timeline, int rank) {
  const auto& spans = timeline.ranks[rank][static_cast<int>(Lane::compute)];
  std::vector<Cell> result;
  for (const Action& action : actions(plan.ranks[rank])) {
    result.push_back(
        {spans[action.first].start - timeline.origin, spans[action.last].end - timeline.origin, to_text(plan, action)});
  }
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

/// Actions of one rank in torch.distributed.pipelining's spelling.
class CsvRow {
 public:
  CsvRow(const Plan& plan, const RankProgram& rank) : plan_(plan), starts_action_(rank.lane(Lane::compute).size(), 0) {
    for (const Action& action : actions(rank)) starts_action_[action.first] = 1;
  }

  void add(const OpRef& ref) {
    const Op& op = at(plan_, ref);
    if (op.kind == OpKind::update || op.kind == OpKind::all_reduce) return;
    if (ref.lane == Lane::compute && !starts_action_[ref.index]) return;
    if (!text_.empty()) text_ += ',';
    text_ += std::to_string(plan_.segments[op.segment.value].stage.value);
    text_ += name(op.kind);
    text_ += std::to_string(number(plan_, op));
  }
  const std::string& text() const { return text_; }

 private:
  const Plan& plan_;
  std::vector<char> starts_action_;  ///< by index on the compute lane
  std::string text_;
};

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    text += 'p' + std::to_string(r);
    for (const Action& action : actions(plan.ranks[r])) {
      if (is_compute(action.op.kind)) text += ' ' + to_text(plan, action);
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

std::string to_csv(const Plan& plan) {
  std::vector<LocalDependencies> local;
  std::vector<CsvRow> rows;
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    local.push_back(dependencies(plan, Rank(r)));
    rows.emplace_back(plan, plan.ranks[r]);
  }
  const LaneRun progress = run_lanes(plan, local, match(plan), Delivery::rendezvous);
  if (!progress.stuck.empty()) {
    throw usage_error("plan", describe(plan, progress.stuck.front()), "a plan without dead-lock");
  }
  for (OpRef ref : progress.order) rows[ref.rank.value].add(ref);
  std::string text;
  for (const CsvRow& row : rows) text += row.text() + '\n';
  return text;
}

}  // namespace parabench
