// Texts of all ranks, for one of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Every rank's text, in rank order, on rank 0; nothing on the others. Collective over the control channel. Rank 0
/// receives one text after the other; the others leave when theirs has gone out.
std::vector<std::string> gather_to_root(Communicator& comm, std::string_view text);

}  // namespace parabench::comm
