// Whole files, read and written with errors that name them.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parabench {

/// The bytes of a file. Throws usage_error naming the path when it is absent, a folder or unreadable.
std::string read_text(const std::filesystem::path& path);

/// The document in a file. Throws usage_error naming the path, as read_text and parse_json (json_text.h) do.
nlohmann::json read_json(const std::filesystem::path& path);

/// Replaces the file at once: temporary in the same folder, fsync, rename; a reader sees the old file or the new one,
/// also after a crash. Follows a symbolic link; writes straight into what is not a regular file (/dev/null, a pipe).
/// Throws usage_error when the path cannot name a file (no such folder, a folder itself), environment_error when the
/// machine refuses (permission, full disk, read-only).
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace parabench
