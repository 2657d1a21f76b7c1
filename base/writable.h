// Whether what a command leaves can be written, and which error it is where it cannot.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace parabench {

/// What the error number of a failed write means: usage_error where the path cannot name such a file (its folder is not
/// there, it is a folder itself), environment_error where the machine refuses (permission, read-only, full).
Error unwritable(std::string_view subject, std::string_view path, std::string_view expected, int error);

/// Tries to make a file beside `path`, and removes it. Throws as unwritable() says, naming `option`. Of what is no
/// regular file (/dev/null, a pipe) only the permission counts. "" and "-" are none.
void require_writable_file(std::string_view option, const std::string& path);

/// The same for files in a folder, which is made where it is not there. "" is none.
void require_writable_folder(std::string_view option, const std::string& path);

}  // namespace parabench
