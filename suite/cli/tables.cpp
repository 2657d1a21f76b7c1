#include "suite/cli/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "analytic/hardware/hardware.h"
#include "base/called.h"
#include "base/case_id.h"
#include "base/case_key.h"
#include "base/choice.h"
#include "base/json_null.h"
#include "base/json_text.h"
#include "datasets/spec/dataset.h"
#include "models/spec/nets/nets.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/cases/sets.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

constexpr int most_refused = 16;

/// The words of a cell in lines of at most `most` characters; a longer word has a line of its own.
std::vector<std::string> folded(const std::string& cell, std::size_t most) {
  std::istringstream words(cell);
  std::string word;
  words >> word;
  // What a cell is indented by stays.
  std::vector<std::string> lines{std::string(cell.find_first_not_of(' '), ' ') + word};
  while (words >> word) {
    if (lines.back().size() + 1 + word.size() <= most) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

/// Left-aligned columns, cells folded to `most` characters; an empty cell is "-".
std::string aligned(const std::vector<Row>& rows, std::size_t most) {
  std::vector<std::vector<std::vector<std::string>>> folds;
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    auto& cells = folds.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) {
      cells.push_back(folded(row[c].empty() ? "-" : row[c], most));
      for (const std::string& line : cells.back()) widths[c] = std::max(widths[c], line.size());
    }
  }
  std::string text;
  for (const auto& cells : folds) {
    const std::size_t lines = std::ranges::max(cells, {}, &std::vector<std::string>::size).size();
    for (std::size_t l = 0; l < lines; ++l) {
      std::string line;
      for (std::size_t c = 0; c < cells.size(); ++c)
        line += fmt::format("{:<{}}  ", l < cells[c].size() ? cells[c][l] : "", widths[c]);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return text;
}

/// `[layers=12,hidden=512]` with what each parameter accepts.
std::string brackets(const std::vector<ChoiceParameter>& parameters) {
  std::string text;
  for (const ChoiceParameter& one : parameters)
    text += fmt::format("{}{}={} ({})", text.empty() ? "" : ", ", one.name, value_text(one),
                        one.words.empty() ? fmt::format("{} to {}", one.low, one.high)
                                          : fmt::format("{}", fmt::join(one.words, " or ")));
  return text;
}

json to_json(const std::vector<ChoiceParameter>& parameters) {
  json list = json::array();
  for (const ChoiceParameter& one : parameters)
    if (one.words.empty())
      list.push_back({{"name", one.name}, {"default", one.value}, {"low", one.low}, {"high", one.high}});
    else
      list.push_back({{"name", one.name}, {"default", value_text(one)}, {"words", one.words}});
  return list;
}

/// All keys that a strategy reads besides those that every case has.
std::string readers(const CaseKey& key) {
  if (!key.is_of_strategies()) return std::string(key.readers);
  std::vector<std::string_view> names;
  for (const plan::Strategy& strategy : plan::strategies())
    if (strategy.uses(key.name)) names.push_back(strategy.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string name_with_parameters(const plan::Strategy& strategy) {
  std::vector<std::string> parameters;
  for (const plan::StrategyParameter& one : strategy.parameters) parameters.push_back(fmt::format("{}=", one.name));
  return parameters.empty() ? std::string(strategy.name)
                            : fmt::format("{}[{}]", strategy.name, fmt::join(parameters, ","));
}

std::string strategies_text() {
  std::vector<Row> rows = {{"strategy", "family", "np means", "keys", "accepts", "paper"}};
  for (const plan::Strategy& strategy : plan::strategies()) {
    rows.push_back({name_with_parameters(strategy), std::string(to_text(strategy.family)),
                    std::string(to_text(strategy.ranks)), fmt::format("{}", fmt::join(strategy.keys, " ")),
                    std::string(strategy.accepts), std::string(strategy.paper)});
  }
  std::vector<Row> summaries = {{"strategy", "what it does"}};
  for (const plan::Strategy& strategy : plan::strategies()) {
    summaries.push_back({std::string(strategy.name), std::string(strategy.summary)});
    for (const plan::StrategyParameter& one : strategy.parameters) {
      summaries.push_back(
          {fmt::format("  {}=", one.name), fmt::format("{}: {}; default: {}", one.help, one.expected, one.usual)});
    }
  }
  return aligned(rows, 30) + "P: ranks of a copy, M: micro-batches, p: rank within its copy\n\n" +
         aligned(summaries, 90);
}

json refused_pairs(const plan::Strategy& strategy) {
  json pairs = json::array();
  if (!strategy.refuse || !strategy.uses("micro")) return pairs;
  Case spec;
  for (spec.np = 1; spec.np <= most_refused; ++spec.np) {
    for (spec.micro = 1; spec.micro <= most_refused; ++spec.micro) {
      if (strategy.refuse(strategy.pipe(spec))) pairs.push_back({spec.np, spec.micro});
    }
  }
  return pairs;
}

/// With its usual parameters.
bool is_synchronous(const plan::Strategy& strategy) {
  Case spec;
  spec.strategy.name = strategy.name;
  return !plan::delays_updates(spec);
}

json to_json(const plan::Strategy& strategy) {
  json parameters = json::array();
  for (const plan::StrategyParameter& one : strategy.parameters) {
    parameters.push_back({{"name", one.name}, {"default", one.usual}, {"expected", one.expected}, {"help", one.help}});
  }
  const bool fixed = !strategy.uses("chunks") && !strategy.from_file;
  return {{"name", strategy.name},
          {"family", to_text(strategy.family)},
          {"summary", strategy.summary},
          {"paper", null_if_empty(strategy.paper)},
          {"ranks", to_text(strategy.ranks)},
          {"keys", strategy.keys},
          {"parameters", std::move(parameters)},
          {"stages_per_rank", fixed ? json(strategy.stages({})) : json()},
          {"accepts", null_if_empty(strategy.accepts)},
          {"refused", refused_pairs(strategy)},
          {"synchronous", is_synchronous(strategy)},
          {"crossed", strategy.schedule.stages == plan::StageOrder::crossed},
          {"splits_backwards", strategy.splits_backwards()},
          {"copies", strategy.uses("dp")},
          {"graph", strategy.uncapturable.empty()},
          {"schedule_from_file", strategy.from_file},
          {"makespan", null_if_empty(strategy.makespan.formula)}};
}

std::string models_text() {
  std::vector<Row> rows = {{"model", "parameters in brackets", "what it is"}};
  for (const models::Net& row : models::nets()) rows.push_back({row.name, brackets(row.parameters), row.summary});
  return aligned(rows, 50);
}

std::string datasets_text() {
  std::vector<Row> rows = {
      {"data set", "sample", "classes", "training", "validation", "source", "parameters in brackets"}};
  for (const datasets::DatasetRow& row : datasets::dataset_rows()) {
    const datasets::DatasetSpec& spec = row.spec;
    rows.push_back({spec.name, to_text(spec.sample), std::to_string(spec.classes), std::to_string(spec.train_size),
                    std::to_string(spec.validation_size), std::string(to_text(spec.source)), brackets(row.parameters)});
  }
  return aligned(rows, 30);
}

std::string keys_text() {
  std::vector<Row> rows = {{"key", "default", "accepts", "what it is", "read by"}};
  for (const CaseKey& key : case_keys()) {
    rows.push_back({std::string(key.name), key.required ? "required" : default_text(key), accepted_text(key),
                    std::string(key.help), readers(key)});
  }
  return aligned(rows, 30);
}

json to_json(const CaseKey& key) {
  json strategies_reading;
  if (key.is_of_strategies()) {
    strategies_reading = json::array();
    for (const plan::Strategy& strategy : plan::strategies())
      if (strategy.uses(key.name)) strategies_reading.push_back(strategy.name);
  }
  return {{"name", key.name},
          {"type", to_text(key.type)},
          {"required", key.required},
          {"default", null_if_empty(default_text(key))},
          {"accepts", accepted_text(key)},
          {"choices",
           key.choices.empty() ? json() : json(std::vector<std::string>(key.choices.begin(), key.choices.end()))},
          {"help", key.help},
          {"read_by", readers(key)},
          {"strategies", std::move(strategies_reading)},
          {"since_schema", key.since}};
}

json to_json(const models::Net& row) {
  return {{"name", row.name}, {"summary", row.summary}, {"parameters", to_json(row.parameters)}};
}

json to_json(const datasets::DatasetRow& row) {
  const datasets::DatasetSpec& spec = row.spec;
  return {{"name", spec.name},
          {"sample", spec.sample.dims()},
          {"classes", spec.classes},
          {"train_size", spec.train_size},
          {"validation_size", spec.validation_size},
          {"source", to_text(spec.source)},
          {"parameters", to_json(row.parameters)}};
}

std::string sets_text() {
  std::vector<Row> rows = {{"set", "cases", "what for"}};
  for (const CaseSet& set : case_sets())
    rows.push_back({std::string(set.name), std::to_string(set.cases().size()), std::string(set.help)});
  return aligned(rows, 90) + to_type("list --set NAME shows the cases, run --set NAME runs them.\n");
}

json to_json(const CaseSet& set) {
  json ids = json::array();
  for (const Case& spec : set.cases()) ids.push_back(to_id(spec));
  return {{"name", set.name}, {"summary", set.help}, {"cases", std::move(ids)}};
}

std::string hardware_text() {
  std::vector<Row> rows = {{"hardware", "GPUs", "cores", "hosts", "what it is"}};
  for (const analytic::Hardware& hardware : analytic::shipped_hardware()) {
    const analytic::MachineInfo& machine = hardware.machine;
    const bool gpus = !machine.gpus.empty();
    rows.push_back({machine.sheet->name,
                    gpus ? fmt::format("{} x {}", machine.gpus.front().count, machine.gpus.front().name) : "none",
                    std::to_string(machine.cores), machine.sheet->network ? "many" : "1", hardware.summary});
  }
  return aligned(rows, 90) + to_type("predict CASE --hardware NAME predicts for one; --json shows the files.\n");
}

json hardware_json() {
  json list = json::array();
  for (const analytic::HardwareFile& file : analytic::shipped_hardware_files())
    list.push_back(parse_json(file.text, std::string(file.path)));
  return list;
}

template <class Rows>
json list_of(const Rows& rows) {
  json list = json::array();
  for (const auto& row : rows) list.push_back(to_json(row));
  return list;
}

}  // namespace

std::string_view table_help(WordTable table) {
  switch (table) {
    case WordTable::strategies: return "Strategies: family, keys, ranks and micro-batches that they accept, papers";
    case WordTable::models: return "Models and their parameters";
    case WordTable::datasets: return "Data sets: shapes, sizes and their parameters";
    case WordTable::keys: return "Keys of a case id: defaults, ranges and who reads them";
    case WordTable::sets: return "Sets of cases that --set names";
    case WordTable::hardware: return "Machines whose data sheets predict --hardware knows by name";
  }
  return "";
}

std::string table_text(WordTable table) {
  switch (table) {
    case WordTable::strategies: return strategies_text();
    case WordTable::models: return models_text();
    case WordTable::datasets: return datasets_text();
    case WordTable::keys: return keys_text();
    case WordTable::sets: return sets_text();
    case WordTable::hardware: return hardware_text();
  }
  return "";
}

json table_json(WordTable table) {
  switch (table) {
    case WordTable::strategies: return list_of(plan::strategies());
    case WordTable::models: return list_of(models::nets());
    case WordTable::datasets: return list_of(datasets::dataset_rows());
    case WordTable::keys: return list_of(case_keys());
    case WordTable::sets: return list_of(case_sets());
    case WordTable::hardware: return hardware_json();
  }
  return {};
}

}  // namespace parabench::suite
