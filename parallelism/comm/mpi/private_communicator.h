// The communicator of ranks that share no memory: private buffers and nonblocking MPI, driven by MPI_Test.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/case.h"
#include "parallelism/comm/algorithms/message_collective.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/comm/doorbell.h"
#include "parallelism/comm/process.h"
#include "parallelism/comm/region.h"

namespace parabench::comm {

/// One rank's end, on its own duplicate of MPI_COMM_WORLD and a communicator for each group that it is in. Sums and
/// gathers go by the algorithms of parallelism/comm/algorithms, or by the library's own, broadcasts by the latter. MPI
/// tells nobody when a request completes, so unless the bell rings sleep() returns pause_after() the time for which the
/// youngest operation has been on its way, which a message that is awaited is anew once its header has come: 1 ms at
/// most or, where that is more, 0.5 % of that time, and never more than 10 ms; where nothing is on its way, after
/// 0.1 s. A mutex keeps MPI serialized, so that any thread may abort(), which sends the cause to every rank. Processes
/// on the same node are looked at once a second; a lost node is the launcher's to notice.
class PrivateCommunicator final : public Communicator {
 public:
  /// Collective over MPI_COMM_WORLD. `note`: why memory is not shared. `reduce` is not window.
  PrivateCommunicator(Rank rank, RankGroups groups, std::string note, ReduceKind reduce = ReduceKind::automatic);
  ~PrivateCommunicator() override;

  Capabilities capabilities() const override { return {false, note_, reduction_}; }
  Arena allocate(std::int64_t bytes) override;
  std::uint32_t events() const override { return bell_.events.load(); }
  void sleep(std::uint32_t seen, double limit_s) override;
  void notify() override { ring(bell_); }
  void abort(std::string_view cause) noexcept override;

 private:
  friend class MpiWork;
  /// What the collectives of one group go through.
  class GroupMessages;
  struct GroupEnd;

  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  struct Failure {
    std::int32_t rank = 0;
    char cause[1000] = {};
  };

  // The caller of these holds the mutex.
  void tell_failure(Rank rank, std::string_view cause) noexcept;
  void receive_failure();
  void look_for_dead();
  void throw_if_failed() const;

  MPI_Comm world() const { return comms_.front(); }

  std::string note_;
  ReduceKind reduce_;
  std::string reduction_;                        // what became of it
  std::vector<MPI_Comm> comms_;                  // by group; MPI_COMM_NULL where this rank is no member
  std::vector<std::unique_ptr<GroupEnd>> ends_;  // by group; null likewise
  std::vector<ProcessId> neighbours_;            // by rank; unknown for ranks of other nodes and for this one
  std::vector<Region> arenas_;
  std::mutex mutex_;  // one thread at a time inside MPI
  Doorbell bell_{};
  bool failed_ = false;  // then failure_ is final
  Failure failure_, incoming_failure_;
  MPI_Request failure_request_ = MPI_REQUEST_NULL;
  std::multiset<double> in_flight_since_;  // when each work began that MPI has to complete
  std::chrono::steady_clock::time_point next_look_;
  int exceptions_;  // in flight when it was made
};

}  // namespace parabench::comm
