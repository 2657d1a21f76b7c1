#include "results/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/case_id.h"
#include "base/case_text.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "results/baseline.h"
#include "results/drift.h"
#include "results/report/pareto.h"

namespace parabench::results {
namespace {

/// Processors and GPUs of a file's hosts, however many hosts there are.
std::set<std::string> hardware(const Context& context) {
  std::set<std::string> out;
  for (const Host& host : context.hosts) out.insert(fmt::format("{} x {}", host.cores, host.cpu));
  for (const HostGpu& gpu : context.gpus) out.insert(gpu.name);
  return out;
}

std::vector<std::string> labels(std::span<const std::filesystem::path> paths) {
  std::map<std::string, int> names;
  for (const auto& path : paths) ++names[path.stem().string()];
  std::vector<std::string> out;
  for (const auto& path : paths) {
    const std::string name = path.stem().string();
    out.push_back(names[name] == 1 ? name : (path.parent_path() / name).string());
  }
  return out;
}

ReportRow row_of(const Record& record) {
  ReportRow row;
  row.counts = counts(record);
  row.why_not = why_not_counted(record);
  row.error = case_error(record);
  const auto interval = record.predicted ? known_interval(*record.predicted) : std::nullopt;
  if (interval && record.measured) {
    const double median = record.measured->step_time_s.median;
    row.inside = interval->first <= median && median <= interval->second;
  }
  return row;
}

/// Speed-ups over references of the same file alone: another run has other launches, and its machine another load.
void fill_scalings(Report& report) {
  for (std::size_t f = 0; f < report.files.size(); ++f) {
    std::vector<const Record*> references;
    for (const Record& record : report.files[f].results.records)
      if (is_reference(record)) references.push_back(&record);
    for (ReportRow& row : report.rows) {
      if (row.file != f) continue;
      row.scalings = scalings(report.record(row), references);
      row.why_no_scaling = why_no_scaling(report.record(row), references);
    }
  }
}

std::string cores_text(const Case& spec) {
  if (spec.device == DeviceKind::cuda) return counted(spec.np, "GPU");
  return counted(cores(spec), is_emulated(spec) ? "emulated device" : "core");
}

/// What the rows of a group have in common, keys that are defaults left out.
std::string group_name(const Record& record) {
  const Case& same = record.parameters;
  const Case usual;
  std::string name = fmt::format("{}, batch {}, {}", workload(record), same.batch, cores_text(same));
  if (same.precision != usual.precision) name += fmt::format(", {}", to_text(same.precision));
  if (same.layout != usual.layout) name += fmt::format(", {}", to_text(same.layout));
  if (same.optimizer != usual.optimizer) name += fmt::format(", {}", to_text(same.optimizer));
  if (same.input != usual.input) name += fmt::format(", input {}", to_text(same.input));
  if (same.graph) name += ", CUDA graph";
  if (trains_otherwise(record)) name += fmt::format(", not sequential training ({})", record.equivalence.reference);
  return name;
}

void fill_fronts(Report& report, std::span<const std::size_t> rows) {
  std::vector<Cost> measured, predicted;
  for (const std::size_t i : rows) {
    const Record& record = report.record(report.rows[i]);
    measured.push_back({record.measured->step_time_s.median, static_cast<double>(peak_bytes(*record.measured))});
    predicted.push_back(record.predicted
                            ? Cost{record.predicted->step_time_s, static_cast<double>(peak_bytes(*record.predicted))}
                            : Cost{0, 0});
  }
  const std::vector<bool> in_run = pareto_front(measured), in_prediction = pareto_front(predicted);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    report.rows[rows[k]].on_measured_front = in_run[k];
    report.rows[rows[k]].on_predicted_front = in_prediction[k];
  }
}

void fill_groups(Report& report) {
  std::vector<std::vector<std::size_t>> groups;  // of rows
  const auto context = [&report](std::size_t row) -> const Context& {
    return report.files[report.rows[row].file].results.context;
  };
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Record& record = report.record(report.rows[i]);
    if (!report.rows[i].counts || !record.measured) continue;
    const auto found = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
      const Record& first = report.record(report.rows[group.front()]);
      const Case& other = first.parameters;
      // Who trains something else competes with its like alone.
      const bool both_usual = !trains_otherwise(first) && !trains_otherwise(record);
      if (!both_usual && first.equivalence.reference != record.equivalence.reference) return false;
      return other.batch == record.parameters.batch && cores(other) == cores(record.parameters) &&
             same_training(other, record.parameters) && hardware(context(group.front())) == hardware(context(i));
    });
    report.rows[i].group = static_cast<std::size_t>(found - groups.begin());
    if (found == groups.end()) {
      groups.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  std::map<std::string, int> names;
  for (const auto& group : groups) ++names[group_name(report.record(report.rows[group.front()]))];
  for (const auto& group : groups) {
    const ReportRow& first = report.rows[group.front()];
    const std::string name = group_name(report.record(first));
    report.groups.push_back(names[name] == 1 ? name : fmt::format("{} ({})", name, report.files[first.file].label));
    fill_fronts(report, group);
  }
}

void fill_means(Report& report) {
  std::vector<const Record*> all;
  std::map<std::string, std::vector<const Record*>> by_strategy;
  for (const ReportRow& row : report.rows) {
    all.push_back(&report.record(row));
    by_strategy[all.back()->parameters.strategy.name].push_back(all.back());
  }
  report.means = mean_errors(all);
  for (const auto& [name, records] : by_strategy)
    for (const MeanError& mean : mean_errors(records)) report.strategies.push_back({name, mean});
}

void fill_strategy_places(Report& report, std::span<const std::string_view> order) {
  std::map<std::string, std::size_t, std::less<>> places;
  for (const ReportRow& row : report.rows) places.emplace(report.record(row).parameters.strategy.name, 0);
  std::size_t next = order.size();
  for (auto& [name, place] : places) {
    const auto found = std::ranges::find(order, std::string_view(name));
    place = found == order.end() ? next++ : static_cast<std::size_t>(found - order.begin());
  }
  for (ReportRow& row : report.rows) row.strategy_place = places.at(report.record(row).parameters.strategy.name);
}

/// Behind the second '/'; npos: there are fewer.
std::size_t behind_data_set(std::string_view id) {
  const std::size_t first = id.find('/');
  const std::size_t second = first == std::string_view::npos ? first : id.find('/', first + 1);
  return second == std::string_view::npos || second + 1 == id.size() ? std::string_view::npos : second + 1;
}

}  // namespace

std::vector<ReportFile> read_report_files(std::span<const std::filesystem::path> paths) {
  const std::vector<std::string> names = labels(paths);
  std::set<std::filesystem::path> seen;
  std::vector<ReportFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::error_code ignored;
    if (!seen.insert(std::filesystem::weakly_canonical(paths[i], ignored)).second) {
      throw usage_error("report", paths[i].string(), "each results file once");
    }
    files.push_back({names[i], read_results(paths[i])});
  }
  return files;
}

Report make_report(std::vector<ReportFile> files, std::span<const std::string_view> strategy_order) {
  Report report{.files = std::move(files)};
  for (ReportFile& file : report.files) {
    fill_baselines(std::span(file.results.records));
    fill_adjusted_errors(std::span(file.results.records));
  }
  for (std::size_t f = 0; f < report.files.size(); ++f) {
    const std::vector<Record>& records = report.files[f].results.records;
    for (std::size_t r = 0; r < records.size(); ++r) {
      ReportRow row = row_of(records[r]);
      row.file = f;
      row.record = r;
      report.rows.push_back(std::move(row));
    }
  }
  fill_strategy_places(report, strategy_order);
  fill_scalings(report);
  fill_groups(report);
  fill_means(report);
  return report;
}

std::vector<std::string> missing_scalings(const Report& report) {
  std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < report.rows.size(); ++i)
    if (const ReportRow& row = report.rows[i]; !row.why_no_scaling.empty())
      rows[{row.file, row.why_no_scaling}].push_back(i);
  std::vector<std::string> out;
  for (const auto& [reason, of] : rows)
    out.push_back(fmt::format("{}: no speed-up of {} ({}{}): {}", report.files[reason.first].label,
                              counted(of.size(), "row"), report.record(report.rows[of.front()]).id,
                              of.size() > 1 ? ", ..." : "", reason.second));
  return out;
}

std::string short_id(const Record& record) {
  const std::size_t at = behind_data_set(record.id);
  return at == std::string::npos ? record.id : record.id.substr(at);
}

std::string workload(const Record& record) {
  return fmt::format("{}/{}", to_text(record.parameters.model), to_text(record.parameters.dataset));
}

std::string series(const Record& record) {
  const std::string id = to_id(record.parameters);
  std::string out;
  for (std::size_t begin = behind_data_set(id); begin < id.size();) {
    const std::size_t end = std::min(id.find('/', begin), id.size());
    const std::string_view word = std::string_view(id).substr(begin, end - begin);
    if (!word.starts_with("np:") && !word.starts_with("batch:"))
      out += fmt::format("{}{}", out.empty() ? "" : "/", word);
    begin = end + 1;
  }
  return out;
}

}  // namespace parabench::results
