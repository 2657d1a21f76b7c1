#include "parallelism/comm/traffic.h"

namespace parabench::comm {

Traffic moved_in_memory(CollectiveKind kind, std::int64_t bytes, int members) {
  const std::int64_t remote = (members - 1) * bytes;
  switch (kind) {
    case CollectiveKind::all_reduce: return {remote, remote};
    case CollectiveKind::reduce_scatter: return {.received = remote};
    case CollectiveKind::all_gather: return {.sent = remote};
    case CollectiveKind::broadcast: return {.received = bytes};
  }
  return {};
}

Traffic moved_by_library(const CollectiveCall& call, int members, Rank rank) {
  const std::int64_t bytes = call.buffer.bytes;
  const std::int64_t all = 2 * (members - 1) * bytes / members, half = (members - 1) * bytes / members;
  switch (call.kind) {
    case CollectiveKind::all_reduce: return {all, all};
    case CollectiveKind::reduce_scatter: return {half, half};
    case CollectiveKind::all_gather: return {all - half, all - half};
    case CollectiveKind::broadcast:
      if (members == 1) return {};
      return rank == call.root ? Traffic{.sent = bytes} : Traffic{.received = bytes};
  }
  return {};
}

}  // namespace parabench::comm
