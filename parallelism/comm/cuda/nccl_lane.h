// One NCCL communicator with a stream of its own, and what was started on it.
#pragma once

#include <nccl.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/event_pool.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::comm {

/// What NCCL or the GPU says when an operation cannot go on: the communicator is of no more use.
class NcclFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws NcclFailure with the call and NCCL's own text unless `code` is ncclSuccess or ncclInProgress.
void check_nccl(ncclResult_t code, std::string_view call);

/// One operation, shared by who started it and the lane that runs it.
struct NcclOperation {
  enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast, send, recv };
  Kind kind = Kind::all_reduce;
  BufferView buffer;
  Rank peer;              ///< of a message: for words alone, a lane of messages has two members
  Shares shares;          ///< of reduce_scatter and all_gather
  int root = 0;           ///< of a broadcast: its position in the lane
  bool released = false;  ///< it may go onto the GPU
  // Set by the lane:
  DeviceSpan span;     ///< its end is there once NCCL has put it on the stream
  bool ended = false;  ///< the host has seen that
};

/// Nothing here blocks: the communicator is made with blocking = 0. Operations run in the order started, each once it
/// and those before it are released, on the stream after their buffer's `ready`. Each is an NCCL group of its own: in a
/// common one the first would wait for the buffers of the others, which may need it. Shares of different sizes are one
/// group of reductions, or broadcasts, one for each share that is not empty, since ncclReduceScatter and ncclAllGather
/// know equal shares alone. The calling thread's current GPU must be the lane's.
class NcclLane {
 public:
  /// Starts making the communicator of so many `members`, as the one at `position`; it is there once settled().
  NcclLane(const ncclUniqueId& id, int position, int members);
  /// abort()s unless finish() came to its end.
  ~NcclLane();
  NcclLane(const NcclLane&) = delete;
  NcclLane& operator=(const NcclLane&) = delete;

  /// Whether the last call on the communicator has taken effect; NcclFailure when it failed, or an operation in flight.
  bool settled();

  void start(std::shared_ptr<NcclOperation> operation);
  /// Drives what was started; NcclFailure also when the oldest operation, released or not, exceeds `limit_s`.
  void drive(double limit_s);

  /// Starts to end in good order, which takes all ranks; settled() tells when. Then the lane may be destroyed.
  void finish();
  /// Makes kernels in flight and the communicator end, of which drained() tells the first. A thread of NCCL may go on
  /// using the stream, and nobody learns how long: from here on the stream is never destroyed. Inside of ncclGroupStart
  /// and ncclGroupEnd several lanes end together: alone, one would wait for the kernels of the others.
  void abort() noexcept;
  /// Whether the stream has nothing to do.
  bool drained() const noexcept;

  ncclComm_t handle() const { return comm_; }
  const Stream& stream() const { return stream_; }

 private:
  using Clock = std::chrono::steady_clock;

  /// Records the end of the last operation once NCCL has put it on the stream; until then an event must not be recorded
  /// nor anything else be started. Whether that is so.
  bool record_last();
  void launch(NcclOperation& operation);
  /// Gives the operation to NCCL.
  ncclResult_t enqueue(const NcclOperation& operation);
  /// As a group of operations of one root each.
  ncclResult_t enqueue_shares(const NcclOperation& operation);

  int position_;
  ncclComm_t comm_ = nullptr;
  Stream stream_;
  EventPool events_;
  std::deque<std::shared_ptr<NcclOperation>> waiting_, launched_;
  std::optional<Clock::time_point> oldest_since_;  // when the oldest operation was first driven as such
  bool finishing_ = false;
  bool left_to_nccl_ = false;  // the stream, by abort()
};

}  // namespace parabench::comm
