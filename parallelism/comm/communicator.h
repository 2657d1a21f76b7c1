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
#include "parallelism/comm/shares.h"

namespace parabench::comm {

enum class ElementType { f32, f64, bf16, byte };
std::int64_t element_bytes(ElementType type);

/// Memory of the caller: pointer, bytes, type. Must stay valid until the work has ended. On a GPU it may be read (send,
/// collectives) or written (recv, collectives) from the moment that the GPU comes to `ready`, and what follows waits
/// for the work's end, on the host or by Work::device_span().
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

enum class CollectiveKind : std::uint32_t { all_reduce, reduce_scatter, all_gather, broadcast };
std::string_view name(CollectiveKind kind);

/// One collective that moves data, as a member starts it: what the calls of Communicator have in common.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  BufferView buffer;
  CommGroupId group = world_group;
  Shares shares;  ///< of reduce_scatter and all_gather
  Rank root;      ///< of broadcast
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
/// queue (the collectives of one group, of whatever kind; this rank's end of one lane of messages) run in the order
/// started: the later ones wait until the earlier ones have been driven until they are queued, those of another queue
/// do not.
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

/// Bytes of payload that this rank moved. A message counts its bytes once, as sent by the sender and as received by the
/// receiver. Collectives of S bytes over p members count
///  - through shared memory, or the memory of GPUs, what the rank loads from the others' buffers as received, what it
///    stores to them as sent. With s its share, of share_of() for all_reduce, of the caller's for the others:
///      all_reduce      received (p-1) s, sent (p-1) s
///      reduce_scatter  received (p-1) s
///      all_gather      sent (p-1) s
///      broadcast       received S, but for the root
///    so that a reduce_scatter and an all_gather of even shares together are an all_reduce, on every rank, and each
///    "(p-1) s" is (p-1) S over all ranks. An all_reduce of a buffer outside the arenas has a share of each piece of
///    1 MiB;
///  - as messages between the members (parallelism/comm/algorithms), what these hold: traffic_of() of its transfers;
///  - by the MPI library or NCCL, whose algorithms are their own, the least that any algorithm moves each way, on the
///    average over the ranks (Patarasuk and Yuan 2009), whatever the shares:
///      all_reduce      2(p-1)/p S, rounded down
///      reduce_scatter  (p-1)/p S, rounded down
///      all_gather      the difference of the two
///      broadcast       S: sent by the root, received by the others; none where p is 1;
///  - staged through host memory what the host's communicator moves for it.
struct Traffic {
  std::int64_t sent = 0, received = 0;
  bool operator==(const Traffic&) const = default;
};

struct Capabilities {
  bool shared_arenas = false;
  std::string note;  ///< why arenas are private, empty when they are shared
  /// What carries out the sums of all ranks: "window" (the memory that they share), "library" (MPI's or NCCL's own
  /// algorithms) or algorithms of parallelism/comm/algorithms (choice.h).
  std::string reduction;
};

/// One rank's end of a world of ranks. One thread at a time drives it; notify() and abort() are for any thread. Every
/// waiting call throws PeerFailure when a rank failed, of whatever group. Collectives of one group, of whatever kind,
/// must be started in the same order by all its members; the barrier and allocate() are collectives of group 0, the
/// world.
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

  // Collectives in place, over the members of a group. The fast path is that of buffers that lie in a shared arena on
  // every member. Members that share memory and start different collectives, sizes, types, shares or roots get
  // std::logic_error naming both and the group; MPI and NCCL do not notice. std::invalid_argument, naming the value, is
  // for a rank that is no member, a buffer or share that does not hold whole elements, a sum of plain bytes, shares
  // that are not one for each member or do not add up to the buffer, and a root that is no member.

  /// The sum of `buffer` (f32, f64 or bf16), bitwise the same on all members. Of bf16 what is added at once is added in
  /// f32 and rounded once, ties to even: through shared memory all members' values, in their order; between members
  /// that send messages, and by a library, as often as its algorithm adds.
  Work all_reduce(BufferView buffer, CommGroupId group = world_group);
  /// The sum of `buffer` (as of all_reduce), each member's share of it on that member; the rest of its buffer holds
  /// nothing of use afterwards. Through shared memory and the memory of GPUs the bits are those that all_reduce gives,
  /// in every run and whatever the shares, since both add in the members' order. Messages between members, MPI and NCCL
  /// add in an order of their own, which is not that of their all_reduce: the former the same in every run, the latter
  /// as far as the library keeps to it.
  Work reduce_scatter(BufferView buffer, Shares shares, CommGroupId group = world_group);
  /// Every member's share, as that member has it, on all of them. Any type.
  Work all_gather(BufferView buffer, Shares shares, CommGroupId group = world_group);
  /// The buffer as `root`, a member, has it, on all members. Any type.
  Work broadcast(BufferView buffer, Rank root, CommGroupId group = world_group);
  /// Any of the four: for communicators that hand it on.
  Work collective(const CollectiveCall& call);

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
  /// `call` has been checked; it is gone when this returns.
  virtual std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) = 0;
  virtual std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) = 0;
  virtual std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) = 0;
  virtual std::unique_ptr<WorkState> start_barrier() = 0;

  Rank rank_;
  RankGroups groups_;
  bool waits_for_end_ = false;
};

/// Every rank's text, in rank order, on every rank. Collective over the control channel.
std::vector<std::string> all_gather(Communicator& comm, std::string_view text);

}  // namespace parabench::comm
