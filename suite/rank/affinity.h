// Which cores a rank uses.
#pragma once

#include <string>
#include <vector>

namespace parabench::rank {

/// Cores that this process may use, ascending.
std::vector<int> allowed_cores();

/// Gives the calling thread (and threads it starts later) `threads` cores of its own when all `ranks` ranks of
/// the node fit into the allowed cores, the rank's share in order; otherwise leaves the cores as they are.
/// Returns the resulting set.
std::vector<int> take_cores(int rank, int ranks, int threads);

/// Cores for each of `ranks` ranks of a node that compute on GPUs, of `allowed` ones: their loaders, the drivers and
/// NCCL have threads beside the one that gives out work. At least one.
int cores_beside_gpu(int allowed, int ranks);

/// Lets the calling thread use exactly `cores`.
void use_cores(const std::vector<int>& cores);

/// "0-3,8" as Linux prints cpusets.
std::string to_text(const std::vector<int>& cores);

}  // namespace parabench::rank
