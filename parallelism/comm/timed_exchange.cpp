#include "parallelism/comm/timed_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <set>

#include "base/clock.h"
#include "parallelism/comm/algorithms/choice.h"
#include "parallelism/comm/exchange_values.h"

namespace parabench::comm {
namespace {

/// Iterations whose buffers fit into so much are prepared together, so that small ones need few sweeps.
constexpr std::int64_t rotation_bytes = 8 << 20;

CollectiveKind collective(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::all_reduce: return CollectiveKind::all_reduce;
    case ExchangeKind::reduce_scatter: return CollectiveKind::reduce_scatter;
    case ExchangeKind::all_gather: return CollectiveKind::all_gather;
    case ExchangeKind::broadcast: return CollectiveKind::broadcast;
    case ExchangeKind::send_receive:
    case ExchangeKind::ping_pong: break;
  }
  throw std::logic_error("messages are no collective");
}

std::int64_t lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Of one iteration: messages have a buffer to send and one to receive.
std::int64_t slot_bytes(const Exchange& exchange) {
  return lines(exchange.bytes) * (is_message(exchange.kind) ? 2 : 1);
}
int slots(const Exchange& exchange, int calls) {
  return static_cast<int>(std::clamp<std::int64_t>(rotation_bytes / slot_bytes(exchange), 1, calls));
}

/// Group 0 where all ranks are members, else those of this size follow those of the sizes before.
CommGroupId group_of(const RankGroups& groups, Rank rank, int members) {
  if (members == groups.ranks()) return world_group;
  for (CommGroupId group(1); groups.has(group); ++group)
    if (std::ssize(groups.members(group)) == members && groups.position(group, rank) >= 0) return group;
  throw std::logic_error(fmt::format("no group of {} ranks was declared", members));
}

/// This rank's part in one exchange.
class Part {
 public:
  Part(Communicator& comm, const ExchangeSetting& setting, const Exchange& exchange)
      : comm_(comm),
        setting_(setting),
        exchange_(exchange),
        group_(group_of(comm.groups(), comm.rank(), exchange.members)),
        position_(comm.groups().position(group_, comm.rank())),
        shares_(Shares::even(exchange.bytes, exchange.members)),
        type_(setting.precision == Precision::fp64 ? ElementType::f64 : ElementType::f32) {}

  void prepare(std::byte* slot, int iteration) const {
    const ValuePeriod own = own_values(position_, iteration), none = no_values();
    switch (exchange_.kind) {
      case ExchangeKind::all_reduce:
      case ExchangeKind::reduce_scatter: return write(slot, whole(), own);
      case ExchangeKind::all_gather: write(slot, whole(), none); return write(slot, shares_.of(position_), own);
      case ExchangeKind::broadcast: return write(slot, whole(), position_ == 0 ? own : none);
      case ExchangeKind::send_receive:
      case ExchangeKind::ping_pong: write(slot, whole(), own); return write(received(slot), whole(), none);
    }
  }

  void run(std::byte* slot, int iteration) {
    const auto tag = static_cast<std::uint64_t>(iteration);
    if (exchange_.kind == ExchangeKind::send_receive) {
      std::array<Work, 2> both{comm_.recv(view(received(slot)), member(-1), {Channel::forward, tag}),
                               comm_.send(view(slot), member(1), {Channel::forward, tag})};
      return comm_.wait_all(both);
    }
    if (exchange_.kind == ExchangeKind::ping_pong) return play(slot, tag);
    comm_.wait(comm_.collective({.kind = collective(exchange_.kind),
                                 .buffer = view(slot),
                                 .group = group_,
                                 .shares = has_shares() ? shares_ : Shares(),
                                 .root = members().front()}));
  }

  /// Seconds of the exchange in what an iteration took.
  double seconds(double iteration_s) const {
    return exchange_.kind == ExchangeKind::ping_pong ? iteration_s / 2 : iteration_s;
  }

  std::string wrong(std::byte* slot, int iteration) const {
    switch (exchange_.kind) {
      case ExchangeKind::all_reduce: return check(slot, whole(), summed_values(exchange_.members, iteration));
      case ExchangeKind::reduce_scatter:
        return check(slot, shares_.of(position_), summed_values(exchange_.members, iteration));
      case ExchangeKind::all_gather: return wrong_share(slot, iteration);
      case ExchangeKind::broadcast: return check(slot, whole(), own_values(0, iteration));
      case ExchangeKind::send_receive: return check(received(slot), whole(), own_values(before(), iteration));
      case ExchangeKind::ping_pong:
        // The second one sends back what it got, so that the first one's own numbers return.
        return position_ > 1 ? "" : check(received(slot), whole(), own_values(0, iteration));
    }
    return "";
  }

 private:
  void play(std::byte* slot, std::uint64_t tag) {
    if (position_ == 0) {
      comm_.wait(comm_.send(view(slot), member(1), {Channel::forward, tag}));
      comm_.wait(comm_.recv(view(received(slot)), member(1), {Channel::backward, tag}));
    } else if (position_ == 1) {
      comm_.wait(comm_.recv(view(received(slot)), member(-1), {Channel::forward, tag}));
      comm_.wait(comm_.send(view(received(slot)), member(-1), {Channel::backward, tag}));
    }
  }

  std::string wrong_share(std::byte* slot, int iteration) const {
    for (int owner = 0; owner < exchange_.members; ++owner) {
      std::string wrong = check(slot, shares_.of(owner), own_values(owner, iteration));
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  const std::vector<Rank>& members() const { return comm_.groups().members(group_); }
  int before() const { return (position_ + exchange_.members - 1) % exchange_.members; }
  Rank member(int step) const { return members()[(position_ + exchange_.members + step) % exchange_.members]; }
  bool has_shares() const {
    return exchange_.kind == ExchangeKind::reduce_scatter || exchange_.kind == ExchangeKind::all_gather;
  }
  Share whole() const { return {0, exchange_.bytes}; }
  std::byte* received(std::byte* slot) const { return slot + lines(exchange_.bytes); }
  BufferView view(std::byte* data) const { return {data, exchange_.bytes, type_}; }
  std::int64_t element(std::int64_t byte) const { return byte / (type_ == ElementType::f64 ? 8 : 4); }
  static std::span<std::byte> part(std::byte* data, Share share) {
    return {data + share.begin, static_cast<std::size_t>(share.bytes())};
  }
  void write(std::byte* data, Share share, const ValuePeriod& values) const {
    write_values(part(data, share), setting_.precision, element(share.begin), values);
  }
  std::string check(std::byte* data, Share share, const ValuePeriod& expected) const {
    return first_wrong_value(part(data, share), setting_.precision, element(share.begin), expected);
  }

  Communicator& comm_;
  const ExchangeSetting& setting_;
  const Exchange& exchange_;
  CommGroupId group_;
  int position_;
  Shares shares_;
  ElementType type_;
};

std::int64_t largest_cache() {
  constexpr std::int64_t unknown = 32 << 20, most = 256 << 20;
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::int64_t kibibytes = 0;
    if (file >> kibibytes) largest = std::max(largest, kibibytes << 10);
  }
  return largest > 0 ? std::min(largest, most) : unknown;
}

}  // namespace

std::vector<std::vector<Rank>> exchange_groups(int np, std::span<const Exchange> exchanges) {
  std::set<int> sizes;
  for (const Exchange& one : exchanges) sizes.insert(one.members);
  sizes.erase(np);
  std::vector<std::vector<Rank>> groups;
  for (const int members : sizes) {
    for (int first = 0; first + members <= np; first += members) {
      std::vector<Rank>& group = groups.emplace_back();
      for (int r = 0; r < members; ++r) group.emplace_back(first + r);
    }
  }
  return groups;
}

std::int64_t exchange_arena_bytes(std::span<const Exchange> exchanges, int calls) {
  std::int64_t most = 0;
  for (const Exchange& one : exchanges) most = std::max(most, slot_bytes(one) * slots(one, calls));
  return most;
}

CacheSweep::CacheSweep() : memory_(static_cast<std::size_t>(largest_cache()) / sizeof(std::int64_t)) {
  // Pages that nobody has written are all the same one.
  std::iota(memory_.begin(), memory_.end(), 0);
}

void CacheSweep::operator()() {
  constexpr std::size_t line = 64 / sizeof(std::int64_t);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < memory_.size(); i += line) sum += memory_[i];
  sink_ = sum;
}

TimedExchange time_exchange(Communicator& comm, const Arena& arena, const ExchangeSetting& setting,
                            const Exchange& exchange, int warmup, int iterations, CacheSweep& sweep) {
  Part part(comm, setting, exchange);
  const int calls = warmup + iterations, together = slots(exchange, calls);
  const auto slot = [&](int i) { return arena.data + i * slot_bytes(exchange); };
  TimedExchange timed;
  for (int first = 0; first < calls; first += together) {
    const int count = std::min(together, calls - first);
    for (int i = 0; i < count; ++i) part.prepare(slot(i), first + i);
    sweep();
    for (int i = 0; i < count; ++i) {
      comm.wait(comm.barrier());
      const double start = now_s();
      part.run(slot(i), first + i);
      const double seconds = part.seconds(now_s() - start);
      if (first + i >= warmup) timed.seconds.push_back(seconds);
    }
    for (int i = 0; i < count && timed.wrong.empty(); ++i) {
      const std::string wrong = part.wrong(slot(i), first + i);
      if (!wrong.empty()) timed.wrong = fmt::format("iteration {}, rank {}: {}", first + i, comm.rank().value, wrong);
    }
    // Who is through may not write what others still read.
    comm.wait(comm.barrier());
  }
  return timed;
}

std::string algorithm_of(const Communicator& comm, const ExchangeSetting& setting, const Exchange& exchange,
                         std::span<const int> hosts) {
  const Capabilities all = comm.capabilities();
  if (is_message(exchange.kind)) return all.shared_arenas ? "shared memory" : "messages";
  if (all.shared_arenas) return all.reduction;
  if (exchange.kind == ExchangeKind::broadcast) return "library";
  std::vector<int> members;
  for (const Rank member : comm.groups().members(group_of(comm.groups(), comm.rank(), exchange.members)))
    members.push_back(hosts[member.value]);
  const CollectiveKind kind = collective(exchange.kind);
  const auto algorithm = algorithm_for(setting.reduce, kind, exchange.bytes, members);
  if (!algorithm) return "library";
  // Trees have one root and so no shares (transfers.h).
  const bool around = *algorithm == Algorithm::double_tree && kind != CollectiveKind::all_reduce;
  return std::string(name(around ? Algorithm::ring : *algorithm));
}

}  // namespace parabench::comm
