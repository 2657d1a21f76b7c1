// Whether MPI sees, or will see, all the ranks that were started.
#pragma once

namespace parabench::comm {

/// Throws environment_error when this process is one of several tasks of Slurm and nobody has introduced them to each
/// other: no variable of PMI, PMIx or a launcher of its own. Open MPI 4 would stop with a text that names neither; Open
/// MPI 5 and MPICH would train one model each.
void check_introduced();

/// Throws environment_error when `seen` is 1 although the launcher's environment promises more ranks. Asked in
/// this order, the first one that is set decides: OMPI_COMM_WORLD_SIZE, SLURM_STEP_NUM_TASKS, SLURM_NTASKS,
/// PMI_SIZE.
void check_world_size(int seen);

}  // namespace parabench::comm
