// One NCCL communicator with a stream of its own, and what was started on it.
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench {

/// What NCCL or the GPU says when an operation cannot go on: the communicator is of no more use.
class NcclFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws NcclFailure with the call and NCCL's own text unless `code` is ncclSuccess or ncclInProgress.
void check_nccl(ncclResult_t code, std::string_view call);

struct NcclOperation {
  enum class Kind { all_reduce, send, recv };
  Kind kind = Kind::all_reduce;
  BufferView buffer;
  Rank peer;  ///< of a message: for words alone, a lane of messages has two members
};

/// Nothing here blocks: the communicator is made with blocking = 0. Operations run in the order started, each once it
/// and those before it are released; those that are released before the next look run as one NCCL group. The calling
/// thread's current GPU must be the lane's.
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

  /// Queues the operation. Its number is for the calls below.
  std::uint64_t start(NcclOperation operation);
  /// Lets it and those before it onto the GPU.
  void release(std::uint64_t number) { released_ = number + 1; }
  /// Drives what was started; NcclFailure also when the oldest operation, released or not, exceeds `limit_s`.
  void drive(double limit_s);
  bool done(std::uint64_t number) const { return number < completed_; }

  /// Starts to end in good order, which takes all ranks; settled() tells when. Then the lane may be destroyed.
  void finish();
  /// Ends kernels in flight and the communicator; nothing is written into callers' buffers any more. Inside of
  /// ncclGroupStart and ncclGroupEnd several lanes end together: alone, one would wait for the kernels of the others.
  void abort() noexcept;

  ncclComm_t handle() const { return comm_; }
  const Stream& stream() const { return stream_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// Operations up to `end` in one NCCL group.
  struct Group {
    std::uint64_t end = 0;
    std::string first;  // its first operation, in words
    Event passed;
    bool recorded = false;  // else NCCL is still putting it on the stream
  };

  /// Records the event of the last group once NCCL has put it on the stream; until then an event must not be recorded
  /// nor anything else be started. Whether that is so.
  bool record_last();
  /// All that is released.
  void launch();
  ncclResult_t enqueue(const NcclOperation& operation);

  int position_;
  ncclComm_t comm_ = nullptr;
  Stream stream_;
  std::deque<NcclOperation> waiting_;  // not launched
  std::deque<Group> groups_;
  std::vector<Event> spare_events_;
  std::uint64_t started_ = 0, released_ = 0, launched_ = 0, completed_ = 0;
  std::optional<Clock::time_point> oldest_since_;  // when the oldest operation was first driven as such
  bool finishing_ = false;
};

}  // namespace parabench
