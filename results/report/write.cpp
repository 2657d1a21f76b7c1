#include "results/report/write.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
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
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    throw usage_error("--out", folder.string(), "a folder that is there or can be made",
                      error ? error.message() : "it is no folder");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw usage_error("--out", folder.string(), "a folder that can be written", std::strerror(errno));
  }
  for (const auto& [name, text] : report_texts(report)) write_atomically(folder / name, text);
}

}  // namespace parabench::results
