// How many ranks share each stage, where a strategy replicates stages unequally.
#pragma once

#include <vector>

#include "base/case.h"

namespace parabench {

/// From the strategy's parameter `replicas` ("3-1": three ranks for the first stage, one for the second); without it
/// one rank per stage. Throws usage_error for what is no such list, or does not add up to np.
std::vector<int> stage_widths(const Case& spec);

}  // namespace parabench
