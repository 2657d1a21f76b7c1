// Results files: read, written again, and given to everything that shows, exports or compares them.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "results/baseline.h"
#include "results/compare_files.h"
#include "results/compare_text.h"
#include "results/drift.h"
#include "results/exchange_table.h"
#include "results/export_openmetrics.h"
#include "results/file.h"
#include "results/report/csv.h"
#include "results/report/report.h"
#include "results/summary.h"
#include "results/table.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

results::ResultsFile read(std::string_view text) { return results::results_from_json(parse_json(text, "results")); }

bool show(results::ResultsFile file) {
  results::results_table(file.records);
  results::exchange_table(file.exchanges);
  results::mean_errors(file.records);
  results::report_csv(results::make_report({{"fuzz", file}}));
  results::results_openmetrics(file);
  const results::CompareRules rules;
  const results::FilesComparison comparison = results::compare_files(file, file, rules);
  results::comparison_table(comparison, rules, {"a", "", ""}, {"b", "", ""});
  results::comparison_json(comparison, rules, {"a", "", ""}, {"b", "", ""}).dump();
  results::fill_baselines(file.records);
  results::fill_adjusted_errors(file.records);
  return true;
}

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto file = fuzz::value_or_error([&] { return fuzz::read(fuzz::as_text(data, size)); });
  if (!file) return 0;
  const std::string text = results::results_text(*file);
  fuzz::require(results::results_text(fuzz::read(text)) == text, "results that were written read as the same results");
  fuzz::value_or_error([&] { return fuzz::show(*file); });
  return 0;
}
