#include "results/export_openmetrics.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/units_text.h"
#include "results/main_numbers.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string_view unit_name(NumberUnit unit) {
  switch (unit) {
    case NumberUnit::none: return "";
    case NumberUnit::s: return "seconds";
    case NumberUnit::bytes: return "bytes";
    case NumberUnit::samples_per_s: return "samples_per_second";
    case NumberUnit::flops_per_s: return "flops_per_second";
    case NumberUnit::relative: return "ratio";
  }
  return "";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string sample(std::string_view name, const Labels& labels, std::string_view value) {
  std::string text;
  for (const auto& [label, content] : labels)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label, escaped(content));
  return fmt::format("{}{{{}}} {}\n", name, text, value);
}

std::string head(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
  std::string text = fmt::format("# TYPE {} {}\n", name, type);
  if (!unit.empty()) text += fmt::format("# UNIT {} {}\n", name, unit);
  return text + fmt::format("# HELP {} {}.\n", name, help);
}

/// The id and the keys that every id names.
Labels labels_of(const Record& record) {
  const Case& spec = record.parameters;
  Labels out = {{"id", record.id},
                {"model", to_text(spec.model)},
                {"dataset", to_text(spec.dataset)},
                {"strategy", to_text(spec.strategy)}};
  for (const CaseKey& key : case_keys())
    if (key.required) out.emplace_back(key.name, value_text(spec, key));
  return out;
}

}  // namespace

std::string results_openmetrics(const ResultsFile& file) {
  std::vector<const Record*> records;
  std::set<std::string_view> ids;
  for (const Record& record : file.records)
    if (ids.insert(record.id).second) records.push_back(&record);

  std::string text = head("parabench_run", "info", "", "The run that the results are of");
  text += sample("parabench_run_info",
                 {{"date", file.context.date},
                  {"version", file.program.version},
                  {"git", file.program.git},
                  {"build_type", file.program.build_type},
                  {"launcher", file.context.launcher},
                  {"mpi", file.context.mpi},
                  {"libtorch", file.context.libtorch}},
                 "1");
  text += head("parabench_record_counts", "gauge", "", "Whether the row was measured to its end and is not wrong");
  for (const Record* record : records) {
    Labels labels = labels_of(*record);
    labels.emplace_back("status", to_text(record->status));
    labels.emplace_back("equivalence", to_text(record->equivalence.status));
    text += sample("parabench_record_counts", labels, counts(*record) ? "1" : "0");
  }
  for (const MainNumber& number : main_numbers()) {
    const std::string_view unit = unit_name(number.unit);
    const std::string name = fmt::format("parabench_{}{}{}", number.name, unit.empty() ? "" : "_", unit);
    text += head(name, "gauge", unit, number.help);
    for (const Record* record : records) {
      if (!counts(*record)) continue;
      if (const auto value = number.of(*record)) text += sample(name, labels_of(*record), print_number(*value));
    }
  }
  return text + "# EOF\n";
}

}  // namespace parabench::results
