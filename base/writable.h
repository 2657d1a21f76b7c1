// Whether what a run leaves can be written: asked before its first launch.
#pragma once

#include <string>
#include <string_view>

namespace parabench::suite {

/// Tries to make a file beside `path`, and removes it. Throws naming `option`: usage_error where the path cannot name a
/// file (its folder is not there, it is a folder itself), environment_error where the machine refuses (permission,
/// read-only, full). Of what is no regular file (/dev/null, a pipe) only the permission counts. "" and "-" are none.
void require_writable_file(std::string_view option, const std::string& path);

/// The same for files in a folder, which is made where it is not there. "" is none.
void require_writable_folder(std::string_view option, const std::string& path);

}  // namespace parabench::suite
