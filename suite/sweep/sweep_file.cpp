#include "suite/sweep/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/case_id.h"
#include "base/file.h"
#include "base/units_text.h"
#include "parallelism/plan/strategies/parameters.h"
#include "suite/cases/sets.h"
#include "suite/cases/where.h"
#include "suite/run/forecast.h"
#include "suite/run/preflight.h"
#include "suite/run/prepare.h"
#include "suite/sweep/sweep_grid.h"
#include "suite/sweep/sweep_reader.h"
#include "suite/sweep/toml.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// A name that is a folder's, safe in every shell and file system.
std::string folder_name(const JsonReader& value) {
  const std::string text = text_of(value);
  const auto safe = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  if (text == "latest") throw value.error("another name: latest is the link to the last one");
  if (text.empty() || text.size() > 64 || text[0] == '.' || text[0] == '-' || !std::ranges::all_of(text, safe))
    throw value.error("a folder's name: up to 64 letters, digits, '-', '_' and '.'");
  return text;
}

RunOptions read_run(const JsonReader& table, const fs::path& folder) {
  std::vector<std::string_view> known;
  for (const RunOption& option : run_options())
    if (option.of_sweep()) known.push_back(option.name.substr(2));
  require_known(table, known);
  RunOptions options;
  for (const RunOption& option : run_options()) {
    const std::string name(option.name.substr(2));
    if (!option.of_sweep() || !table.has(name)) continue;
    const JsonReader value = table.at(name);
    if (option.value.empty()) {
      if (value.as<bool>()) option.read(options, "on");
      continue;
    }
    std::string text = text_of(value);
    if (option.value == "DIR" || option.value == "FILE") text = (folder / text).lexically_normal();
    at_place(value, fmt::format("what {} takes", option.name), [&] { option.read(options, text); });
  }
  return options;
}

std::optional<int> read_count(const JsonReader& table, std::string_view key) {
  return table.has(key) ? std::optional(table.get_at_least<int>(key, 1)) : std::nullopt;
}

SlurmOptions read_slurm(const JsonReader& table) {
  constexpr std::array<std::string_view, 11> keys = {
      "partition",     "account",        "qos",     "time",    "at-once", "exclusive", "cores-per-node",
      "gpus-per-node", "ranks-per-node", "options", "prologue"};
  require_known(table, keys);
  SlurmOptions slurm;
  const auto word = [&](std::string_view key) { return table.has(key) ? text_of(table.at(key)) : ""; };
  slurm.partition = word("partition");
  slurm.account = word("account");
  slurm.qos = word("qos");
  if (table.has("time")) {
    const JsonReader time = table.at("time");
    slurm.time_s =
        at_place(time, "a time such as 90s, 10min or 2h", [&] { return parse_seconds("time", text_of(time)).value; });
    if (!(*slurm.time_s > 0 && *slurm.time_s <= 1e8)) throw time.error("a time above 0, in seconds up to 1e8");
  }
  slurm.at_once = read_count(table, "at-once").value_or(slurm.at_once);
  if (table.has("exclusive")) slurm.exclusive = table.get<bool>("exclusive");
  slurm.cores_per_node = read_count(table, "cores-per-node");
  slurm.gpus_per_node = read_count(table, "gpus-per-node");
  slurm.ranks_per_node = read_count(table, "ranks-per-node");
  if (table.has("options")) {
    for (const JsonReader& item : items_of(table.at("options"))) {
      slurm.options.push_back(text_of(item));
      if (!slurm.options.back().starts_with("-")) throw item.error("an option of sbatch such as --constraint=ib");
    }
  }
  if (table.has("prologue")) slurm.prologue = texts_of(table.at("prologue"));
  return slurm;
}

using Test = std::function<bool(const Case&)>;

Test read_conditions(const JsonReader& value) {
  auto conditions = at_place(value, "comparisons as --where takes them", [&] { return parse_where(text_of(value)); });
  return [conditions](const Case& spec) {
    return std::ranges::all_of(conditions, [&](const Condition& c) { return holds(c, spec); });
  };
}

/// The case that is meant by neither `where` nor `exclude` is silently none.
Test read_choice(const JsonReader& document) {
  std::vector<Test> wanted, unwanted;
  if (document.has("where")) wanted.push_back(read_conditions(document.at("where")));
  if (document.has("exclude"))
    for (const JsonReader& item : items_of(document.at("exclude"))) unwanted.push_back(read_conditions(item));
  return [wanted, unwanted](const Case& spec) {
    const auto says_so = [&](const Test& test) { return test(spec); };
    return std::ranges::all_of(wanted, says_so) && std::ranges::none_of(unwanted, says_so);
  };
}

/// Throws usage_error where a case cannot run anywhere with these options.
void require_possible(const SelectedCase& one, const RunOptions& options) {
  require_data(make_subject(one), !options.launches.data.empty());
  check_options({one}, options);
}

void add_cases(Sweep& sweep, const JsonReader& document) {
  std::set<std::string> seen;
  if (document.has("cases")) {
    for (const JsonReader& item : items_of(document.at("cases"))) {
      at_place(item, "a case that can run", [&] {
        const Case spec = plan::canonical(parse_case(text_of(item)));
        const SelectedCase one{spec, to_id(spec), true};
        require_possible(one, sweep.options);
        if (seen.insert(one.id).second) sweep.cases.push_back(one);
      });
    }
  }
  std::vector<Case> candidates;
  const auto add = [&](const std::vector<Case>& more) {
    candidates.insert(candidates.end(), more.begin(), more.end());
  };
  if (document.has("grid"))
    for (const JsonReader& grid : items_of(document.at("grid"))) add(grid_cases(grid));
  if (document.has("sets"))
    for (const JsonReader& item : items_of(document.at("sets")))
      add(at_place(item, "a set of cases", [&] { return find_set(text_of(item)).cases(); }));
  const Test meant = read_choice(document);
  for (const Case& spec : candidates) {
    const SelectedCase one{spec, to_id(spec), false};
    if (!meant(spec) || !seen.insert(one.id).second) continue;
    try {
      require_possible(one, sweep.options);
      sweep.cases.push_back(one);
    } catch (const Error& error) {
      sweep.left_out.push_back({one.id, error.what()});
    }
  }
}

}  // namespace

Sweep sweep_from_json(const JsonReader& document, const fs::path& folder) {
  constexpr std::array<std::string_view, 9> keys = {"name",    "system", "cases", "sets", "where",
                                                    "exclude", "grid",   "run",   "slurm"};
  require_known(document, keys);
  Sweep sweep;
  sweep.name = folder_name(document.at("name"));
  if (document.has("system")) sweep.system = folder_name(document.at("system"));
  if (document.has("run")) sweep.options = read_run(document.at("run"), folder);
  if (document.has("slurm")) sweep.slurm = read_slurm(document.at("slurm"));
  add_cases(sweep, document);
  return sweep;
}

Sweep read_sweep(const fs::path& path) {
  const nlohmann::json document =
      path.extension() == ".json" ? read_json(path) : toml_to_json(read_text(path), path.string());
  return sweep_from_json(JsonReader(document, path.string() + ": sweep"), fs::absolute(path).parent_path());
}

}  // namespace parabench::suite
