// Whether MPI sees all the ranks that were started.
#pragma once

namespace parabench::comm {

/// Throws environment_error when `seen` is 1 although the launcher's environment promises more ranks. Asked in
/// this order, the first one that is set decides: OMPI_COMM_WORLD_SIZE, SLURM_STEP_NUM_TASKS, SLURM_NTASKS,
/// PMI_SIZE.
void check_world_size(int seen);

}  // namespace parabench::comm
