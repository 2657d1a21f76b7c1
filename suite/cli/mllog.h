// Results as lines of MLPerf's log.
#pragma once

#include <string>

#include "results/file.h"

namespace parabench::suite {

/// Lines `:::MLLOG {...}` with the fields of mlperf_logging (namespace, time_ms, event_type, key, value, metadata), for
/// each record that counts between one `run_start` and one `run_stop`: MLPerf's keys where there are some
/// (submission_benchmark, global_batch_size, gradient_accumulation_steps, seed, opt_name, opt_base_learning_rate,
/// opt_weight_decay, num_warmup_steps, train_samples), micro_batch_size, pipeline_parallelism and tensor_parallelism as
/// its submitters name them, and data_parallelism and the main numbers (results/main_numbers.h) besides. Strategies
/// whose stages have unequal numbers of ranks tell no data_parallelism. Metadata name the case in `case`, and file and
/// line of what stands for the source: the results file and 0. A results file knows the date of the run and not the
/// time of each event: time_ms is that date, and of `run_stop` that plus the measured steps. It is a log of timings, no
/// submission: nothing trains to a quality. `path` is the name of the results file.
std::string results_mllog(const results::ResultsFile& file, const std::string& path);

}  // namespace parabench::suite
