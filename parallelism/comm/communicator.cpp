#include "parallelism/comm/communicator.h"

#include <fmt/format.h>

#include <utility>

namespace parabench {
namespace {

void check_peer(const Communicator& comm, std::string_view call, Rank peer) {
  if (peer.value < 0 || peer.value >= comm.size() || peer == comm.rank()) {
    throw std::invalid_argument(fmt::format("{}: rank {} of {} cannot exchange messages with rank {}", call,
                                            comm.rank().value, comm.size(), peer.value));
  }
}

void check_member(const Communicator& comm, int group) {
  const RankGroups& groups = comm.groups();
  if (group < 0 || group >= groups.count()) {
    throw std::invalid_argument(fmt::format("all_reduce: rank {} names group {}, but the groups are 0 to {}",
                                            comm.rank().value, group, groups.count() - 1));
  }
  if (groups.position(group, comm.rank()) < 0) {
    throw std::invalid_argument(fmt::format("all_reduce: rank {} is no member of group {} {}", comm.rank().value, group,
                                            to_text(groups, group)));
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

std::string_view name(Channel channel) {
  switch (channel) {
    case Channel::forward: return "forward";
    case Channel::backward: return "backward";
    case Channel::control: return "control";
  }
  return "";
}

PeerFailure::PeerFailure(Rank rank, std::string_view cause)
    : std::runtime_error(fmt::format("rank {} failed: {}", rank.value, cause)), rank_(rank) {}

Work Communicator::all_reduce(BufferView buffer, int group) {
  check_member(*this, group);
  const std::int64_t element = buffer.type == ElementType::f64 ? 8 : 4;
  if (buffer.type == ElementType::byte || buffer.bytes < 0 || buffer.bytes % element != 0) {
    throw std::invalid_argument(
        fmt::format("all_reduce: {} bytes are not a whole number of f32 or f64 elements", buffer.bytes));
  }
  return Work(start_all_reduce(buffer, group));
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

}  // namespace parabench
