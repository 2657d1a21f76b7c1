// An operation of a private communicator: MPI's requests for it.
#pragma once

#include <mpi.h>

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/mailbox.h"

namespace parabench::comm {

class PrivateCommunicator;

/// Requests that complete together. All are posted at the start, since MPI pairs messages and collectives in that
/// order. Whoever posts holds the communicator's mutex.
class MpiWork final : public WorkState {
 public:
  explicit MpiWork(PrivateCommunicator& comm);
  ~MpiWork() override;
  bool advance() override;

  /// By the library's own algorithms. `position` among the members, `root` likewise.
  void start(const CollectiveCall& call, int position, MPI_Comm members, int root);
  void meet();
  /// With a header before the payload, which the receiver checks.
  void send(BufferView buffer, Rank to, Message message);
  void receive(BufferView buffer, Rank from, Message message);
  /// The payload alone, of at most 1 GiB, between members.
  void send_piece(BufferView piece, int to, int tag, MPI_Comm members);
  void receive_piece(BufferView piece, int from, int tag, MPI_Comm members);

 private:
  /// What each member's share has in a piece of the buffer, as MPI wants it: in elements, until the requests are
  /// complete.
  struct Slices {
    Slices(const Shares& shares, Share piece, int element);
    std::vector<int> counts, offsets;
  };
  /// MPI leaves what it reduces in place at the beginning of a piece.
  struct Result {
    void* to;
    const void* from;
    std::int64_t bytes;
  };

  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  void put_in_place();

  PrivateCommunicator& comm_;
  std::multiset<double>::iterator in_flight_;  // among the communicator's
  std::vector<MPI_Request> requests_;          // of a message: its header's first
  std::deque<Slices> slices_;                  // by piece of a collective with shares
  std::vector<Result> results_;                // of a reduce_scatter
  MessageHeader header_;                       // sent, or as it arrived
  std::optional<MessageHeader> expected_;      // of a receive with a header
  bool receives_ = false;
  bool paired_ = false;
  Rank from_;
  Channel channel_ = Channel::control;
};

}  // namespace parabench::comm
