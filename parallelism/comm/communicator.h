// Communication between ranks: one interface, backends behind it. Knows neither torch nor plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strong.h"
#include "parallelism/comm/groups.h"

namespace parabench {

enum class ElementType { f32, f64, byte };

/// Memory of the caller: pointer, bytes, type. Must stay valid until the work has ended. On a GPU it may be read (send,
/// all_reduce) or written (recv) from the moment that the GPU comes to `ready`, and what follows waits for the work's
/// end, on the host or by Work::device_span().
struct BufferView {
  void* data = nullptr;
  std::int64_t bytes = 0;
  ElementType type = ElementType::byte;
  bool on_device = false;  ///< memory of the rank's GPU
  /// An event of the rank's GPU (cudaEvent_t) that was recorded before the call; null: at once. Borrowed as the memory
  /// is: neither recorded anew nor destroyed until the work has ended.
  void* ready = nullptr;
};

/// An event of a GPU (cudaEvent_t, with a time) that has been recorded and never is again while somebody holds it:
/// whoever may still wait for it or ask for its time keeps it, in whatever thread; the last one gives it back.
using DeviceEvent = std::shared_ptr<void>;

/// When the rank's GPU does its part of an operation by itself: the events around it. Null where the host does that
/// part, and begins or ends the operation when it gets to it.
struct DeviceSpan {
  DeviceEvent start, end;
};

/// Who a message belongs to. Messages of one lane arrive in the order sent and wait for none of another lane, in
/// whatever order their ends are started; tag and size are checked against the sender's on arrival, so that a receive
/// that is paired wrongly throws std::logic_error with both instead of training on wrong data.
enum class Channel { forward, backward, control };
inline constexpr int channel_count = 3;
std::string_view name(Channel channel);
struct MessageLane {
  Rank from, to;
  Channel channel = Channel::control;
  auto operator<=>(const MessageLane&) const = default;
};
struct Message {
  Channel channel = Channel::control;
  std::uint64_t tag = 0;
};

/// Thrown by every call that waits once a rank has failed or called abort().
class PeerFailure : public std::runtime_error {
 public:
  PeerFailure(Rank rank, std::string_view cause);
  Rank rank() const { return rank_; }

 private:
  Rank rank_;
};

/// State of an operation in flight; a backend's own.
class WorkState {
 public:
  virtual ~WorkState() = default;
  /// Advances the operation without blocking; true once it is complete.
  virtual bool advance() = 0;
  /// Advances it without blocking; true once what remains happens on a GPU by itself. An operation of which the host
  /// does the last part is never in this state.
  virtual bool queued() { return false; }
  /// Known once queued() or complete.
  virtual DeviceSpan device_span() const { return {}; }
};

/// A move-only handle of an operation that was started. The thread that started it drives it. Operations of one
/// kind (the collectives of one group; this rank's end of one lane of messages) run in the order started: the later
/// ones wait until the earlier ones have been driven until they are queued, those of another kind do not.
///
/// An operation on buffers of a GPU is first queued, then ends. Once it is queued, the host has done its part, though
/// other work of the GPU, of this rank or another, may come before it: the host runs ahead, and a stream of the GPU
/// that waits for device_span().end finds it complete. Buffers are let go of, and the work dropped, when it has ended:
/// what is dropped before is given up, as on the way out of a failure.
class Work {
 public:
  Work() = default;
  explicit Work(std::unique_ptr<WorkState> state) : state_(std::move(state)) {}
  bool valid() const { return state_ != nullptr; }
  /// Makes progress without blocking; true once complete (then, and when empty, stays true).
  bool test() {
    if (state_ && state_->advance()) {
      span_ = state_->device_span();
      state_.reset();
    }
    return state_ == nullptr;
  }
  /// Makes progress without blocking; true once the host has nothing to do any more: what remains, if anything,
  /// happens on the GPU by itself. Without a GPU the same as test().
  bool queued() { return !state_ || state_->queued() || test(); }
  /// After queued() or test(). Outlives the work.
  DeviceSpan device_span() const { return state_ ? state_->device_span() : span_; }

 private:
  std::unique_ptr<WorkState> state_;
  DeviceSpan span_;
};

/// Memory that the backend handed out, on the rank's GPU or, without one, of the host; lives as long as its
/// communicator.
struct Arena {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool shared = false;  ///< peers of this node reduce in place through it
};

/// Bytes of payload that this rank moved. A message counts its bytes once, as sent by the sender and as
/// received by the receiver. All-reduce of S bytes over p ranks:
///  - through shared memory, rank r sums share_of(S, p, r) bytes in place and counts (p-1) times that share as
///    received (remote loads) and as sent (remote stores): about (p-1)/p S each way, 2(p-1)/p S together, and
///    exactly (p-1) S each way over all ranks. A buffer outside the arenas counts so per piece of 1 MiB. The same
///    through the memory of GPUs, there in one piece wherever the buffers lie;
///  - by the MPI library or NCCL, whose algorithms are their own: the lower bound 2(p-1)/p S each way (Patarasuk and
///    Yuan 2009), rounded down;
///  - staged through host memory: what the host's communicator moves for it.
struct Traffic {
  std::int64_t sent = 0, received = 0;
  bool operator==(const Traffic&) const = default;
};

struct Capabilities {
  bool shared_arenas = false;
  std::string note;  ///< why arenas are private, empty when they are shared
};

/// One rank's end of a world of ranks. One thread at a time drives it; notify() and abort() are for any thread. Every
/// waiting call throws PeerFailure when a rank failed, of whatever group. Collectives of one group must be started in
/// the same order by all its members; the barrier and allocate() are collectives of group 0, the world.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Rank rank() const { return rank_; }
  int size() const { return groups_.ranks(); }
  const RankGroups& groups() const { return groups_; }
  virtual Capabilities capabilities() const = 0;

  /// Collective, same bytes on all ranks. Zeroed, 64-byte aligned, at the same offset on every rank. Throws
  /// environment_error when the memory is not there.
  virtual Arena allocate(std::int64_t bytes) = 0;

  /// In-place sum of `buffer` (f32 or f64) over the members of a group, bitwise the same result on all of them.
  /// Fast path when the buffer lies in a shared arena on every member. Members that share memory and start different
  /// collectives, sizes or types get std::logic_error naming both and the group; MPI does not notice. A rank that is
  /// no member gets std::invalid_argument naming it and the group. In Traffic p then counts the members, r among them.
  Work all_reduce(BufferView buffer, int group = 0);
  Work send(BufferView buffer, Rank to, Message message);
  Work recv(BufferView buffer, Rank from, Message message);
  Work barrier();

  /// Drives `work` to its end, asleep between rounds.
  void wait(Work work);
  /// Drives several works side by side until all have ended.
  void wait_all(std::span<Work> works);

  /// Sleeping without a lost wake-up: read events(), look for something to do, sleep(seen). sleep returns once
  /// the count has moved (a peer made progress, notify() was called), at the latest after `limit_s`. It may
  /// return earlier: a backend without such events wakes up to poll. GPUs tell nobody of an end: where the host waits
  /// for none by wait(), it may hear of one 2 ms later.
  virtual std::uint32_t events() const = 0;
  virtual void sleep(std::uint32_t seen, double limit_s = 0.1) = 0;
  virtual void notify() = 0;

  /// Makes every waiting call of every rank throw PeerFailure with this cause. Idempotent: the first cause stays.
  virtual void abort(std::string_view cause) noexcept = 0;

  const Traffic& traffic() const { return traffic_; }
  void reset_traffic() { traffic_ = {}; }

 protected:
  Communicator(Rank rank, RankGroups groups) : rank_(rank), groups_(std::move(groups)) {}
  /// Whether the caller is in wait() or wait_all(), and so wants to hear of an end as soon as it comes.
  bool waits_for_end() const { return waits_for_end_; }
  Traffic traffic_;

 private:
  virtual std::unique_ptr<WorkState> start_all_reduce(BufferView buffer, int group) = 0;
  virtual std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) = 0;
  virtual std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) = 0;
  virtual std::unique_ptr<WorkState> start_barrier() = 0;

  Rank rank_;
  RankGroups groups_;
  bool waits_for_end_ = false;
};

/// Every rank's text, in rank order, on every rank. Collective over the control channel.
std::vector<std::string> all_gather(Communicator& comm, std::string_view text);

}  // namespace parabench
