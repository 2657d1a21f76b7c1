// How many nodes the ranks of a case want.
#pragma once

#include "base/case.h"
#include "suite/sweep/sweep_file.h"

namespace parabench::suite {

struct NodeRequest {
  int nodes = 1;
  int tasks_per_node = 1;
  int cores_per_task = 1;
  int gpus_per_node = 0;
};

/// As many nodes as np over the ranks of a node, rounded up, and ranks spread evenly over them. Ranks that are threads
/// of one process (comm:threads) want one node. `cores`: of a node, where the sweep does not say. Throws usage_error
/// where a case on GPUs does not know how many a node has.
NodeRequest nodes_for(const Case& spec, const SlurmOptions& slurm, int cores);

}  // namespace parabench::suite
