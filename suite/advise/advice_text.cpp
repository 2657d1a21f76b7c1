#include "suite/advise/advice_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/case_json.h"
#include "base/case_text.h"
#include "base/counted.h"
#include "base/json_null.h"
#include "base/units_text.h"
#include "results/report/escape.h"
#include "results/table.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

double samples_per_s(const Candidate& one) { return one.chosen.spec.batch / one.step_time_s; }

void add_row(std::string& text, const Candidate& one, std::size_t width) {
  text +=
      fmt::format("{} {:<{}}  {:>10}  {:>10}  {:>11}  {:>11}\n", one.is_on_front ? '*' : ' ', one.chosen.id, width,
                  one.is_simulated ? human_seconds(one.step_time_s) : "-", results::plain_number(samples_per_s(one)),
                  human_bytes(static_cast<double>(one.peak_bytes)), human_seconds(one.form.step_time_s));
}

/// `bytes`: what the bytes of a rank are called.
void add_table(std::string& text, const std::vector<const Candidate*>& rows, std::string_view bytes) {
  std::size_t width = 4;
  for (const Candidate* one : rows) width = std::max(width, one->chosen.id.size());
  text += fmt::format("  {:<{}}  {:>10}  {:>10}  {:>11}  {:>11}\n", "case", width, "simulated", "samples/s", bytes,
                      "closed form");
  for (const Candidate* one : rows) add_row(text, *one, width);
}

/// Of those that train so the `rows` fastest, and the others of the front.
std::vector<const Candidate*> rows_of(const Advice& advice, bool is_sequential, int rows) {
  std::vector<const Candidate*> chosen;
  for (const Candidate& one : advice.fitting) {
    if (one.is_sequential != is_sequential) continue;
    if (std::ssize(chosen) < rows || one.is_on_front) chosen.push_back(&one);
  }
  return chosen;
}

/// Of candidates that no rank can run, whether `shown` has some or not; "" where there are none.
std::string unexecutable_text(const Advice& advice, const std::vector<const Candidate*>& shown) {
  const auto best = std::ranges::find_if_not(advice.fitting, &Candidate::has_executor);
  if (best == advice.fitting.end()) return "";
  if (!std::ranges::all_of(shown, &Candidate::has_executor))
    return "tp: what it would take is only predicted, no rank computes a part of a layer yet\n";
  return fmt::format("tp: at best {} ({})\n", human_seconds(best->step_time_s), best->chosen.id);
}

/// What tables and programs get of a candidate.
struct Column {
  std::string_view path;  ///< in JSON, its words between slashes; in CSV between underscores
  json (*of)(const Candidate&);
  bool in_csv = true, in_json = true;
};

const std::array columns = {
    Column{"id", [](const Candidate& one) -> json { return one.chosen.id; }},
    Column{"strategy", [](const Candidate& one) -> json { return one.chosen.spec.strategy.name; }, true, false},
    Column{"parameters", [](const Candidate& one) { return parameters_json(one.chosen.spec); }, false, true},
    Column{"trains_as_sequential", [](const Candidate& one) -> json { return one.is_sequential; }},
    Column{"has_executor", [](const Candidate& one) -> json { return one.has_executor(); }},
    Column{"is_simulated", [](const Candidate& one) -> json { return one.is_simulated; }},
    Column{"step_time_s", [](const Candidate& one) -> json { return one.step_time_s; }},
    Column{"throughput_samples_per_s", [](const Candidate& one) -> json { return samples_per_s(one); }},
    Column{"peak_memory_bytes", [](const Candidate& one) -> json { return one.peak_bytes; }},
    Column{"on_front", [](const Candidate& one) -> json { return one.is_on_front; }},
    Column{"cost_source", [](const Candidate& one) -> json { return one.cost_source; }},
    Column{"closed_form/step_time_s", [](const Candidate& one) -> json { return one.form.step_time_s; }},
    Column{"closed_form/peak_memory_bytes", [](const Candidate& one) -> json { return one.form.peak_bytes; }},
};

/// A line of CSV of what `cell` makes of each of its columns.
template <class Cell>
std::string csv_line(Cell cell) {
  std::vector<std::string> cells;
  for (const Column& column : columns)
    if (column.in_csv) cells.push_back(cell(column));
  return fmt::format("{}\n", fmt::join(cells, ","));
}

}  // namespace

std::string advice_text(const Question& question, const Advice& advice, int rows) {
  const std::string limit =
      !advice.memory
          ? ""
          : fmt::format(", {} a rank", question.memory ? print_bytes(*question.memory)
                                                       : human_bytes(static_cast<double>(advice.memory->value)));
  const std::string hosts = question.hosts > 1 ? fmt::format(" on {} hosts", question.hosts) : "";
  const std::string source = advice.fitting.front().cost_source;
  std::string text = fmt::format(
      "{} on {}, batch {}, up to {}{}{}: {} ({} more cannot be), ranked by closed forms; {} simulated, {}\n\n",
      to_text(question.spec.model), to_text(question.spec.dataset), question.spec.batch,
      counted(question.spec.np, "rank"), hosts, limit, counted(advice.possible, "case"), advice.impossible,
      advice.simulated, source);
  const auto alike = rows_of(advice, true, rows);
  // On a GPU that is what predict calls device_used.
  const std::string_view bytes = question.spec.device == DeviceKind::cuda ? "device used" : "peak memory";
  if (!alike.empty()) add_table(text, alike, bytes);
  text += "* nothing is both as fast and as small\n";
  const auto others = rows_of(advice, false, alike.empty() ? rows : std::min(rows, 3));
  std::vector<const Candidate*> shown = alike;
  shown.insert(shown.end(), others.begin(), others.end());
  text += unexecutable_text(advice, shown);
  if (!others.empty()) {
    text += "\ntrain otherwise than sequential training, so that the time of a step alone says little:\n";
    add_table(text, others, bytes);
  }
  return text;
}

std::string advice_csv(const Advice& advice) {
  std::string text = csv_line([](const Column& column) {
    std::string name(column.path);
    std::ranges::replace(name, '/', '_');
    return name;
  });
  for (const Candidate& one : advice.fitting)
    text += csv_line([&one](const Column& column) { return results::csv_cell(column.of(one)); });
  return text;
}

json advice_json(const Question& question, const Advice& advice) {
  json rows = json::array();
  for (const Candidate& one : advice.fitting) {
    json& row = rows.emplace_back(json::object());
    for (const Column& column : columns)
      if (column.in_json) row[json::json_pointer(fmt::format("/{}", column.path))] = column.of(one);
  }
  return {{"hosts", question.hosts > 0 ? json(question.hosts) : json()},
          {"memory_bytes", advice.memory ? json(advice.memory->value) : json()},
          {"possible", advice.possible},
          {"impossible", advice.impossible},
          {"simulated", advice.simulated},
          {"left_out", advice.left_out},
          {"gap", null_if_empty(advice.gap)},
          {"candidates", rows}};
}

}  // namespace parabench::suite
