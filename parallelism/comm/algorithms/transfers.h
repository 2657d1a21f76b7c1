// A collective as messages between the members of a group: who sends which bytes to whom, in which order, as data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/shares.h"

namespace parabench::comm {

/// One message, as one of its two ends sees it. Members are named by their positions in the group.
struct Transfer {
  enum class Kind { send, add, store };
  Kind kind = Kind::send;  ///< add, store: what the receiver does with what arrives
  int round = 0;
  int peer = 0;
  int lane = 0;  ///< between two members, in one direction: those of one lane arrive in the order sent
  Share part;    ///< of the buffer, the same at both ends, never empty
  bool operator==(const Transfer&) const = default;
};

/// What one member does, round by round, in every round sends before receipts. Carried out in this order it leaves the
/// collective's result in the member's buffer. What a member sends in a round it has from the rounds before, and no
/// receipt of a round touches what the member sends in it: so messages may be on their way as soon as the bytes that
/// they hold are there, in as many pieces as one likes, and nobody waits in a circle. Sums are added in this order,
/// whoever is late: they are bitwise the same in every run.
using Transfers = std::vector<Transfer>;

enum class Algorithm { ring, halving_doubling, double_tree, hierarchical };
inline constexpr Algorithm all_algorithms[] = {Algorithm::ring, Algorithm::halving_doubling, Algorithm::double_tree,
                                               Algorithm::hierarchical};
std::string_view name(Algorithm algorithm);

/// Most lanes that two members have in one direction.
inline constexpr int transfer_lanes = 2;

/// What the member at `position` does in an all_reduce, reduce_scatter or all_gather of `shares`, of which an
/// all_reduce only reads the bytes of the whole. `hosts`: by position, equal where members share a host; read by the
/// hierarchical algorithm alone. Trees have one root and so no shares: with double_tree, reduce_scatter and all_gather
/// go around the ring. Empty for a single member and for broadcast, which none of them does. O(members) at most.
Transfers transfers_of(Algorithm algorithm, CollectiveKind kind, const Shares& shares, std::span<const int> hosts,
                       int position);

/// Rounds of all members together: the messages that come one after the other in the longest chain.
///   ring, halving_doubling  as base/automatic_reduce.h has them
///   double_tree             2 ceil(log2 p), the others as by a ring
///   hierarchical            (g-1) + (m-1), twice for all_reduce; m hosts, g members on the fullest
int rounds_of(Algorithm algorithm, CollectiveKind kind, std::span<const int> hosts);

/// Bytes that the member sends and receives.
Traffic traffic_of(const Transfers& transfers);

}  // namespace parabench::comm
