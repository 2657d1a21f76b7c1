// Reports of few records, for their tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/report/report.h"
#include "tests/results/samples.h"

namespace parabench::results {

inline ReportFile file_of(std::vector<Record> records, const std::string& label = "a") {
  ReportFile file{label, sample_files()[0]};
  file.results.records = std::move(records);
  return file;
}

inline Report report_of(std::vector<Record> records) {
  std::vector<ReportFile> files;
  files.push_back(file_of(std::move(records)));
  return make_report(std::move(files));
}

}  // namespace parabench::results
