// Tables of terms in which a stage that is like the one before it is only counted.
#pragma once

#include <string>
#include <vector>

namespace parabench::suite {

/// Rows that begin with the name of a term. Where the terms of a stage, "forward[stage 4]" or "message[stage 4 to
/// 5]", say the same as those of the stage before, in the same order, they are left out, and behind the stages that
/// are alike a row tells which these are. Others stay as they are. O(rows).
std::vector<std::vector<std::string>> without_alike_stages(const std::vector<std::vector<std::string>>& rows);

}  // namespace parabench::suite
