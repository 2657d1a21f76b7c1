#include "parallelism/comm/mpi/world_size.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace parabench::comm {

void check_world_size(int seen) {
  if (seen != 1) return;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE"}) {
    const char* text = std::getenv(variable);
    if (!text) continue;
    int promised = 1;
    std::from_chars(text, text + std::strlen(text), promised);
    if (promised > 1) {
      throw environment_error("MPI world size", "1", fmt::format("{}, as {} says", promised, variable),
                              "the launcher and this MPI library do not know each other; start with `srun --mpi=pmix` "
                              "(`srun --mpi=list` shows what there is) or with the library's own `mpirun`");
    }
    return;
  }
}

}  // namespace parabench::comm
