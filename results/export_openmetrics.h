// Results for monitoring systems.
#pragma once

#include <string>

#include "results/file.h"

namespace parabench::results {

/// OpenMetrics text, version 1.0 (Prometheus reads it, for instance from its node exporter's text files): the run as
/// `parabench_run_info`, whether each row counts (summary.h) as `parabench_record_counts`, and of the rows that count
/// the main numbers (main_numbers.h) as gauges `parabench_<name>_<unit>`, labelled by id and by the parts that every id
/// has. Of several records of one id only the first stands there, since a series may come once. Ends with `# EOF`.
std::string results_openmetrics(const ResultsFile& file);

}  // namespace parabench::results
