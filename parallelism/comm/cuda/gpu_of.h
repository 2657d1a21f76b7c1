// Which GPU a rank takes.
#pragma once

namespace parabench::comm {

/// The GPU of local rank `local_rank` of `local_ranks` on this node, of `visible` ones: its own number where there are
/// as many or more; the only one where a job scheduler shows each task just its own (visible == 1 and `private_gpus`);
/// else, with `sharing` (comm:mpi and comm:threads can; NCCL refuses), in turn. Throws environment_error when several
/// ranks would have to share without it, and when none is visible.
int gpu_of(int local_rank, int local_ranks, int visible, bool private_gpus, bool sharing);

}  // namespace parabench::comm
