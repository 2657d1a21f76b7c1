#include "suite/cli/list_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/case_json.h"
#include "base/units_text.h"
#include "suite/cases/catalogue.h"
#include "suite/machine/knowledge.h"
#include "suite/protocol/command.h"
#include "suite/run/forecast.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

struct Line {
  SelectedCase chosen;
  std::int64_t model_parameters = 0;
  std::optional<Forecast> forecast;
  std::string impossible;
};

double highest_peak(const Predicted& predicted) {
  double peak = 0;
  for (const auto& rank : predicted.ranks) peak = std::max(peak, static_cast<double>(rank.peak_memory.total_counted()));
  return peak;
}

Line make_line(const SelectedCase& chosen, const Knowledge& knowledge) {
  Line line{chosen, 0, std::nullopt, ""};
  try {
    line.model_parameters = models::parameter_count(look_up(chosen.spec).model);
    line.forecast = make_forecast(make_subject(chosen), knowledge, protocol::default_warmup, protocol::default_steps);
  } catch (const Error& error) {
    if (chosen.named) throw;
    line.impossible = error.what();
  }
  return line;
}

json to_json(const Line& line) {
  json result{{"id", line.chosen.id},
              {"parameters", parameters_json(line.chosen.spec)},
              {"model_parameters", line.model_parameters},
              {"ranks", line.chosen.spec.np},
              {"predicted", nullptr},
              {"reason", line.impossible.empty() ? json() : json(line.impossible)}};
  if (line.forecast) {
    result["predicted"] = {{"step_time_s", line.forecast->predicted.step_time_s},
                           {"peak_memory_bytes_per_rank", highest_peak(line.forecast->predicted)},
                           {"peak_memory_bytes", total_bytes(line.forecast->predicted)},
                           {"cost_source", line.forecast->cost_source}};
  }
  return result;
}

/// A guess from the data sheet is marked as one.
std::string mark(const Line& line, const std::string& text) {
  return line.forecast->cost_source == "calibrated" ? text : "~" + text;
}

void print(const std::vector<Line>& lines, std::ostream& out) {
  constexpr const char* row = "{:>5} {:>11} {:>11} {:>11}  {}\n";
  fmt::print(out, row, "ranks", "parameters", "step time", "per rank", "case");
  bool guessed = false;
  for (const Line& line : lines) {
    const std::string size = fmt::format("{:.2f} M", static_cast<double>(line.model_parameters) / 1e6);
    if (!line.forecast) {
      fmt::print(out, row, line.chosen.spec.np, size, "-", "-", line.chosen.id + "  impossible: " + line.impossible);
      continue;
    }
    const Predicted& predicted = line.forecast->predicted;
    fmt::print(out, row, line.chosen.spec.np, size, mark(line, human_seconds(predicted.step_time_s)),
               mark(line, human_bytes(highest_peak(predicted))), line.chosen.id);
    guessed = guessed || line.forecast->cost_source != "calibrated";
  }
  if (guessed) fmt::print(out, "~ from the data sheet, not measured here: parabench calibrate CASE\n");
}

}  // namespace

ExitCode list_cases(const ListOptions& options, std::ostream& out) {
  if (options.table) {
    out << (options.json ? table_json(*options.table).dump(1) + "\n" : table_text(*options.table));
    return ExitCode::ok;
  }
  const analytic::MachineInfo machine = known_machine();
  const CalibrationFile file = open_calibration(options.calibration, machine, true);
  const Knowledge knowledge{machine, file.content ? &*file.content : nullptr};
  std::vector<Line> lines;
  for (const auto& chosen : select(options.selection, catalogue())) lines.push_back(make_line(chosen, knowledge));
  if (options.json) {
    json document = json::array();
    for (const Line& line : lines) document.push_back(to_json(line));
    out << document.dump(1) << '\n';
  } else {
    print(lines, out);
  }
  return ExitCode::ok;
}

}  // namespace parabench::suite
