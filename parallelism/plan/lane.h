// Lanes of a rank: they run side by side; within a lane, operations run in order.
#pragma once

#include <array>
#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "parallelism/plan/op.h"

namespace parabench::plan {

/// A rank has one compute lane, one lane of collectives for each group and purpose, and for each peer and purpose one
/// lane of what it sends there and one of what it receives. So nothing waits behind a message between two other ranks
/// or the other way.
enum class LaneKind : std::uint8_t { compute, collectives, send, receive };
constexpr std::array<std::string_view, 4> names_of(LaneKind) { return {"compute", "collectives", "send", "receive"}; }
/// Of an operation.
LaneKind lane_kind(OpKind kind);
constexpr bool is_message(LaneKind kind) { return kind >= LaneKind::send; }

/// Which of a rank's lanes.
struct LaneKey {
  LaneKind kind = LaneKind::compute;
  Payload purpose = Payload::none;  ///< what its operations move
  GroupId group{-1};                ///< collectives
  Rank peer{-1};                    ///< messages
  bool operator==(const LaneKey&) const = default;
};
/// Compute, then collectives, then messages by purpose and direction.
std::strong_ordering operator<=>(const LaneKey& a, const LaneKey& b);

LaneKey collectives_of(GroupId group, Payload purpose);
/// Whether it is collectives_of(group, purpose) of some group.
constexpr bool is_collectives_of(const LaneKey& lane, Payload purpose) {
  return lane.kind == LaneKind::collectives && lane.purpose == purpose;
}
LaneKey sends_to(Rank peer, Payload purpose);
LaneKey receives_from(Rank peer, Payload purpose);
/// Where an operation belongs.
LaneKey lane_of(const Op& op);
/// The lane of the peer where the other ends of a lane's messages are; `own`: the rank of the lane.
LaneKey other_end(const LaneKey& messages, Rank own);

/// "compute", "collectives:gradients:2" (group), "send:activation:1" (peer).
std::string name(const LaneKey& lane);

struct Lane {
  LaneKey key;
  std::vector<Op> ops;
  bool operator==(const Lane&) const = default;
};

}  // namespace parabench::plan
