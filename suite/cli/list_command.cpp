#include "suite/cli/list_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/called.h"
#include "base/case_json.h"
#include "base/json_null.h"
#include "base/units_text.h"
#include "suite/cases/catalogue.h"
#include "suite/cli/options.h"
#include "suite/machine/knowledge.h"
#include "suite/machine/listing_cache.h"
#include "suite/run/listing.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

json to_json(const SelectedCase& chosen, const Listed& line) {
  json result{{"id", chosen.id},
              {"parameters", parameters_json(chosen.spec)},
              {"model_parameters", line.model_parameters},
              {"ranks", chosen.spec.np},
              {"predicted", nullptr},
              {"reason", null_if_empty(line.impossible)}};
  if (line.forecast) {
    result["predicted"] = {{"step_time_s", line.forecast->step_time_s},
                           {"peak_memory_bytes_per_rank", static_cast<double>(line.forecast->rank_bytes)},
                           {"peak_memory_bytes", line.forecast->all_bytes},
                           {"cost_source", line.forecast->cost_source}};
  }
  return result;
}

/// A guess from the data sheet is marked as one.
std::string mark(const Listed& line, const std::string& text) {
  return line.forecast->cost_source == "calibrated" ? text : "~" + text;
}

void print(const std::vector<SelectedCase>& cases, const std::vector<Listed>& lines, std::ostream& out) {
  constexpr const char* row = "{:>5} {:>11} {:>11} {:>11}  {}\n";
  fmt::print(out, row, "ranks", "parameters", "step time", "per rank", "case");
  bool guessed = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Listed& line = lines[i];
    const std::string size = fmt::format("{:.2f} M", static_cast<double>(line.model_parameters) / 1e6);
    if (!line.forecast) {
      fmt::print(out, row, cases[i].spec.np, size, "-", "-", cases[i].id + "  impossible: " + line.impossible);
      continue;
    }
    fmt::print(out, row, cases[i].spec.np, size, mark(line, human_seconds(line.forecast->step_time_s)),
               mark(line, human_bytes(static_cast<double>(line.forecast->rank_bytes))), cases[i].id);
    guessed = guessed || line.forecast->cost_source != "calibrated";
  }
  if (guessed) fmt::print(out, "~ from the data sheet, not measured: {}\n", to_type("calibrate CASE"));
}

/// What the last listing worked out is not worked out again.
std::vector<Listed> lines_of(const std::vector<SelectedCase>& cases, const CalibrationFile& calibration,
                             const Knowledge& knowledge) {
  const auto path = listing_path(knowledge.machine);
  const std::string key = listing_key(knowledge.machine, calibration);
  ListedById known = read_listing(path, key);
  const std::size_t before = known.size();
  std::vector<Listed> lines = listed(cases, knowledge, known);
  if (known.size() > before) keep_listing(path, key, known);
  return lines;
}

void add_tables(CLI::App& app, std::optional<WordTable>& target) {
  for (const WordTable table : enum_values<WordTable>) {
    const auto take = [&target, table] {
      if (target && *target != table) {
        throw usage_error("list", fmt::format("--{} --{}", to_text(*target), to_text(table)), "one table at a time");
      }
      target = table;
    };
    app.add_flag_callback(fmt::format("--{}", to_text(table)), take, std::string(table_help(table)))
        ->group("Instead of cases, the words that ids and options are made of");
  }
}

}  // namespace

void add_options(CLI::App& app, ListOptions& options) {
  add_selection(app, options.selection);
  add_calibration(app, options.calibration);
  add_tables(app, options.table);
  app.add_flag("--json", options.json, "As JSON");
}

void check(const ListOptions& options) {
  const Selection& selection = options.selection;
  if (!options.table || (selection.empty() && selection.schedule.empty())) return;
  throw usage_error(
      "list", fmt::format("--{}", to_text(*options.table)),
      "nothing that chooses cases (CASE, --set, --filter, --where, --schedule) beside it",
      fmt::format("{} prints the whole table, with --json to search in; {} lists cases",
                  to_type(fmt::format("list --{}", to_text(*options.table))), to_type("list --set NAME")));
}

ExitCode list_cases(const ListOptions& options, const Start& start) {
  if (options.table) {
    start.out << (options.json ? table_json(*options.table).dump(1) + "\n" : table_text(*options.table));
    return ExitCode::ok;
  }
  const auto [machine, file] = target_of("", options.calibration, start.progress);
  const Knowledge knowledge = knowledge_of(machine, file);
  const std::vector<SelectedCase> cases = select(options.selection, catalogue());
  const std::vector<Listed> lines = lines_of(cases, file, knowledge);
  if (options.json) {
    json document = json::array();
    for (std::size_t i = 0; i < cases.size(); ++i) document.push_back(to_json(cases[i], lines[i]));
    start.out << document.dump(1) << '\n';
  } else {
    print(cases, lines, start.out);
  }
  return ExitCode::ok;
}

}  // namespace parabench::suite
