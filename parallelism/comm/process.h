// Is another process of this machine still alive?
#pragma once

#include <cstdint>
#include <string>

namespace parabench::comm {

/// A process, told apart from a later one that got the same pid.
struct ProcessId {
  std::int32_t pid = 0;     ///< 0: unknown, never reported dead
  std::uint64_t start = 0;  ///< clock ticks from boot to its start (proc(5), field 22)
  bool operator==(const ProcessId&) const = default;
};

/// This process; unknown where /proc is not mounted.
ProcessId this_process();

/// False once the process has ended, also while its parent has not collected it yet (a zombie). One read of
/// /proc, about 10 us.
bool alive(ProcessId process);

/// The cause that the peers of a dead process are told.
std::string ended_unexpectedly(ProcessId process);

}  // namespace parabench::comm
