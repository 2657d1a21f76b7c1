// Lanes of a rank: they run side by side; within a lane, operations run in order.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "parallelism/plan/op.h"

namespace parabench {

/// A rank has one compute lane, one lane of collectives for each stage that it reduces, and for each peer and direction
/// one lane of what it sends there and one of what it receives. So nothing waits behind a message between two other
/// ranks or the other way (schedules: "queues decide speed", the column of pure latency).
enum class LaneKind : std::uint8_t { compute, collectives, send_forward, recv_forward, send_backward, recv_backward };
inline constexpr std::array<LaneKind, 6> all_lane_kinds = {LaneKind::compute,       LaneKind::collectives,
                                                           LaneKind::send_forward,  LaneKind::recv_forward,
                                                           LaneKind::send_backward, LaneKind::recv_backward};
/// "compute", "collectives", "send_forward", ...
std::string_view name(LaneKind kind);
/// Of an operation. Messages live on the lane that is named as they are.
LaneKind lane_kind(OpKind kind);
bool is_send(LaneKind kind);     ///< send_forward, send_backward
bool is_receive(LaneKind kind);  ///< recv_forward, recv_backward
bool is_message(LaneKind kind);  ///< sends and receives

struct Lane {
  LaneKind kind = LaneKind::compute;
  int key = 0;  ///< collectives: the stage; messages: the peer
  std::vector<Op> ops;
  bool operator==(const Lane&) const = default;
};
/// "compute", "collectives:2" (stage), "send_forward:1" (peer).
std::string name(const Lane& lane);

/// The kind of lane where the other end of such a message is.
LaneKind other_end(LaneKind kind);

}  // namespace parabench
