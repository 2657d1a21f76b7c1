// Notices ranks that will not come back, long before a launch's time-out.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/record.h"
#include "suite/protocol/beat.h"

namespace parabench::suite {

/// What a launch leaves for the watchdog to look at.
struct Watched {
  std::filesystem::path folder;  ///< the ranks' signs of life (suite/protocol/beat.h)
  std::string mark;              ///< in the command line of every process of the launch (process.h)
  std::string host;              ///< this one
  int ranks = 1;
  double longest_operation_s = 0;  ///< that the plan is expected to hold
};

/// Three signs of ranks that will not come back:
///  - a process of the launch on this host is stopped (state T, as by SIGSTOP) at two looks in a row;
///  - a process that gave signs of life gives none for most_silence_s;
///  - all ranks run their plan, no operation of any ends for most_silence_s and three of the longest operations, and
///    all the time each waits for others: a deadlock, or a network that carries nothing. A rank that computes may take
///    its time.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double most_silence_s = 10;

  explicit Watchdog(Watched watched) : watched_(std::move(watched)) {}

  /// A look, about every second; `launcher` is the launch's first process. "" where all is well, else what is wrong, as
  /// a sentence.
  std::string look(pid_t launcher, Clock::time_point now);

 private:
  struct Seen {
    std::uint64_t number = 0;
    Clock::time_point since;
  };
  std::string stopped(pid_t launcher, const std::vector<protocol::Beat>& beats);
  std::string silent(const std::vector<protocol::Beat>& beats, Clock::time_point now);
  std::string stuck(const std::vector<protocol::Beat>& beats, Clock::time_point now);

  Watched watched_;
  std::map<pid_t, int> stopped_looks_;  ///< of processes that were stopped at the last look: how many in a row
  std::map<Rank, Seen> seen_;           ///< by a process's first rank
  std::uint64_t moves_ = 0;
  Clock::time_point moved_ = Clock::time_point::min();  ///< when an operation was last seen to end, or not all waited
};

/// Where the ranks were last heard of.
std::vector<results::LastOperation> last_operations(const std::filesystem::path& folder);

}  // namespace parabench::suite
