// The MPI library's own segments in shared memory.
#pragma once

#include <string>

namespace parabench::comm {

/// Open MPI keeps the names of its segments (4 MiB per rank in /dev/shm) until MPI_Finalize, so a launch that
/// is killed together with its launcher leaves them behind. Takes the names away once every rank has mapped
/// those of its node, and returns the name of this rank's own. Collective over MPI_COMM_WORLD; does nothing
/// where the library has none, or maps them later.
std::string unlink_own_segment();

/// An empty file in its place, just before MPI_Finalize, which complains when it finds no name to unlink.
void restore_own_segment(const std::string& name);

}  // namespace parabench::comm
