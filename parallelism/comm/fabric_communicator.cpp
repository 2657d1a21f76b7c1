#include "parallelism/comm/fabric_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/cores.h"
#include "base/error.h"

namespace parabench::comm {
namespace {

constexpr std::chrono::seconds look_interval{1};

/// A peer that works at the same time is often done within microseconds, while falling asleep and being woken
/// takes 20 us (2 cores; all-reduce of 1 MB over two ranks 58 us without, 19 us with; over four ranks, which then
/// yield to each other, 142 us and 66 us; message of 4 bytes 20 us and 0.6 us).
constexpr double watch_s = 10e-6;

/// Ranks that have a core each keep it between looks: beside a thread that computes, an all-reduce of 16.8 MB over two
/// ranks takes 2 to 11 ms so, and 25 to 34 ms if every look yields. Ranks that are more than the cores have to yield:
/// without it, an all-reduce of 4 KiB over four ranks on two cores takes 84 us instead of 12 us.
BetweenLooks between_looks(int ranks) {
  return ranks > online_cores() ? BetweenLooks::yield : BetweenLooks::pause;
}

int index_of(Rank peer, Channel channel) { return peer.value * channel_count + static_cast<int>(channel); }

}  // namespace

FabricCommunicator::FabricCommunicator(std::shared_ptr<Fabric> fabric, Rank rank)
    : Communicator(rank, fabric->groups()),
      fabric_(std::move(fabric)),
      bell_(fabric_->slot(rank).bell),
      between_looks_(between_looks(size())),
      outgoing_(size() * channel_count),
      incoming_(size() * channel_count),
      next_look_(std::chrono::steady_clock::now() + look_interval),
      exceptions_(std::uncaught_exceptions()) {
  for (CommGroupId group = world_group; groups().has(group); ++group) {
    const int position = groups().position(group, rank);
    collectives_.push_back({*fabric_, rank, group, position, traffic_});
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (Rank(peer) == rank) continue;
    for (Channel channel : {Channel::forward, Channel::backward, Channel::control}) {
      outgoing_[index_of(Rank(peer), channel)].box = fabric_->mailbox(rank, Rank(peer), channel);
      incoming_[index_of(Rank(peer), channel)].box = fabric_->mailbox(Rank(peer), rank, channel);
    }
  }
  fabric_->enter(rank, this_process());
}

FabricCommunicator::~FabricCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  fabric_->leave(rank());
}

Arena FabricCommunicator::allocate(std::int64_t bytes) {
  wait(Work(start_meeting(collectives_[0], {.kind = Post::Kind::allocate, .bytes = bytes})));
  const std::int64_t offset = allocated_;
  const std::int64_t end = offset + (bytes + 63) / 64 * 64;
  const FabricLayout& places = fabric_->places();
  if (end > places.arena_bytes) {
    throw environment_error("arena", fmt::format("{} bytes", end),
                            fmt::format("at most the {} bytes per rank that were reserved", places.arena_bytes),
                            "reserve the sum of all allocations when making the communicator");
  }
  fabric_->region().commit(places.arenas + rank().value * places.arena_bytes + offset, end - offset);
  allocated_ = end;
  return {fabric_->arena(rank()) + offset, bytes, true};
}

void FabricCommunicator::sleep(std::uint32_t seen, double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  for (;;) {
    fabric_->throw_if_aborted();
    const auto now = Clock::now();
    if (now >= next_look_) {
      fabric_->check_alive();
      next_look_ = now + look_interval;
      continue;
    }
    if (events() != seen || now >= end || watch(bell_, seen, watch_s, between_looks_)) return;
    sleep_on(bell_, seen, std::chrono::duration<double>(std::min(end, next_look_) - now).count());
  }
}

std::unique_ptr<WorkState> FabricCommunicator::start_collective(const CollectiveCall& call) {
  return comm::start_collective(collectives_[call.group.value], call);
}

std::unique_ptr<WorkState> FabricCommunicator::start_barrier() {
  return start_meeting(collectives_[0], {.kind = Post::Kind::barrier});
}

std::unique_ptr<WorkState> FabricCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  return start_write(*fabric_, outgoing_[index_of(to, message.channel)], buffer, rank(), to, message);
}

std::unique_ptr<WorkState> FabricCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  return start_read(*fabric_, incoming_[index_of(from, message.channel)], buffer, from, rank(), message);
}

}  // namespace parabench::comm
