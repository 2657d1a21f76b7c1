// What must be in order before a run's first launch.
#pragma once

#include <vector>

#include "suite/cases/selection.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// Throws usage_error for options that contradict each other or the cases and for files and folders that could not be
/// read later, and as writable.h says for those that could not be written.
void check_run(const std::vector<SelectedCase>& chosen, const RunOptions& options);
/// Its part about files and folders.
void check_files(const RunOptions& options);
/// The part of it that looks at no file.
void check_options(const std::vector<SelectedCase>& chosen, const RunOptions& options);

}  // namespace parabench::suite
