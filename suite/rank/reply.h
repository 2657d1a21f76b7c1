// How a rank tells that it failed.
#pragma once

#include <exception>
#include <filesystem>

#include "base/strong.h"

namespace parabench::rank {

/// Writes the rank's error file. Never throws: the error in hand matters more than one about its report.
void report_failure(const std::filesystem::path& folder, Rank rank, const std::exception& error) noexcept;
/// Waits until the error file of `rank` is there; false when it is not after `limit_s`. For ranks that another one
/// stopped: ending the launch before that one has written the cause would hide it.
bool await_error(const std::filesystem::path& folder, Rank rank, double limit_s);

}  // namespace parabench::rank
