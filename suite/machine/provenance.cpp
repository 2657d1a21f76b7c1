#include "suite/machine/provenance.h"

#include <unistd.h>

#include "base/date.h"
#include "parabench_version.h"

namespace parabench::suite {

results::ResultsFile describe_run(const Workplace& workplace, const protocol::Offer& capabilities,
                                  const CalibrationFile& calibration, const std::vector<std::string>& argv) {
  results::ResultsFile file;
  file.program = {std::string(program_version), std::string(program_git_hash), program_git_dirty,
                  std::string(program_build_type), std::string(program_flags)};
  file.context.date = utc_now();
  file.context.argv = argv;
  const analytic::MachineInfo& machine = workplace.machine;
  if (runs_here(workplace.host.allocation))
    file.context.hosts = {{machine.host, machine.cpu, machine.cores, machine.memory_bytes, machine.governor, {}}};
  if (capabilities.gpu) file.context.gpus = capabilities.gpu->gpus;
  file.context.mpi = capabilities.mpi;
  file.context.launcher = workplace.options.launcher.name;
  file.context.libtorch = capabilities.libtorch;
  file.context.environment = results::recorded_environment(environ);
  file.context.notes = workplace.notes;
  if (calibration.content) {
    file.calibration = {calibration.path.string(), calibration.content->date, calibration.content->machine.id};
  }
  return file;
}

}  // namespace parabench::suite
