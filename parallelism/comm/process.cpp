#include "parallelism/comm/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace parabench::comm {
namespace {

struct ProcessState {
  char letter = 0;  // proc(5): Z zombie, X dead
  std::uint64_t start = 0;
  bool gone = false;
};

ProcessState read_state(std::int32_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  std::FILE* file = std::fopen(path, "re");
  if (!file) return {.gone = errno == ENOENT || errno == ESRCH};
  char line[1024];
  const std::size_t length = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[length] = 0;
  ProcessState state{.gone = length == 0};
  // The name in parentheses may itself hold spaces and parentheses.
  if (const char* rest = std::strrchr(line, ')')) {
    std::sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                &state.letter, &state.start);
  }
  return state;
}

}  // namespace

ProcessId this_process() {
  const auto pid = static_cast<std::int32_t>(getpid());
  const ProcessState state = read_state(pid);
  return state.start == 0 ? ProcessId{} : ProcessId{pid, state.start};
}

bool alive(ProcessId process) {
  if (process.pid == 0) return true;
  const ProcessState state = read_state(process.pid);
  if (state.gone || state.letter == 'Z' || state.letter == 'X') return false;
  return state.start == 0 || state.start == process.start;
}

std::string ended_unexpectedly(ProcessId process) {
  return fmt::format("its process {} has ended unexpectedly", process.pid);
}

}  // namespace parabench::comm
