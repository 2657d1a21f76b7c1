// What files that belong to one case are called.
#pragma once

#include <string>

namespace parabench::suite {

/// The case id as a file name without an extension; of a long one, which file systems refuse, its beginning and the
/// id's hash.
std::string file_name(const std::string& id);

}  // namespace parabench::suite
