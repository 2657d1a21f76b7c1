// How ranks are started: a template of words with {np} and {command}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace parabench::suite {

/// Facts of this host that launchers care about.
struct LaunchHost {
  int slots = 1;  ///< physical cores of this process' affinity mask: what mpirun counts
  bool root = false;
};
LaunchHost this_host();

struct Launcher {
  std::string name;                ///< "mpirun", "srun", "local", or the template itself
  std::vector<std::string> words;  ///< "{command}" stands for the program and its arguments
};

/// A preset (`mpirun`, `srun`, `local`) or a TEMPLATE, split at blanks with shell quotes, that holds {command} and,
/// to start more than one process, {np}: "mpirun -np {np} --hostfile hosts {command}". Throws usage_error.
Launcher parse_launcher(std::string_view name_or_template);

/// The words of one launch of `program` in `np` processes. Preset mpirun adds --allow-run-as-root when root and
/// --oversubscribe when np exceeds the slots. Throws usage_error when the launcher cannot start np processes.
std::vector<std::string> launch_command(const Launcher& launcher, int np, const std::vector<std::string>& program,
                                        const LaunchHost& host);

/// Whether all ranks will surely be of this host: a preset, and no batch job that may hold other hosts.
bool stays_on_this_host(const Launcher& launcher);

/// What `launch_command` adds by itself, as a sentence for stderr; "" when nothing.
std::string additions(const Launcher& launcher, int np, const LaunchHost& host);

/// Throws environment_error, with what to install, when the launcher's program is not there, and usage_error where
/// this program was itself started as a rank: launchers do not nest.
void require_launcher(const Launcher& launcher);

/// One line that a POSIX shell reads back as these words.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace parabench::suite
