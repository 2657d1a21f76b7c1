// The node fabric: what the ranks of one node share, laid out in one flat region.
//
//   | failure | slots | boards | posts | shares | mailboxes | scratch | arenas |
//
// A slot and an arena for every rank, a board for every group, posts, shares and scratch for every seat (a member of a
// group), a mailbox for every sender, receiver and channel.
//
// The region's zero bytes are the initial state of everything in it. Ranks may be threads (the region is memory
// of the process) or processes (POSIX shared memory, mapped at different addresses: hence offsets, never
// pointers).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/doorbell.h"
#include "parallelism/comm/groups.h"
#include "parallelism/comm/process.h"
#include "parallelism/comm/region.h"

namespace parabench::comm {

struct FabricShape {
  RankGroups groups = 1;
  std::int64_t arena_bytes = 0;  ///< per rank: the sum of its allocate() calls, each rounded up to 64 bytes
};

/// Offsets and sizes in bytes; rank r's arena lies at arenas + r * arena_bytes, likewise the scratch of seats.
struct FabricLayout {
  std::int64_t slots = 0, boards = 0, posts = 0, shares = 0, mailboxes = 0, scratch = 0, arenas = 0, total = 0;
  std::int64_t ring_bytes = 0;     ///< of one mailbox, a power of two: 4 MiB for 2 ranks, down to 4 KiB for many
  std::int64_t scratch_bytes = 0;  ///< per seat
  std::int64_t arena_bytes = 0;    ///< per rank, rounded up to pages
  std::vector<int> first_seat;     ///< by group: its members sit side by side, in ascending order
  std::vector<std::int64_t> group_shares;  ///< by group: where the shares of its first seat begin
};
FabricLayout layout(const FabricShape& shape);

/// One direction between two ranks on one channel: a byte ring with one writer and one reader. `written -
/// freed` bytes wait.
struct MailboxControl {
  alignas(64) std::atomic<std::uint64_t> written;
  std::atomic<std::uint32_t> reader_waits;  ///< the writer rings only when asked to
  alignas(64) std::atomic<std::uint64_t> freed;
  std::atomic<std::uint32_t> writer_waits;
};
struct Mailbox {
  MailboxControl* control = nullptr;
  std::byte* ring = nullptr;
  std::uint64_t ring_bytes = 0;
};

/// What a member says about the collective that it starts; its shares stand beside it.
struct Post {
  enum class Kind : std::uint32_t { barrier, allocate, data };
  Kind kind = Kind::barrier;
  CollectiveKind moves = CollectiveKind::all_reduce;  ///< of data
  ElementType type = ElementType::byte;
  Rank root;
  std::int64_t bytes = 0;
  std::int64_t offset = -1;  ///< of the buffer in the rank's arena; -1: elsewhere
};

/// By parity of the collective's number, as shares: a member posts number n + 2 only after all have passed number n.
struct alignas(64) Posts {
  Post by_parity[2];
};

struct alignas(64) RankSlot {
  Doorbell bell;
  std::uint64_t process_start;
  std::atomic<std::int32_t> pid;  ///< 0: not here yet, or left in good order
};

/// Counts entries of all members into rounds: round n is complete once (n + 1) * members entries have been made.
struct alignas(64) Board {
  std::atomic<std::uint64_t> entries;
};

class Fabric {
 public:
  Fabric(Region region, const FabricShape& shape);

  int ranks() const { return groups_.ranks(); }
  const RankGroups& groups() const { return groups_; }
  const FabricLayout& places() const { return layout_; }
  Region& region() { return region_; }

  RankSlot& slot(Rank rank) const;
  Board& board(CommGroupId group) const;
  Posts& posts(CommGroupId group, int position) const;
  /// Where the slices of the member's collective of this parity end, by position of all members; old ones where it has
  /// no shares.
  std::span<std::int64_t> shares(CommGroupId group, int position, int parity) const;
  std::byte* scratch(CommGroupId group, int position) const;
  Mailbox mailbox(Rank from, Rank to, Channel channel) const;
  std::byte* arena(Rank rank) const;

  void ring_rank(Rank rank) const noexcept { ring(slot(rank).bell); }
  void ring_members(CommGroupId group) const noexcept;

  void enter(Rank rank, ProcessId process) const noexcept;
  void leave(Rank rank) const noexcept;
  /// abort()s on behalf of a rank whose process has ended without leaving. One look at every other process.
  void check_alive() const noexcept;

  /// The first cause stays; everybody is woken.
  void abort(Rank rank, std::string_view cause) const noexcept;
  /// PeerFailure with the first cause.
  void throw_if_aborted() const;

 private:
  template <class T>
  T& at(std::int64_t offset) const {
    return *reinterpret_cast<T*>(region_.data() + offset);
  }

  Region region_;
  RankGroups groups_;
  FabricLayout layout_;
};

}  // namespace parabench::comm
