// Bandwidth as the nccl-tests report it, for records and benchmarks.
#pragma once

#include <cstdint>

namespace parabench::comm {

enum class BusOperation { all_reduce, reduce_scatter, all_gather, broadcast, send_recv };

/// Bytes per second that the slowest link has to carry, comparable between numbers of ranks and with the speed of the
/// hardware: bytes / seconds times 2(p-1)/p for all_reduce, (p-1)/p for reduce_scatter and all_gather, 1 for broadcast
/// and send_recv (nccl-tests, doc/PERFORMANCE.md). `bytes` is the whole buffer: of all_gather what a rank ends up with,
/// of reduce_scatter what it starts with. 0 where nothing crosses a link: one rank of the first three.
double bus_bandwidth(BusOperation operation, std::int64_t bytes, int ranks, double seconds);

}  // namespace parabench::comm
