#include "suite/sweep/nodes.h"

#include <algorithm>

#include "base/case_id.h"
#include "base/error.h"

namespace parabench::suite {
namespace {

int over(int total, int each) { return (total + each - 1) / each; }

}  // namespace

NodeRequest nodes_for(const Case& spec, const SlurmOptions& slurm, int cores) {
  const bool on_gpus = spec.device == DeviceKind::cuda;
  if (on_gpus && !slurm.gpus_per_node) {
    throw usage_error("sweep.slurm.gpus-per-node", "missing", "the GPUs of a node, for " + to_id(spec),
                      "write gpus-per-node = 4 below [slurm]");
  }
  const int gpus = slurm.gpus_per_node.value_or(0);
  if (spec.comm == CommKind::threads || is_emulated(spec))
    return {1, 1, spec.np * spec.threads, on_gpus ? std::min(spec.np, gpus) : 0};
  const int fitting = on_gpus ? gpus : slurm.cores_per_node.value_or(cores) / spec.threads;
  const int ranks = std::max(1, slurm.ranks_per_node.value_or(fitting));
  const int nodes = over(spec.np, ranks), tasks = over(spec.np, nodes);
  return {nodes, tasks, spec.threads, on_gpus ? std::min(tasks, gpus) : 0};
}

}  // namespace parabench::suite
