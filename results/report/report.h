// What a report says of the records of one or more results files: which of them count and why others do not, errors,
// speed-ups within a file, who is on the front of time against memory. Everything that draws or prints a report takes
// these rows; nothing else decides.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/file.h"
#include "results/report/scaling.h"
#include "results/summary.h"

namespace parabench::results {

struct ReportFile {
  std::string label;  ///< tells the files of a report apart: the name without .json, with its folder where names repeat
  ResultsFile results;
};

/// Reads results files. Throws usage_error for a file that cannot be read, is none, or is given twice.
std::vector<ReportFile> read_report_files(std::span<const std::filesystem::path> paths);

/// What is derived from one record. Rows of the same id in several files stay rows of their own.
struct ReportRow {
  std::size_t file = 0, record = 0;  ///< place in the report's files
  std::size_t strategy_place = 0;    ///< by which drawings choose how the strategy looks
  bool counts = false;               ///< the rule of summary.h
  std::string why_not;               ///< why a row does not count; "" where it does
  std::optional<CaseError> error;
  std::optional<bool> inside;  ///< whether the measured median lies in the predicted interval; nullopt: there is none
  std::vector<Scaling> scalings;
  std::string
      why_no_scaling;  ///< "" where there are some, or can be none: of references, and of rows that do not count
  /// Index of the group whose rows do the same training of the same batch on as many cores of the same hardware: only
  /// within a group times and bytes are choices against each other. Rows that count and were measured have one.
  std::optional<std::size_t> group;
  bool on_measured_front = false, on_predicted_front = false;
};

/// Errors of one strategy's rows that count, of one kind (see mean_errors).
struct StrategyErrors {
  std::string strategy;  ///< its name without parameters
  MeanError mean;
};

struct Report {
  std::vector<ReportFile> files;  ///< baselines and adjusted errors filled, each from its own file
  std::vector<ReportRow> rows;    ///< every record of every file, in order
  std::vector<std::string> groups;
  std::vector<MeanError> means;
  std::vector<StrategyErrors> strategies;  ///< by name
  const Record& record(const ReportRow& row) const { return files[row.file].results.records[row.record]; }
};

/// O(records x references). Speed-ups are over records of the same file; groups are of all files that name the same
/// hardware (processors and GPUs of their hosts). A strategy's place is that in `strategy_order`, whatever the report
/// holds; strategies that this does not name come behind, by name.
Report make_report(std::vector<ReportFile> files, std::span<const std::string_view> strategy_order = {});

/// Of each file, each reason once why rows are compared with nothing: "night: no speed-up of 3 rows (ID, ...): the
/// nearest sequential case in the same file differs in optimizer".
std::vector<std::string> missing_scalings(const Report& report);

/// The part of a record's id behind "model/dataset/"; the whole id where it is not so formed.
std::string short_id(const Record& record);
/// "model/dataset" as in ids.
std::string workload(const Record& record);
/// The strategy and every key that is not its default, but for np and batch: what a line over np has in common.
std::string series(const Record& record);

}  // namespace parabench::results
