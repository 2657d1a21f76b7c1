// One child process in a group of its own, ended for certain.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "suite/launch/signals.h"

namespace parabench::suite {

struct ProcessRequest {
  std::vector<std::string> command;      ///< the first word is looked up in PATH
  std::filesystem::path output, errors;  ///< files for stdout and stderr; stdin is closed
  /// Text in the command line of every process of this launch on this host, the launcher's ranks included, which
  /// leave the process group: when the child has ended, whatever still carries it is killed. Must be unique to the
  /// launch.
  std::string mark;
  double timeout_s = 0;
  double grace_s = 3;  ///< between TERM and KILL
  /// Asked about every second, with the child's process id, for what is wrong with the launch; "" for nothing, else
  /// the command is stopped. Empty: nobody watches.
  std::function<std::string(pid_t)> watch = {};
  /// Called at a first Ctrl-C, which then lets the command go on to its end. Empty: a first one stops it.
  std::function<void()> finishing = {};
};

struct ProcessEnd {
  enum class How { exited, signalled, timed_out, unresponsive, interrupted };
  How how = How::exited;
  int code = 0;         ///< exit status, or the number of the signal
  std::string trouble;  ///< of unresponsive: what `watch` said
  double seconds = 0;
};

/// Runs the command to its end. On time-out, trouble or interruption: TERM to the group, grace, KILL to the processes
/// that carry the mark (so that a launcher can still tidy up after its ranks), grace, KILL to the group. Another
/// interruption leaves out the grace. The child dies with this program. Throws environment_error when the command
/// cannot be started.
ProcessEnd run_process(const ProcessRequest& request, Signals& signals);

/// Processes of this host, but for the caller, whose command line holds `mark`.
std::vector<pid_t> processes_carrying(std::string_view mark);

/// Full path of a program in PATH (or of a path with a slash); "" when there is none that can be executed.
std::string find_program(std::string_view name);

}  // namespace parabench::suite
