#include "results/export_csv.h"

#include <string_view>
#include <vector>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/units_text.h"
#include "results/main_numbers.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += c;
    out += c;
  }
  out += '"';
  return out;
}

void append(std::string& text, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    text += csv_cell(cells[i]);
  }
  text += "\n";
}

std::vector<std::string> headings() {
  std::vector<std::string> out = {"id", "model", "dataset", "strategy"};
  for (const CaseKey& key : case_keys()) out.emplace_back(key.name);
  for (const char* name : {"status", "reason", "equivalence", "counts", "plan_hash"}) out.emplace_back(name);
  for (const MainNumber& number : main_numbers()) out.push_back(full_name(number));
  for (const char* name : {"date", "version", "git", "launcher"}) out.emplace_back(name);
  return out;
}

}  // namespace

std::string results_csv(const ResultsFile& file) {
  std::string text;
  append(text, headings());
  for (const Record& record : file.records) {
    const Case& spec = record.parameters;
    std::vector<std::string> cells = {record.id, to_text(spec.model), to_text(spec.dataset), to_text(spec.strategy)};
    for (const CaseKey& key : case_keys()) cells.push_back(value_text(spec, key));
    cells.emplace_back(to_text(record.status));
    cells.push_back(record.reason);
    cells.emplace_back(to_text(record.equivalence.status));
    cells.emplace_back(counts(record) ? "true" : "false");
    cells.push_back(record.plan ? record.plan->hash : "");
    for (const MainNumber& number : main_numbers()) {
      const auto value = number.of(record);
      cells.push_back(value ? print_number(*value) : "");
    }
    for (const std::string& cell : {file.context.date, file.program.version, file.program.git, file.context.launcher})
      cells.push_back(cell);
    append(text, cells);
  }
  return text;
}

}  // namespace parabench::results
