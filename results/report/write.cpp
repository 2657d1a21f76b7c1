#include "results/report/write.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/writable.h"
#include "results/report/csv.h"
#include "results/report/figures_json.h"
#include "results/report/latex_table.h"
#include "results/report/numbers.h"
#include "results/report/page.h"

namespace parabench::results {

std::vector<std::pair<std::string_view, std::string>> report_texts(const Report& report) {
  const nlohmann::json figures = figures_json(report);
  return {{"report.html", report_page(report, figures)},
          {"results.csv", report_csv(report)},
          {"table.tex", report_latex_table(report)},
          {"numbers.tex", report_numbers(report)},
          {"figures.json", figures.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n"}};
}

void write_report(const std::filesystem::path& folder, const Report& report) {
  require_writable_folder("--out", folder.string());
  for (const auto& [name, text] : report_texts(report)) write_atomically(folder / name, text);
}

}  // namespace parabench::results
