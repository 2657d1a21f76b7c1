// How ranks are started: a template of words with {np}, {hosts} and {program}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "suite/launch/allocation.h"

namespace parabench::suite {

/// Facts of this host, and of the job that runs here, that launchers care about.
struct LaunchHost {
  int slots = 1;  ///< what mpirun counts: the job's, else physical cores of this process' affinity mask
  bool root = false;
  Allocation allocation;
};
/// Throws usage_error where the batch system's variables cannot be read.
LaunchHost this_host();

struct Launcher {
  std::string name;                ///< "mpirun", "srun", "local", or the template itself
  std::vector<std::string> words;  ///< "{program}" stands for the program and its arguments
};

/// A preset (`mpirun`, `srun`, `local`) or a TEMPLATE, split at blanks with shell quotes, that holds the word {program}
/// (or {command}, the same) and, to start more than one process, {np}; {hosts} is the allocation's hosts, with commas:
/// "mpirun -np {np} --host {hosts} {program}". Throws usage_error.
Launcher parse_launcher(std::string_view name_or_template);

/// What starts ranks where nobody says: inside a Slurm job srun, if it speaks PMIx, else mpirun.
struct UsualLauncher {
  Launcher launcher;
  std::string why;  ///< a sentence for stderr; "" outside of a Slurm job
};
UsualLauncher usual_launcher(const Allocation& allocation);

/// The words of one launch of `program` in `np` processes. Preset mpirun adds --allow-run-as-root when root,
/// --oversubscribe when np exceeds the slots, and where hosts may be lost soon notices it; srun adds --overcommit when
/// np exceeds the job's processors. Throws usage_error when the launcher cannot start np processes.
std::vector<std::string> launch_command(const Launcher& launcher, int np, const std::vector<std::string>& program,
                                        const LaunchHost& host);

/// Whether all ranks will surely be of this host: a preset, and neither a job nor a default host file that may name
/// other hosts.
bool stays_on_this_host(const Launcher& launcher);

/// What `launch_command` adds by itself, as a sentence for stderr; "" when nothing.
std::string additions(const Launcher& launcher, int np, const LaunchHost& host);

/// Throws environment_error, with what to install, when the launcher's program is not there, and usage_error where
/// this program was itself started as a rank: launchers do not nest.
void require_launcher(const Launcher& launcher);

/// One line that a POSIX shell reads back as these words.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace parabench::suite
