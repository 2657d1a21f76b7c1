// Sweep files, TOML or, where they begin with '{', JSON: read, read again as JSON, and made into scripts.
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/case_id.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "suite/sweep/sweep_file.h"
#include "suite/sweep/sweep_scripts.h"
#include "suite/sweep/toml.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

using nlohmann::json;

/// Whether the file means few cases. What a grid or a set multiplies is the same code again and, by the hundred, slow.
bool is_small(const json& document) {
  if (!document.is_object()) return true;
  const auto length = [](const json& value) { return value.is_array() ? value.size() : 1; };
  if (document.contains("sets") && length(document["sets"]) > 1) return false;
  std::size_t cases = document.contains("cases") ? length(document["cases"]) : 0;
  const json none = json::array(), grid = document.value("grid", none);
  for (const json& one : grid.is_array() ? grid : json::array({grid})) {
    std::size_t combinations = 1;
    for (const auto& axis : one.items())
      if (combinations <= 100) combinations *= length(axis.value());
    cases += combinations;
  }
  return cases <= 100;
}

/// Everything of a sweep that decides what is run.
std::string shown(const suite::Sweep& sweep) {
  std::string text = sweep.name + "\n" + sweep.system + "\n";
  for (const auto& one : sweep.left_out) text += one.id + " " + one.reason + "\n";
  const suite::ScriptContext context{sweep, "/opt/parabench", "/runs/here"};
  for (const auto& script : suite::by_nodes(sweep, 8))
    text +=
        suite::index_text(script.cases) + suite::slurm_script(context, script) + suite::local_script(context, script);
  return text;
}

void check(const suite::Sweep& sweep) {
  std::set<std::string> ids, folders;
  std::size_t in_scripts = 0;
  for (const auto& one : sweep.cases) {
    require(to_id(parse_case(one.id)) == one.id, "an id of a sweep reads as the same case");
    ids.insert(one.id);
  }
  const auto scripts = value_or_error([&] { return suite::by_nodes(sweep, 8); });
  if (!scripts) return;
  for (const auto& script : *scripts) {
    require(script.request.nodes > 0 && script.request.tasks_per_node > 0, "a script asks for nodes and tasks");
    for (const auto& entry : script.cases) {
      folders.insert(entry.folder);
      require(entry.id.find_first_of(" \t\n") == std::string::npos, "ids hold no blanks");
      require(entry.folder.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
                  std::string::npos,
              "a case's folder has a safe name");
    }
    in_scripts += script.cases.size();
  }
  require(ids.size() == sweep.cases.size(), "no case twice");
  require(in_scripts == sweep.cases.size() && folders.size() == in_scripts, "every case once, in a folder of its own");
}

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const std::string_view text = fuzz::as_text(data, size);
  const auto read = [](const nlohmann::json& document) {
    return suite::sweep_from_json(JsonReader(document, "sweep"), "/sweeps");
  };
  nlohmann::json document;
  const auto sweep = fuzz::value_or_error([&]() -> std::optional<suite::Sweep> {
    document = text.starts_with('{') ? parse_json(text, "sweep") : suite::toml_to_json(text, "sweep");
    if (!fuzz::is_small(document)) return std::nullopt;
    return read(document);
  });
  if (!sweep || !*sweep) return 0;
  fuzz::check(**sweep);
  const suite::Sweep again = read(parse_json(document.dump(), "sweep"));
  const auto same = fuzz::value_or_error([&] { return fuzz::shown(again) == fuzz::shown(**sweep); });
  fuzz::require(same.value_or(true), "a TOML file and the same in JSON are one sweep");
  return 0;
}
