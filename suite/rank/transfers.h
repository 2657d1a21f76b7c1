// What a calibration measures besides the layers: messages, reductions, updates at once, copies, launches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/calibration/scope.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"

namespace parabench::rank {

/// How often each transfer is timed, and discarded before.
struct Repeats {
  int rounds = 0, warmup = 0;
};
struct TransferEffort {
  Repeats while_nobody_computes{.rounds = 12, .warmup = 3}, while_all_compute{.rounds = 4, .warmup = 1};
};

/// A group of ranks, as its members know it.
struct TimedGroup {
  CommGroupId id;
  int members = 0;
};
/// On rank 0 medians of the slowest rank, on the others their own; behind a barrier each, with the processor's caches
/// full of something else, beside computing of what that needs; shares are even. On the processor each size twice,
/// while nobody computes and while all ranks do. Collective; a rank takes part in `group`, or only waits where it has
/// none. Precondition: `sizes`, in bytes, are the same on all ranks, ascend, and are no larger than the arena, which
/// lies on the device.
analytic::Curve collective_curve(comm::Communicator& comm, const exec::Device& device, const comm::Arena& arena,
                                 comm::CollectiveKind kind, const std::optional<TimedGroup>& group,
                                 const std::vector<std::int64_t>& sizes, const TransferEffort& effort);
/// The lanes of a ping-pong.
inline comm::MessageLane ping_lane(const analytic::MessagePair& pair) {
  return {pair.first, pair.second, comm::Channel::forward};
}
inline comm::MessageLane pong_lane(const analytic::MessagePair& pair) {
  return {pair.second, pair.first, comm::Channel::backward};
}
/// One way: half of a ping-pong between the two ranks while the others sleep, and while all ranks compute.
/// Precondition: `sizes`, in bytes, are the same on all ranks, and ascend.
analytic::Curve point_to_point_curve(comm::Communicator& comm, exec::Device& device, const analytic::MessagePair& pair,
                                     const std::vector<std::int64_t>& sizes, const TransferEffort& effort);

/// Seconds of an update by the case's optimizer of so many parameters (of 2^24 at most) while all ranks of `host`
/// update at once (at_once_s()), over those on its first alone: medians behind a barrier each, out of the caches. At
/// least 1. Collective, over all hosts. Precondition: `host` is what one host has of the ranks, one or more.
double update_slowdown(comm::Communicator& comm, exec::Device& device, const Case& spec, std::span<const Rank> host,
                       std::int64_t parameters, const Repeats& repeats);

/// Bytes per second from pinned memory to the GPU.
double copy_rate(exec::Device& device);
/// Seconds of a kernel with nothing to do, behind others of its kind.
double launch_floor(exec::Device& device);

}  // namespace parabench::rank
