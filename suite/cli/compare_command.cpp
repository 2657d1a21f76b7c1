#include "suite/cli/compare_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_text.h"
#include "base/units_text.h"
#include "results/compare_text.h"
#include "suite/cli/options.h"

namespace parabench::suite {

void add_options(CLI::App& app, CompareOptions& options) {
  results::CompareRules& rules = options.rules;
  app.add_option("A", options.a, "Results file")->required()->type_name("");
  app.add_option("B", options.b, "Results file: is it FASTER or SLOWER than A?")->required()->type_name("");
  app.add_option_function<std::vector<std::string>>(
         "--cases",
         [&rules](const std::vector<std::string>& ids) {
           rules.ids = {ids.at(0), ids.at(1)};
         },
         "One case of A with another one of B, which may be the same file")
      ->expected(2)
      ->type_name("ID_A ID_B");
  app.add_option_function<std::string>(
         "--threshold",
         [&rules](const std::string& text) {
           rules.threshold = parse_share("--threshold", text);
           if (rules.threshold >= 1) throw usage_error("--threshold", text, "a share below 1", "try 5% or 0.05");
         },
         "Smaller differences do not matter: SAME")
      ->type_name("SHARE")
      ->default_str(fmt::format("{:g}%", 100 * rules.threshold));
  app.add_option_function<std::string>(
         "--alpha",
         [&rules](const std::string& text) {
           rules.alpha = parse_share("--alpha", text);
           if (rules.alpha < 1e-6 || rules.alpha > 0.5)
             throw usage_error("--alpha", text, "a share from 0.000001 to 0.5", "try 0.05");
         },
         "How often noise alone may look like a difference; intervals hold the rest")
      ->type_name("SHARE")
      ->default_str(fmt::format("{:g}", rules.alpha));
  app.add_option_function<std::vector<std::string>>(
         "--allow-different",
         [&rules](const std::vector<std::string>& names) {
           for (const std::string& name : names)
             rules.allowed.push_back(parse_enum<results::WorkAspect>("--allow-different", name));
         },
         fmt::format("Compare although the work differs in these, separated by commas: {}",
                     fmt::join(enum_names<results::WorkAspect>, ", ")))
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME,...");
  app.add_flag("--json", options.json, "As JSON");
}

ExitCode compare_results(const CompareOptions& options, const Start& start) {
  const results::ResultsFile a = results::read_results(options.a), b = results::read_results(options.b);
  const results::FilesComparison comparison = results::compare_files(a, b, options.rules);
  const results::ComparedFile head_a{options.a, a.context.date, a.program.git};
  const results::ComparedFile head_b{options.b, b.context.date, b.program.git};
  if (options.json) {
    const nlohmann::json document = results::comparison_json(comparison, options.rules, head_a, head_b);
    start.out << json_text(document) << '\n';
  } else {
    start.out << results::comparison_table(comparison, options.rules, head_a, head_b);
  }
  const auto slower = [](const results::CaseComparison& c) { return c.verdict == results::Verdict::slower; };
  if (std::ranges::any_of(comparison.cases, slower) ||
      std::ranges::any_of(comparison.left_out, &results::LeftOut::broken))
    return ExitCode::case_failed;
  return comparison.cases.empty() ? ExitCode::nothing_matched : ExitCode::ok;
}

}  // namespace parabench::suite
