// Processes that the kernel killed for lack of memory.
#pragma once

#include <cstdint>
#include <string>

namespace parabench::suite {

/// How many there have been; -1 where the kernel does not say.
struct MemoryKills {
  std::int64_t host = -1;   ///< on this host, in /proc/vmstat
  std::int64_t group = -1;  ///< in this program's memory control group, which its launches belong to
};
MemoryKills memory_kills();

/// What the kernel did between two looks, as a sentence; "" where it killed nobody.
std::string killed_for_memory(const MemoryKills& before, const MemoryKills& after);

}  // namespace parabench::suite
