#include "parallelism/comm/communicator.h"

#include <fmt/format.h>

#include <utility>

namespace parabench::comm {
namespace {

void check_peer(const Communicator& comm, std::string_view call, Rank peer) {
  if (peer.value < 0 || peer.value >= comm.size() || peer == comm.rank()) {
    throw std::invalid_argument(fmt::format("{}: rank {} of {} cannot exchange messages with rank {}", call,
                                            comm.rank().value, comm.size(), peer.value));
  }
}

void check_member(const Communicator& comm, const CollectiveCall& call) {
  const RankGroups& groups = comm.groups();
  if (!groups.has(call.group)) {
    throw std::invalid_argument(fmt::format("{}: rank {} names group {}, but the groups are 0 to {}", name(call.kind),
                                            comm.rank().value, call.group.value, groups.count() - 1));
  }
  if (groups.position(call.group, comm.rank()) < 0) {
    throw std::invalid_argument(fmt::format("{}: rank {} is no member of group {} {}", name(call.kind),
                                            comm.rank().value, call.group.value, to_text(groups, call.group)));
  }
}

void check_elements(const CollectiveCall& call) {
  const bool sums = call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
  const BufferView& buffer = call.buffer;
  const std::int64_t element = element_bytes(buffer.type);
  if (buffer.bytes >= 0 && buffer.bytes % element == 0 && !(sums && buffer.type == ElementType::byte)) return;
  throw std::invalid_argument(fmt::format("{}: {} bytes are not a whole number of {}", name(call.kind), buffer.bytes,
                                          sums                               ? "f32, f64 or bf16 elements"
                                          : buffer.type == ElementType::byte ? "bytes"
                                                                             : "elements"));
}

void check_shares(const Communicator& comm, const CollectiveCall& call) {
  const std::int64_t members = std::ssize(comm.groups().members(call.group));
  if (call.shares.members() != members) {
    throw std::invalid_argument(fmt::format("{}: {} shares for the {} members of group {}", name(call.kind),
                                            call.shares.members(), members, call.group.value));
  }
  if (call.shares.bytes() != call.buffer.bytes) {
    throw std::invalid_argument(fmt::format("{}: shares of {} bytes are {} together, but the buffer has {}",
                                            name(call.kind), share_sizes(call.shares.ends()), call.shares.bytes(),
                                            call.buffer.bytes));
  }
  const std::int64_t element = element_bytes(call.buffer.type);
  for (int i = 0; i < members; ++i) {
    const std::int64_t bytes = call.shares.of(i).bytes();
    if (bytes % element == 0) continue;
    throw std::invalid_argument(fmt::format("{}: share {} has {} bytes, expected a multiple of the {} of an element",
                                            name(call.kind), i, bytes, element));
  }
}

void check(const Communicator& comm, const CollectiveCall& call) {
  check_member(comm, call);
  check_elements(call);
  switch (call.kind) {
    case CollectiveKind::all_reduce: return;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather: return check_shares(comm, call);
    case CollectiveKind::broadcast:
      if (comm.groups().position(call.group, call.root) >= 0) return;
      throw std::invalid_argument(fmt::format("broadcast: the root, rank {}, is no member of group {} {}",
                                              call.root.value, call.group.value, to_text(comm.groups(), call.group)));
  }
}

/// Says so while it lives.
class Waiting {
 public:
  explicit Waiting(bool& flag) : flag_(flag) { flag_ = true; }
  ~Waiting() { flag_ = false; }

 private:
  bool& flag_;
};

constexpr std::uint64_t all_gather_tag = 0x616c6c5f67617468;  // "all_gath"

void exchange(Communicator& comm, BufferView mine, Rank to, BufferView theirs, Rank from) {
  Work works[] = {comm.send(mine, to, {Channel::control, all_gather_tag}),
                  comm.recv(theirs, from, {Channel::control, all_gather_tag})};
  comm.wait_all(works);
}

}  // namespace

std::int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::f32: return 4;
    case ElementType::f64: return 8;
    case ElementType::bf16: return 2;
    case ElementType::byte: return 1;
  }
  return 1;
}

std::string_view name(Channel channel) {
  switch (channel) {
    case Channel::forward: return "forward";
    case Channel::backward: return "backward";
    case Channel::control: return "control";
  }
  return "";
}

std::string_view name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::broadcast: return "broadcast";
  }
  return "";
}

PeerFailure::PeerFailure(Rank rank, std::string_view cause)
    : std::runtime_error(fmt::format("rank {} failed: {}", rank.value, cause)), rank_(rank) {}

Work Communicator::all_reduce(BufferView buffer, CommGroupId group) {
  return collective({.kind = CollectiveKind::all_reduce, .buffer = buffer, .group = group});
}

Work Communicator::reduce_scatter(BufferView buffer, Shares shares, CommGroupId group) {
  return collective(
      {.kind = CollectiveKind::reduce_scatter, .buffer = buffer, .group = group, .shares = std::move(shares)});
}

Work Communicator::all_gather(BufferView buffer, Shares shares, CommGroupId group) {
  return collective(
      {.kind = CollectiveKind::all_gather, .buffer = buffer, .group = group, .shares = std::move(shares)});
}

Work Communicator::broadcast(BufferView buffer, Rank root, CommGroupId group) {
  return collective({.kind = CollectiveKind::broadcast, .buffer = buffer, .group = group, .root = root});
}

Work Communicator::collective(const CollectiveCall& call) {
  check(*this, call);
  return Work(start_collective(call));
}

Work Communicator::send(BufferView buffer, Rank to, Message message) {
  check_peer(*this, "send", to);
  traffic_.sent += buffer.bytes;
  return Work(start_send(buffer, to, message));
}

Work Communicator::recv(BufferView buffer, Rank from, Message message) {
  check_peer(*this, "recv", from);
  traffic_.received += buffer.bytes;
  return Work(start_recv(buffer, from, message));
}

Work Communicator::barrier() { return Work(start_barrier()); }

void Communicator::wait(Work work) { wait_all({&work, 1}); }

void Communicator::wait_all(std::span<Work> works) {
  const Waiting waiting(waits_for_end_);
  for (;;) {
    const std::uint32_t seen = events();
    bool done = true;
    for (Work& work : works) done = work.test() && done;
    if (done) return;
    sleep(seen);
  }
}

std::vector<std::string> all_gather(Communicator& comm, std::string_view text) {
  const int ranks = comm.size();
  std::vector<std::string> texts(ranks);
  std::string& own = texts[comm.rank().value];
  own = text;
  for (int step = 1; step < ranks; ++step) {
    const Rank to((comm.rank().value + step) % ranks);
    const Rank from((comm.rank().value - step + ranks) % ranks);
    std::int64_t mine = std::ssize(own);
    std::int64_t theirs = 0;
    exchange(comm, {&mine, sizeof mine}, to, {&theirs, sizeof theirs}, from);
    std::string& other = texts[from.value];
    other.resize(theirs);
    exchange(comm, {own.data(), mine}, to, {other.data(), theirs}, from);
  }
  return texts;
}

}  // namespace parabench::comm
