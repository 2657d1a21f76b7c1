#include "suite/cli/validate_model_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analytic/validation/judgement_text.h"
#include "analytic/validation/read_facts.h"
#include "analytic/validation/tables.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/writable.h"

namespace parabench::suite {
namespace {

using analytic::Judgement;

void judge(std::string_view text, const std::string& name, std::vector<Judgement>& judgements) {
  const std::vector<Judgement> of_file = analytic::judge(analytic::read_facts(text, name));
  judgements.insert(judgements.end(), of_file.begin(), of_file.end());
}

}  // namespace

void add_options(CLI::App& app, ValidateModelOptions& options) {
  app.add_option("FILE", options.files, "Tables in CSV (docs/validation.md) instead of those in the program")
      ->type_name("");
  app.add_option("--json", options.json, "As JSON, with every row; - for stdout")->type_name("FILE");
}

ExitCode validate_model(const ValidateModelOptions& options, const Start& start) {
  const bool to_file = !options.json.empty() && options.json != "-";
  if (to_file) require_writable_file("--json", options.json);
  std::vector<Judgement> judgements;
  for (const std::string& file : options.files) judge(read_text(file), file, judgements);
  if (options.files.empty())
    for (const analytic::FactTable& table : analytic::fact_tables())
      judge(table.text, std::string(table.name), judgements);
  const auto document = [&] { return json_text({{"judgements", analytic::judgements_json(judgements)}}) + "\n"; };
  if (to_file) write_atomically(options.json, document());
  start.out << (options.json == "-" ? document() : analytic::judgements_text(judgements));
  return ExitCode::ok;
}

}  // namespace parabench::suite
