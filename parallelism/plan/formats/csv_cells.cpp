#include "parallelism/plan/formats/csv_cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/blanks.h"

namespace parabench::plan {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::string_view overlap = "OVERLAP_F_B";
constexpr std::array<std::string_view, 3> ignored = {"UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::array kinds = {Op{.kind = OpKind::forward},
                              Op{.kind = OpKind::backward},
                              Op{.kind = OpKind::backward_input},
                              Op{.kind = OpKind::backward_weight},
                              Op{.kind = OpKind::send, .payload = Payload::activation},
                              Op{.kind = OpKind::receive, .payload = Payload::activation},
                              Op{.kind = OpKind::send, .payload = Payload::activation_gradient},
                              Op{.kind = OpKind::receive, .payload = Payload::activation_gradient}};

/// What comes before the next separator; `text` keeps the rest.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Of at most six digits: stages and micro-batches are counted in int.
std::optional<int> number(std::string_view text) {
  if (text.size() > 6) return {};
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

class RowParser {
 public:
  explicit RowParser(Rank rank) : rank_(rank) {}

  void add(std::string_view cell) {
    if (cell.empty()) return;
    if (cell.front() == '(') {
      add_pair(cell);
    } else {
      add_action(cell);
    }
  }
  std::vector<CsvAction> take() { return std::move(row_); }

 private:
  void add_pair(std::string_view cell) {
    const std::size_t close = std::min(cell.find(')'), cell.size());
    std::string_view rest = cell.substr(1, close - 1);
    const std::size_t first = row_.size();
    while (!rest.empty()) add_action(trimmed(take_until(rest, ';'), blanks));
    const bool is_pair = cell.substr(std::min(close + 1, cell.size())) == overlap && row_.size() == first + 2 &&
                         row_[first].kind == OpKind::forward && makes_input_gradient(row_[first + 1].kind);
    if (!is_pair) throw schedule_error(rank_, cell, "no pair", "a forward and a backward: (2F3;1B0)OVERLAP_F_B");
    row_[first].overlaps_next = true;
  }

  void add_action(std::string_view cell) {
    const std::size_t letters = std::min(cell.find_first_not_of("0123456789"), cell.size());
    const std::size_t end = cell.find_last_not_of("0123456789") + 1;
    const std::string_view kind = cell.substr(letters, std::max(end, letters) - letters);
    const auto stage = number(cell.substr(0, letters)), micro_batch = number(cell.substr(std::max(end, letters)));
    const auto found = std::ranges::find(kinds, kind, [](const Op& op) { return name(op); });
    if (stage && std::ranges::find(ignored, kind) != ignored.end()) return;
    if (!stage || !micro_batch || found == kinds.end()) {
      throw schedule_error(rank_, cell, "no action",
                           "stage, kind and micro-batch: 2F0, 1B3, 1I3, 1W3, 0SEND_F2, 1RECV_F2, 1SEND_B2, 0RECV_B2",
                           "numbers are below 1000000");
    }
    row_.push_back({found->kind, found->payload, StageId(*stage), MicroBatchId(*micro_batch)});
  }

  Rank rank_;
  std::vector<CsvAction> row_;
};

}  // namespace

std::string to_text(const CsvAction& action) {
  return std::to_string(action.stage.value) + name(Op{.kind = action.kind, .payload = action.payload}) +
         std::to_string(action.micro_batch.value);
}

Error schedule_error(Rank rank, std::string_view action, std::string_view what, std::string_view expected,
                     std::string_view hint) {
  std::string where = "schedule, rank " + std::to_string(rank.value);
  if (!action.empty()) where.append(", ").append(action);
  return usage_error(where, what, expected, hint);
}

std::vector<std::vector<CsvAction>> parse_cells(std::string_view text) {
  std::vector<std::vector<CsvAction>> rows;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    RowParser row(Rank(static_cast<int>(rows.size())));
    while (!line.empty()) row.add(trimmed(take_until(line, ','), blanks));
    rows.push_back(row.take());
  }
  while (!rows.empty() && rows.back().empty()) rows.pop_back();
  if (rows.empty()) throw usage_error("schedule", "", "a row of actions for each rank, the file is blank");
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (rows[rank].empty()) throw schedule_error(Rank(static_cast<int>(rank)), "", "", "at least one action");
  }
  return rows;
}

}  // namespace parabench::plan
