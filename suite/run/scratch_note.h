// Which scratch folder a run uses, told beside its journal: a run that is killed cannot remove its own.
#pragma once

#include <filesystem>

#include "suite/run/progress.h"

namespace parabench::suite {

/// Writes into `note` that a run on this host uses `scratch`. Never throws: without it, a folder stays.
void tell_scratch(const std::filesystem::path& note, const std::filesystem::path& scratch) noexcept;

/// Removes the folder that `note` tells of, if it is one that a run of this user made on this host (launch.h) and no
/// process has it in its command line; one that is in use stays, and `progress` says so. For the owner of the journal's
/// lock: the run itself is over.
void remove_told_scratch(const std::filesystem::path& note, Progress& progress);

}  // namespace parabench::suite
