#include "parallelism/comm/fabric.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace parabench::comm {
namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t mailbox_budget = 64 << 20;  // of all mailboxes together
constexpr std::int64_t largest_ring = 4 << 20;
constexpr std::int64_t smallest_ring = 4 << 10;
constexpr std::int64_t scratch_per_seat = 1 << 20;

template <class T>
constexpr auto size_of = static_cast<std::int64_t>(sizeof(T));

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Bytes of one list of shares of so many members, in whole lines.
constexpr std::int64_t share_list_bytes(std::int64_t members) { return round_up(members * size_of<std::int64_t>, 64); }

/// The first failure, written once.
struct Failure {
  enum : std::uint32_t { none, being_written, known };
  std::atomic<std::uint32_t> state;
  std::int32_t rank;
  char cause[1000];
};

}  // namespace

FabricLayout layout(const FabricShape& shape) {
  const std::int64_t ranks = shape.groups.ranks();
  const std::int64_t boxes = ranks * (ranks - 1) * channel_count;
  const std::int64_t fair = mailbox_budget / std::max<std::int64_t>(boxes, 1);
  FabricLayout places;
  places.ring_bytes = std::clamp(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fair))),
                                 smallest_ring, largest_ring);
  places.scratch_bytes = scratch_per_seat;
  places.arena_bytes = round_up(shape.arena_bytes, page);
  std::int64_t seats = 0, shares = 0;
  for (CommGroupId group = world_group; shape.groups.has(group); ++group) {
    places.first_seat.push_back(static_cast<int>(seats));
    places.group_shares.push_back(shares);
    const std::int64_t members = std::ssize(shape.groups.members(group));
    seats += members;
    shares += members * 2 * share_list_bytes(members);
  }
  places.slots = round_up(sizeof(Failure), 64);
  places.boards = places.slots + ranks * size_of<RankSlot>;
  places.posts = places.boards + shape.groups.count() * size_of<Board>;
  places.shares = places.posts + seats * size_of<Posts>;
  for (std::int64_t& group : places.group_shares) group += places.shares;
  places.mailboxes = round_up(places.shares + shares, page);
  places.scratch = round_up(places.mailboxes + boxes * (size_of<MailboxControl> + places.ring_bytes), page);
  places.arenas = places.scratch + seats * places.scratch_bytes;
  places.total = places.arenas + ranks * places.arena_bytes;
  return places;
}

Fabric::Fabric(Region region, const FabricShape& shape)
    : region_(std::move(region)), groups_(shape.groups), layout_(layout(shape)) {}

RankSlot& Fabric::slot(Rank rank) const { return at<RankSlot>(layout_.slots + rank.value * size_of<RankSlot>); }

Board& Fabric::board(CommGroupId group) const { return at<Board>(layout_.boards + group.value * size_of<Board>); }

Posts& Fabric::posts(CommGroupId group, int position) const {
  return at<Posts>(layout_.posts + (layout_.first_seat[group.value] + position) * size_of<Posts>);
}

std::span<std::int64_t> Fabric::shares(CommGroupId group, int position, int parity) const {
  const std::size_t members = groups_.members(group).size();
  const std::int64_t list = 2 * position + parity;
  const std::int64_t offset =
      layout_.group_shares[group.value] + list * share_list_bytes(static_cast<std::int64_t>(members));
  return {&at<std::int64_t>(offset), members};
}

std::byte* Fabric::scratch(CommGroupId group, int position) const {
  return &at<std::byte>(layout_.scratch + (layout_.first_seat[group.value] + position) * layout_.scratch_bytes);
}

Mailbox Fabric::mailbox(Rank from, Rank to, Channel channel) const {
  const int receiver = to < from ? to.value : to.value - 1;  // nobody writes to himself
  const std::int64_t index =
      (std::int64_t{from.value} * (ranks() - 1) + receiver) * channel_count + static_cast<int>(channel);
  const std::int64_t offset = layout_.mailboxes + index * (size_of<MailboxControl> + layout_.ring_bytes);
  return {&at<MailboxControl>(offset), &at<std::byte>(offset + size_of<MailboxControl>),
          static_cast<std::uint64_t>(layout_.ring_bytes)};
}

std::byte* Fabric::arena(Rank rank) const { return &at<std::byte>(layout_.arenas + rank.value * layout_.arena_bytes); }

void Fabric::ring_members(CommGroupId group) const noexcept {
  for (const Rank rank : groups_.members(group)) ring_rank(rank);
}

void Fabric::enter(Rank rank, ProcessId process) const noexcept {
  slot(rank).process_start = process.start;
  slot(rank).pid.store(process.pid, std::memory_order_release);
}

void Fabric::leave(Rank rank) const noexcept { slot(rank).pid.store(0, std::memory_order_release); }

void Fabric::check_alive() const noexcept {
  const std::int32_t own = this_process().pid;
  for (int r = 0; r < ranks(); ++r) {
    RankSlot& peer = slot(Rank(r));
    const ProcessId process{peer.pid.load(std::memory_order_acquire), peer.process_start};
    if (process.pid == own || alive(process)) continue;
    if (peer.pid.load(std::memory_order_acquire) == 0) continue;  // it has left in good order since
    abort(Rank(r), ended_unexpectedly(process));
  }
}

void Fabric::abort(Rank rank, std::string_view cause) const noexcept {
  Failure& failure = at<Failure>(0);
  std::uint32_t expected = Failure::none;
  if (!failure.state.compare_exchange_strong(expected, Failure::being_written)) return;
  failure.rank = rank.value;
  const std::size_t length = std::min(cause.size(), sizeof failure.cause - 1);
  std::memcpy(failure.cause, cause.data(), length);
  failure.cause[length] = 0;
  failure.state.store(Failure::known, std::memory_order_release);
  ring_members(world_group);
}

void Fabric::throw_if_aborted() const {
  const Failure& failure = at<Failure>(0);
  if (failure.state.load(std::memory_order_acquire) == Failure::known) {
    throw PeerFailure(Rank(failure.rank), failure.cause);
  }
}

}  // namespace parabench::comm
