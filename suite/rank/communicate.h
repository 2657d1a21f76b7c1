// The phase that times collectives and messages by themselves.
#pragma once

#include "parallelism/comm/communicator.h"
#include "suite/protocol/exchange_work.h"

namespace parabench::rank {

/// Runs on every rank and answers on rank 0, with the slowest rank of each iteration; what it returns on the others is
/// empty. `comm` has room for exchange_arena_bytes() and the groups of exchange_groups().
protocol::ExchangeTimings communicate(const protocol::ExchangeWork& work, comm::Communicator& comm);

}  // namespace parabench::rank
