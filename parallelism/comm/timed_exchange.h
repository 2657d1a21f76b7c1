// Times one collective or message by itself, again and again, and checks every value that it brings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/exchange.h"
#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// The groups that exchanges among np ranks want declared: for each number of members but np, once, all groups of so
/// many consecutive ranks.
std::vector<std::vector<Rank>> exchange_groups(int np, std::span<const Exchange> exchanges);

/// Bytes of an arena in which each of them can be timed `calls` times.
std::int64_t exchange_arena_bytes(std::span<const Exchange> exchanges, int calls);

/// Memory that is read between iterations, so that buffers are no longer in the caches: as large as the largest cache
/// of this host's first core (32 MiB where it does not tell), at most 256 MiB.
class CacheSweep {
 public:
  CacheSweep();
  void operator()();
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.size() * sizeof(memory_[0])); }

 private:
  std::vector<std::int64_t> memory_;
  volatile std::int64_t sink_ = 0;
};

struct TimedExchange {
  std::vector<double> seconds;  ///< of each iteration, on this rank: from behind a barrier to its own end
  std::string wrong;            ///< the first value that was not the expected one; "" where all were right
};

/// `setting`: of the launch; of its ranks each takes part in the one group that it is in (of ping_pong the first two
/// members, the others wait). The buffers rotate through the arena; they are written anew before an iteration, then
/// swept from the caches, and compared in full after it. Discards `warmup` iterations before the others. Collective,
/// with the same arguments on all ranks.
TimedExchange time_exchange(Communicator& comm, const Arena& arena, const ExchangeSetting& setting,
                            const Exchange& exchange, int warmup, int iterations, CacheSweep& sweep);

/// What carries an exchange out: "window", "ring", "library", ...; of messages the way that they take. `hosts`: of each
/// rank of the world, equal where ranks share one.
std::string algorithm_of(const Communicator& comm, const ExchangeSetting& setting, const Exchange& exchange,
                         std::span<const int> hosts);

}  // namespace parabench::comm
