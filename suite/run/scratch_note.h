// Which scratch folders runs used, told beside their journal: a run that is killed cannot remove its own.
#pragma once

#include <filesystem>

#include "suite/run/progress.h"

namespace parabench::suite {

/// `note` has a line for each folder. Removes those that it tells of, and their lines, and adds that a run on this host
/// uses `scratch`. A folder that a process of this host has in its command line stays, and so does one of another host,
/// whose processes are not seen; `progress` says so, and the line remains. Nothing else is removed than folders that a
/// run of this user made (launch.h). For the owner of the journal's lock: the run before is over. Never throws: where
/// the note cannot be written, a folder may stay for good.
void take_over_scratch(const std::filesystem::path& note, const std::filesystem::path& scratch,
                       Progress& progress) noexcept;

}  // namespace parabench::suite
