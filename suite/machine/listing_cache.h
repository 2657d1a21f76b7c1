// The lines of the last listing, kept beside the calibration.
#pragma once

#include <filesystem>
#include <string>

#include "suite/machine/knowledge.h"
#include "suite/run/listing.h"

namespace parabench::suite {

/// Where a machine's lines are kept, on this one.
std::filesystem::path listing_path(const analytic::MachineInfo& machine);

/// Of all that lines follow from: the machine, the calibration's bytes and the program, told by its version, its commit
/// and the size and date of its file.
std::string listing_key(const analytic::MachineInfo& machine, const CalibrationFile& calibration);

/// The lines kept under the key; none where there is no file, or it is damaged, or of another key.
ListedById read_listing(const std::filesystem::path& path, const std::string& key);

/// Replaces the file at once; a folder that cannot be written is no error.
void keep_listing(const std::filesystem::path& path, const std::string& key, const ListedById& lines);

}  // namespace parabench::suite
