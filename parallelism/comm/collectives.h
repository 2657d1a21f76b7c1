// Collectives through the boards of the fabric: rounds that every member enters, and work between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/fabric.h"

namespace parabench {

/// A rank's own end of a group's board: where it stands, and whose turn it is.
struct CollectiveEnd {
  Fabric& fabric;
  Rank rank;
  int group;
  int position;                 ///< of the rank among the members
  Traffic& traffic;             ///< of the rank; in-place reduction adds to it
  std::uint64_t rounds = 0;     ///< entered so far
  std::uint64_t started = 0;    ///< collectives
  std::uint64_t completed = 0;  ///< collectives
};

/// Throws std::logic_error naming both ranks, the group and what they started, as its collective of this `number`,
/// unless kind, type and bytes are the same.
void check_same(std::uint64_t number, int group, Rank rank, const Post& own, Rank other_rank, const Post& other);

/// Ends once every member has started the same: a barrier, or an agreement on `post`. Members that started
/// something else get std::logic_error.
std::unique_ptr<WorkState> start_meeting(CollectiveEnd& end, Post post);

/// In-place sum. When the buffers lie in the arenas of all members, each sums its share over all of them and stores
/// the result to all of them. Otherwise the same is done piece by piece in the group's scratch.
std::unique_ptr<WorkState> start_all_reduce(CollectiveEnd& end, BufferView buffer);

}  // namespace parabench
