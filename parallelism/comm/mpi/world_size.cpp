#include "parallelism/comm/mpi/world_size.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace parabench::comm {
namespace {

/// Of the variable, 1 where it is not set or no number.
int promised_by(const char* variable) {
  const char* text = std::getenv(variable);
  int promised = 1;
  if (text) std::from_chars(text, text + std::strlen(text), promised);
  return promised;
}

Error not_introduced(std::string_view variable, int promised) {
  return environment_error("MPI world size", "1", fmt::format("{}, as {} says", promised, variable),
                           "the launcher and this MPI library do not know each other; start with `srun --mpi=pmix` "
                           "(`srun --mpi=list` shows what there is) or with the library's own `mpirun`");
}

}  // namespace

void check_introduced() {
  const int tasks = promised_by("SLURM_STEP_NUM_TASKS");
  if (tasks <= 1 || !std::getenv("SLURM_PROCID")) return;
  for (char** variable = environ; *variable; ++variable)
    for (std::string_view family :
         {"PMI_", "PMI2_", "PMIX_", "OMPI_COMM_", "MPI_LOCALRANKID", "MV2_COMM_", "PALS_", "FLUX_TASK_"})
      if (std::string_view(*variable).starts_with(family)) return;
  throw not_introduced("SLURM_STEP_NUM_TASKS", tasks);
}

void check_world_size(int seen) {
  if (seen != 1) return;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE"}) {
    if (!std::getenv(variable)) continue;
    const int promised = promised_by(variable);
    if (promised > 1) throw not_introduced(variable, promised);
    return;
  }
}

}  // namespace parabench::comm
