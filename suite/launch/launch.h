// One launch of parabench-rank: plan file in, reply or reason out.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parallelism/plan/durations.h"
#include "results/file.h"
#include "results/record.h"
#include "suite/launch/launcher.h"
#include "suite/launch/peer.h"
#include "suite/launch/signals.h"
#include "suite/protocol/folder.h"

namespace parabench::suite {

/// How scratch folders are named; each of the last six characters is a letter or a digit.
inline constexpr std::string_view scratch_pattern = "parabench-XXXXXX";

/// A folder that vanishes with its owner; made under TMPDIR (default /tmp), which all hosts of a launch must share.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline constexpr std::string_view rank_program_name = "parabench-rank";

/// What to type where it is not there: sets up what ranks need, builds it, and looks at the machine with it.
inline constexpr std::string_view build_rank_program = "PARABENCH_PRESET=default ./parabench doctor";

/// parabench-rank: PARABENCH_RANK, else beside this program, where there is one. Throws environment_error when
/// PARABENCH_RANK names none.
std::optional<std::filesystem::path> find_rank_program();

/// The same. Throws environment_error when it is not there.
std::filesystem::path rank_program();

struct LaunchRequest {
  protocol::Phase phase = protocol::Phase::probe;
  const plan::Plan* plan = nullptr;                   ///< nullptr: probe, communicate
  const protocol::ExchangeWork* exchanges = nullptr;  ///< communicate
  const plan::Durations* durations = nullptr;         ///< of the plan's operations, on emulated devices
  int steps = 0, warmup = 0;                          ///< measure
  std::filesystem::path data;                         ///< empty: none
  bool skip_corrupt = false;
  std::filesystem::path trace_file;  ///< where the launch's timeline goes; empty: no trace
  double timeout_s = 0;
  double longest_operation_s = 0;  ///< that is expected of the plan: how long ranks may be without a sign of progress
  std::optional<PeerLaunch> peer = {};   ///< measure: another product in the place of parabench-rank
  std::filesystem::path keep = {};       ///< where the launch's folder goes when it has answered; empty: it is removed
  std::filesystem::path program = {};    ///< of the ranks; empty: rank_program()
  std::function<void()> finishing = {};  ///< called at a first Ctrl-C, which lets the launch end; empty: it stops it
};

/// The case whose ranks it starts, also of exchanges; nullopt: a probe.
std::optional<Case> case_of(const LaunchRequest& request);

/// What starts the ranks of a case: `launcher`, or the preset `local` where it is not needed: for ranks that are
/// threads, and for a single rank where there is no mpirun.
Launcher launcher_for(const Case& spec, const Launcher& launcher);

/// Processes of a case's launch: one where `launcher` is `local` and its ranks can be threads (all but those of
/// comm:mpi), else np.
int processes(const Case& spec, const Launcher& launcher);

/// Where a launch that leaves its files in `folder` keeps its plan, or its exchanges.
std::filesystem::path plan_file(const std::filesystem::path& folder);

/// The words of a launch with its plan in `plan` and its reply in `folder`; what --dry-run prints.
std::vector<std::string> command_line(const LaunchRequest& request, const Launcher& launcher, const LaunchHost& host,
                                      const std::filesystem::path& plan, const std::filesystem::path& folder);

struct LaunchResult {
  std::optional<protocol::Reply> reply;
  std::string reason;      ///< no reply: cause, then the last lines printed
  std::string lost_trace;  ///< a reply: why the trace that was asked for is not kept; "" where it is
  protocol::FailureKind kind = protocol::FailureKind::failure;
  bool interrupted = false;
  double seconds = 0;
  std::string command;                                  ///< that was started, for a shell
  std::vector<results::LastOperation> last_operations;  ///< where there is no reply
  std::vector<results::Host> hosts;                     ///< of the ranks that started, as they saw them, each once
  std::vector<std::string> host_of_rank;                ///< by name; empty where not all have started
};

/// Runs one launch with everything it leaves in `folder`, which must be empty. Only a launcher that cannot be
/// started throws (environment_error); whatever happens to the ranks is a reason.
LaunchResult launch(const LaunchRequest& request, const Launcher& launcher, const LaunchHost& host,
                    const std::filesystem::path& folder, Signals& signals);

}  // namespace parabench::suite
