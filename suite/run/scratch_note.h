// Which scratch folders runs used, told beside their journal: a run that is killed cannot remove its own.
#pragma once

#include <filesystem>

#include "suite/run/progress.h"

namespace parabench::suite {

/// Adds to `note`, a line for each folder, that a run on this host uses `scratch`. Never throws: without it, a folder
/// stays.
void tell_scratch(const std::filesystem::path& note, const std::filesystem::path& scratch) noexcept;

/// Removes the folders that `note` tells of, and their lines. One that a process of this host has in its command line
/// stays, and so does one of another host, whose processes are not seen; `progress` says so, and the line remains.
/// Nothing else is touched than folders that a run of this user made (launch.h). For the owner of the journal's lock:
/// the run itself is over.
void remove_told_scratch(const std::filesystem::path& note, Progress& progress);

}  // namespace parabench::suite
