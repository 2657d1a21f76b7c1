#include "suite/launch/launch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/units_text.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/strategies/peer.h"
#include "suite/launch/memory_kills.h"
#include "suite/launch/process.h"
#include "suite/launch/watchdog.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// The last lines of what a launch printed, errors preferred, as one indented block; "" when it printed nothing.
std::string last_words(const fs::path& folder) {
  for (const char* name : {"stderr.txt", "stdout.txt"}) {
    std::ifstream file(folder / name);
    std::deque<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      if (line.find_first_not_of(" \t\r-") == std::string::npos) continue;
      lines.push_back(line.substr(0, 300));
      if (lines.size() > 8) lines.pop_front();
    }
    if (!lines.empty()) return fmt::format("\n    {}", fmt::join(lines, "\n    "));
  }
  return "";
}

std::string describe(const ProcessEnd& end) {
  switch (end.how) {
    case ProcessEnd::How::exited:
      // Launchers and shells tell so that a signal ended a process of theirs.
      if (end.code > 128 && end.code < 128 + NSIG)
        return fmt::format("the launch exited with code {}, as where signal {} ({}) ends a rank", end.code,
                           end.code - 128, strsignal(end.code - 128));
      return fmt::format("the launch exited with code {}{}", end.code, end.code == 0 ? " and left no reply" : "");
    case ProcessEnd::How::signalled:
      return fmt::format("the launch was ended by signal {} ({})", end.code, strsignal(end.code));
    case ProcessEnd::How::timed_out:
      return fmt::format("timed out after {} (--timeout allows more)", human_seconds(end.seconds));
    case ProcessEnd::How::unresponsive: return end.trouble;
    case ProcessEnd::How::interrupted: return "interrupted";
  }
  return "";
}

/// "; its ranks were on n1, n2"; "" for those of one host.
std::string several_hosts(const std::vector<results::Host>& hosts) {
  std::vector<std::string> names;
  for (const results::Host& host : hosts) names.push_back(host.name);
  return names.size() > 1 ? fmt::format("; its ranks were on {}", fmt::join(names, ", ")) : "";
}

/// The plan that the ranks report must be the one they were given.
void require_plan(const protocol::Reply& reply, const LaunchRequest& request) {
  const std::string given = request.exchanges ? protocol::hash(*request.exchanges)
                            : request.plan    ? plan::hash(*request.plan)
                                              : reply.plan_hash;
  if (reply.plan_hash != given)
    throw usage_error("plan_hash of the reply", reply.plan_hash, given, "is parabench-rank of the same build?");
}

/// Reads what a launch that ended well answered; what is wrong with it becomes the reason.
void take_reply(LaunchResult& result, const LaunchRequest& request, const fs::path& folder) {
  try {
    result.reply = protocol::read_reply(folder, request.phase);
    require_plan(*result.reply, request);
  } catch (const std::exception& error) {
    result.reply.reset();
    result.reason = error.what() + last_words(folder);
  }
}

/// The trace is beside the point: where it cannot be kept, the reply stands.
void keep_trace(LaunchResult& result, const LaunchRequest& request, const fs::path& folder) {
  try {
    write_atomically(request.trace_file, read_text(protocol::trace_file(folder)));
  } catch (const std::exception& error) {
    result.lost_trace = error.what();
  }
}

/// srun tells of the others' TERM where one rank's KILL made it end them.
bool ended_by_a_signal(const ProcessEnd& end) {
  return end.how == ProcessEnd::How::signalled || (end.how == ProcessEnd::How::exited && end.code > 128);
}

/// Whether lack of memory ended the launch: as this kernel counts, or as Slurm says of ranks on other hosts.
std::string lack_of_memory(const MemoryKills& before, const ProcessEnd& end, const fs::path& folder) {
  MemoryKills after = memory_kills();
  // The host counts kills of whatever else runs on it, too.
  if (!ended_by_a_signal(end)) after.host = before.host;
  const std::string killed = killed_for_memory(before, after);
  if (!killed.empty()) return killed;
  std::ifstream file(folder / "stderr.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.find("oom_kill") != std::string::npos || line.find("oom-kill") != std::string::npos)
      return "Slurm reports that a rank was killed for exceeding its memory";
  }
  return "";
}

fs::path beside() { return fs::read_symlink("/proc/self/exe").parent_path() / rank_program_name; }

bool in_one_process(const std::optional<PeerLaunch>& peer) {
  return peer && plan::find_peer_product(peer->product).one_process;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = fs::path(base && *base ? base : "/tmp") / scratch_pattern;
  if (!mkdtemp(pattern.data())) {
    throw environment_error("temporary folder", pattern, "a folder that can be made", "set TMPDIR");
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::optional<fs::path> find_rank_program() {
  if (const char* chosen = std::getenv("PARABENCH_RANK"); chosen && *chosen) {
    if (access(chosen, X_OK) != 0)
      throw environment_error("PARABENCH_RANK", chosen, "parabench-rank, an executable", "unset it, or name one");
    return fs::absolute(chosen);
  }
  const fs::path path = beside();
  return access(path.c_str(), X_OK) == 0 ? std::optional(path) : std::nullopt;
}

fs::path rank_program() {
  const auto found = find_rank_program();
  if (found) return *found;
  throw environment_error("parabench-rank", beside().string(), "an executable beside parabench",
                          fmt::format("it is not built here; type: {}", build_rank_program));
}

std::optional<Case> case_of(const LaunchRequest& request) {
  if (request.exchanges) return parabench::case_of(request.exchanges->setting);
  return request.plan ? std::optional(request.plan->spec) : std::nullopt;
}

Launcher launcher_for(const Case& spec, const Launcher& launcher) {
  const bool alone = spec.np == 1 && launcher.name == "mpirun" && find_program("mpirun").empty();
  return alone || spec.comm == CommKind::threads ? parse_launcher("local") : launcher;
}

int processes(const Case& spec, const Launcher& launcher) {
  return launcher.name == "local" && spec.comm != CommKind::mpi ? 1 : spec.np;
}

fs::path plan_file(const fs::path& folder) { return folder / "plan.json"; }

std::vector<std::string> command_line(const LaunchRequest& request, const Launcher& launcher, const LaunchHost& host,
                                      const fs::path& plan, const fs::path& folder) {
  if (request.peer) return peer_command(*request.peer, request.steps, request.warmup, folder);
  protocol::RankCommand command{.phase = request.phase,
                                .reply = folder,
                                .steps = request.steps,
                                .warmup = request.warmup,
                                .skip_corrupt = request.skip_corrupt,
                                .trace = !request.trace_file.empty()};
  if (!request.data.empty()) command.data = fs::absolute(request.data);
  const auto words = [&] {
    std::vector<std::string> all = {request.program.empty() ? rank_program() : request.program};
    const auto given = protocol::arguments(command);
    all.insert(all.end(), given.begin(), given.end());
    return all;
  };
  const std::optional<Case> spec = case_of(request);
  if (!spec) return words();
  command.plan = plan;
  if (request.phase == protocol::Phase::hand_over) return words();
  const Launcher own = launcher_for(*spec, launcher);
  const int count = processes(*spec, own);
  command.one_process = spec->comm == CommKind::nccl && count < spec->np;
  return launch_command(own, count, words(), host);
}

LaunchResult launch(const LaunchRequest& request, const Launcher& launcher, const LaunchHost& host,
                    const fs::path& folder, Signals& signals) {
  fs::create_directories(folder);
  const fs::path plan_path = plan_file(folder);
  if (request.plan) {
    nlohmann::json plan = plan::to_json(*request.plan);
    if (request.durations) plan::add_durations(plan, *request.plan, *request.durations);
    write_atomically(plan_path, plan.dump());
  }
  if (request.exchanges) write_atomically(plan_path, protocol::to_json(*request.exchanges).dump());

  ProcessRequest process;
  process.command = command_line(request, launcher, host, plan_path, folder);
  process.output = folder / "stdout.txt";
  process.errors = folder / "stderr.txt";
  process.mark = folder;
  process.timeout_s = request.timeout_s;
  process.finishing = request.finishing;
  const std::optional<Case> spec = case_of(request);
  const bool alone = !spec || request.phase == protocol::Phase::hand_over || in_one_process(request.peer);
  const int all = alone ? 1 : spec->np;
  Watchdog watchdog({folder, process.mark, host_name(), all, request.longest_operation_s});
  process.watch = [&](pid_t child) { return watchdog.look(child, Watchdog::Clock::now()); };
  const MemoryKills kills = memory_kills();
  const ProcessEnd end = run_process(process, signals);

  LaunchResult result;
  result.command = shell_line(process.command);
  result.seconds = end.seconds;
  result.hosts = protocol::read_hosts(folder);
  result.host_of_rank = protocol::read_host_of_rank(folder);
  result.interrupted = end.how == ProcessEnd::How::interrupted;
  const auto cause = protocol::read_cause(folder);
  if (result.interrupted) {
    result.reason = "interrupted";
  } else if (end.how == ProcessEnd::How::exited && end.code == 0 && !cause && protocol::has_reply(folder)) {
    take_reply(result, request, folder);
    if (result.reply && !request.trace_file.empty()) keep_trace(result, request, folder);
  } else if (cause && cause->kind != protocol::FailureKind::peer && end.how == ProcessEnd::How::exited) {
    result.kind = cause->kind;
    result.reason = fmt::format("rank {}: {}", cause->rank.value, cause->message);
  } else {
    result.reason = describe(end);
    const std::string killed = lack_of_memory(kills, end, folder);
    if (!killed.empty()) result.reason = fmt::format("{} ({})", killed, result.reason);
    const int started = protocol::started_ranks(folder);
    if (started < all) result.reason += fmt::format("; {} of {} had started", started, counted(all, "rank"));
    result.reason += several_hosts(result.hosts);
    result.reason += cause ? fmt::format("; rank {}: {}", cause->rank.value, cause->message) : last_words(folder);
  }
  if (!result.reply) result.last_operations = last_operations(folder);
  return result;
}

}  // namespace parabench::suite
