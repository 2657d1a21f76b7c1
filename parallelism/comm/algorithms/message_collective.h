// Carries out the transfers of an algorithm: in pieces, as many of them on their way at once as it takes to keep both
// directions of every link busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallelism/comm/algorithms/transfers.h"
#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Messages between the members of one group, by position. Those from one member to another on one lane arrive in the
/// order sent; sizes agree. Whatever waits throws PeerFailure when a rank has failed.
class MemberMessages {
 public:
  virtual ~MemberMessages() = default;
  virtual Work send(int to, int lane, BufferView piece) = 0;
  virtual Work receive(int from, int lane, BufferView piece) = 0;
  /// There is more to do, though nothing ended: the thread may not fall asleep on it.
  virtual void come_again() = 0;
};

/// How a message is cut. Pieces are sent on as soon as they are there; each wants some calls of its backend.
struct Pieces {
  std::int64_t bytes = 256 << 10;  ///< of all pieces of a message but the last; a multiple of 64
  int on_their_way = 8;            ///< at most, of each lane, direction and peer
};

/// What the collectives of one group share on one rank: whose turn it is, and memory for what is to be added.
struct MessageQueue {
  std::uint64_t started = 0, completed = 0;
  std::vector<std::unique_ptr<std::byte[]>> spare;  ///< of piece size each
};

/// Does what `transfers` say with `buffer`, after the queue's earlier ones. A piece is sent, and stored, as soon as
/// all that the transfers before it do with its bytes is done, and it is received for adding before that. All that is
/// named has to outlive the work.
std::unique_ptr<WorkState> start_transfers(MemberMessages& messages, MessageQueue& queue, Transfers transfers,
                                           BufferView buffer, Pieces pieces = {});

}  // namespace parabench::comm
