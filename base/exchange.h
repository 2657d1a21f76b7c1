// What ranks do when communication is timed by itself: one collective or message, and how it is done.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

enum class ExchangeKind {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  send_receive,  ///< every member sends to the next one, and receives from the one before, at the same time
  ping_pong,     ///< a message from the first member to the second, and back; its seconds are half of both
};
constexpr std::array<std::string_view, 6> names_of(ExchangeKind) {
  return {"all-reduce", "reduce-scatter", "all-gather", "broadcast", "send-receive", "ping-pong"};
}
/// Whether it is made of messages between two ranks, which no algorithm of sums changes.
bool is_message(ExchangeKind kind);

/// One of them. `bytes` is the whole buffer: of all_gather what a member ends up with, of reduce_scatter what it starts
/// with; of messages one message.
struct Exchange {
  ExchangeKind kind = ExchangeKind::all_reduce;
  std::int64_t bytes = 0;
  int members = 2;  ///< of each group; the groups are of consecutive ranks and do the same at the same time
  bool operator==(const Exchange&) const = default;
};

/// What is the same for all exchanges of one launch.
struct ExchangeSetting {
  int np = 2;
  ReduceKind reduce = ReduceKind::automatic;
  Precision precision = Precision::fp32;
  CommKind comm = CommKind::mpi;
  bool operator==(const ExchangeSetting&) const = default;
};

/// `communicate/all-reduce/ring/np:2/bytes:1048576`, then those of /group:2 /precision:fp64 /comm:threads that are not
/// all ranks, fp32 and mpi; messages have no algorithm: `communicate/ping-pong/np:2/bytes:4096`.
std::string exchange_id(const ExchangeSetting& setting, const Exchange& exchange);

/// A case whose ranks communicate so, for what is known by case: launchers, calibrations.
Case case_of(const ExchangeSetting& setting);

/// Bytes per second that the slowest link has to carry, comparable between numbers of ranks and with the speed of the
/// hardware, as the nccl-tests report it (doc/PERFORMANCE.md): the algorithm bandwidth, bytes / seconds, times
/// 2(p-1)/p for all_reduce, (p-1)/p for reduce_scatter and all_gather, 1 for broadcast and messages. 0 where nothing
/// crosses a link: one rank of the first three.
double bus_bandwidth(ExchangeKind kind, std::int64_t bytes, int ranks, double seconds);

}  // namespace parabench
