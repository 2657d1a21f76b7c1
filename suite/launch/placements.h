// Where a launcher puts the ranks of cases.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/placement.h"
#include "suite/cases/selection.h"
#include "suite/launch/workplace.h"

namespace parabench::suite {

/// Of so many ranks.
using Placements = std::map<int, Placement>;

/// Numbers of ranks whose places only the launcher knows: of cases that it starts, where all ranks need not be of this
/// host.
std::set<int> unknown_placements(const std::vector<SelectedCase>& chosen, const Launcher& launcher);

/// Asks it, by a launch of each number that does nothing else, and says where ranks are that are on several hosts.
/// What could not be found out is a note, and not in the result. Throws Interrupted.
Placements find_placements(const std::set<int>& ranks, Workplace& workplace);

}  // namespace parabench::suite
