#include "suite/cli/compare_command.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/blanks.h"
#include "results/compare_text.h"

namespace parabench::suite {

double read_share(std::string_view option, std::string_view text) {
  std::string_view digits = trimmed(text, " ");
  const bool percent = digits.ends_with('%');
  if (percent) digits = trimmed(digits.substr(0, digits.size() - 1), " ");
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) || value < 0)
    throw usage_error(option, text, "a share that is not below 0", "try 5% or 0.05");
  return percent ? value / 100 : value;
}

ExitCode compare_results(const CompareOptions& options, std::ostream& out) {
  const results::ResultsFile a = results::read_results(options.a), b = results::read_results(options.b);
  const results::FilesComparison comparison = results::compare_files(a, b, options.rules);
  const results::ComparedFile head_a{options.a, a.context.date, a.program.git};
  const results::ComparedFile head_b{options.b, b.context.date, b.program.git};
  if (options.json) {
    const nlohmann::json document = results::comparison_json(comparison, options.rules, head_a, head_b);
    out << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    out << results::comparison_table(comparison, options.rules, head_a, head_b);
  }
  const auto slower = [](const results::CaseComparison& c) { return c.verdict == results::Verdict::slower; };
  if (std::ranges::any_of(comparison.cases, slower) ||
      std::ranges::any_of(comparison.left_out, &results::LeftOut::broken))
    return ExitCode::case_failed;
  return comparison.cases.empty() ? ExitCode::nothing_matched : ExitCode::ok;
}

}  // namespace parabench::suite
