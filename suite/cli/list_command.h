// Command list: the catalogue, or one of the tables of words.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/cli/start.h"
#include "suite/cli/tables.h"

namespace parabench::suite {

struct ListOptions {
  Selection selection;
  std::optional<WordTable> table;  ///< instead of cases
  bool json = false;
  std::string calibration;  ///< "" for the file of this machine
};
void add_options(CLI::App& app, ListOptions& options);
/// Throws usage_error for what does not go together.
void check(const ListOptions& options);
/// A table, or the chosen cases of the catalogue with model size, ranks, predicted seconds and bytes. Impossible cases
/// say why.
ExitCode list_cases(const ListOptions& options, const Start& start);

}  // namespace parabench::suite
