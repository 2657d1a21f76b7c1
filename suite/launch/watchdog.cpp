#include "suite/launch/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/units_text.h"
#include "suite/launch/process.h"

namespace parabench::suite {
namespace {

using protocol::Beat;
using protocol::RankBeat;

double seconds_between(Watchdog::Clock::time_point from, Watchdog::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The state letter of /proc/PID/stat, which follows the program's name in brackets; 0 for a process that is gone.
char state_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto bracket = line.rfind(')');
  return bracket == std::string::npos || bracket + 2 >= line.size() ? '\0' : line[bracket + 2];
}

/// "rank 1", or "ranks 0 to 3" of a process that holds several.
std::string ranks_of(const Beat& beat) {
  if (beat.ranks.size() == 1) return fmt::format("rank {}", beat.ranks[0].rank.value);
  return fmt::format("ranks {} to {}", beat.ranks.front().rank.value, beat.ranks.back().rank.value);
}

int ranks_heard(const std::vector<Beat>& beats) {
  int count = 0;
  for (const Beat& beat : beats) count += static_cast<int>(beat.ranks.size());
  return count;
}

}  // namespace

std::string Watchdog::stopped(pid_t launcher, const std::vector<Beat>& beats) {
  // While not all ranks have been heard of, all of /proc is searched for them; later, that would cost time that the
  // ranks are measured in.
  std::set<pid_t> processes = {launcher};
  if (ranks_heard(beats) < watched_.ranks) {
    for (const pid_t pid : processes_carrying(watched_.mark)) processes.insert(pid);
  }
  for (const Beat& beat : beats)
    if (beat.host == watched_.host) processes.insert(beat.pid);
  std::map<pid_t, int> looks;
  for (const pid_t pid : processes)
    if (state_of(pid) == 'T') looks[pid] = stopped_looks_[pid] + 1;
  stopped_looks_ = std::move(looks);
  for (const auto& [pid, count] : stopped_looks_) {
    if (count < 2) continue;
    const auto beat = std::ranges::find(beats, pid, &Beat::pid);
    const std::string who = beat != beats.end() ? ranks_of(*beat) : pid == launcher ? "the launcher" : "a rank";
    return fmt::format("{} was stopped (process {}, as by SIGSTOP) and would not go on by itself", who, pid);
  }
  return "";
}

std::string Watchdog::silent(const std::vector<Beat>& beats, Clock::time_point now) {
  for (const Beat& beat : beats) {
    Seen& seen = seen_.try_emplace(beat.ranks.front().rank, Seen{beat.number, now}).first->second;
    if (seen.number != beat.number) seen = {beat.number, now};
    if (seconds_between(seen.since, now) > most_silence_s) {
      return fmt::format("{} on {} gave no sign of life for {}", ranks_of(beat), beat.host,
                         human_seconds(seconds_between(seen.since, now)));
    }
  }
  return "";
}

std::string Watchdog::stuck(const std::vector<Beat>& beats, Clock::time_point now) {
  std::uint64_t moves = 0;
  bool all_wait = ranks_heard(beats) == watched_.ranks;
  for (const Beat& beat : beats) {
    for (const RankBeat& rank : beat.ranks) {
      moves += rank.moves;
      all_wait = all_wait && rank.waits && !rank.operation.empty();
    }
  }
  if (!all_wait || moves != std::exchange(moves_, moves) || moved_ == Clock::time_point::min()) moved_ = now;
  if (seconds_between(moved_, now) <= most_silence_s + 3 * watched_.longest_operation_s) return "";
  std::set<std::string> hosts;
  for (const Beat& beat : beats) hosts.insert(beat.host);
  std::vector<std::string> places;
  for (const Beat& beat : beats) {
    const std::string where = hosts.size() > 1 ? " on " + beat.host : "";
    for (const RankBeat& rank : beat.ranks)
      places.push_back(fmt::format("rank {}{} before {}", rank.rank.value, where, rank.operation));
  }
  return fmt::format(
      "no operation ended for {} while every rank waited for others{}: {}", human_seconds(seconds_between(moved_, now)),
      hosts.size() > 1 ? " (the network between their hosts may carry nothing)" : "", fmt::join(places, ", "));
}

std::string Watchdog::look(pid_t launcher, Clock::time_point now) {
  const std::vector<Beat> beats = protocol::read_beats(watched_.folder);
  std::string trouble = stopped(launcher, beats);
  if (trouble.empty()) trouble = silent(beats, now);
  if (trouble.empty()) trouble = stuck(beats, now);
  return trouble;
}

std::vector<results::LastOperation> last_operations(const std::filesystem::path& folder) {
  std::vector<results::LastOperation> all;
  for (const Beat& beat : protocol::read_beats(folder))
    for (const RankBeat& rank : beat.ranks) all.push_back({rank.rank, beat.host, rank.operation});
  std::ranges::sort(all, {}, &results::LastOperation::rank);
  return all;
}

}  // namespace parabench::suite
