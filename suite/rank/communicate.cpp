#include "suite/rank/communicate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parallelism/comm/gather.h"
#include "parallelism/comm/mpi/session.h"
#include "parallelism/comm/timed_exchange.h"
#include "suite/rank/canary.h"
#include "suite/rank/hosts.h"

namespace parabench::rank {
namespace {

/// Of each rank the number of its host. Collective.
std::vector<int> hosts_of(comm::Communicator& comm) {
  const Placement placement = find_placement(comm);
  std::vector<int> hosts;
  for (Rank rank; rank.value < comm.size(); ++rank) hosts.push_back(host_of(placement, rank));
  return hosts;
}

/// The slowest rank's seconds and the lowest rank's complaint, on rank 0. Collective.
protocol::ExchangeTiming gathered(comm::Communicator& comm, const comm::TimedExchange& own) {
  protocol::ExchangeTiming all{.seconds = own.seconds, .wrong = own.wrong};
  const nlohmann::json told = {{"seconds", own.seconds}, {"wrong", own.wrong}};
  for (const std::string& text : comm::gather_to_root(comm, told.dump())) {
    const nlohmann::json one = nlohmann::json::parse(text);
    const auto seconds = one.at("seconds").get<std::vector<double>>();
    for (std::size_t i = 0; i < seconds.size(); ++i) all.seconds[i] = std::max(all.seconds[i], seconds[i]);
    if (all.wrong.empty()) all.wrong = one.at("wrong").get<std::string>();
  }
  return all;
}

}  // namespace

protocol::ExchangeTimings communicate(const protocol::ExchangeWork& work, comm::Communicator& comm) {
  CanaryWatch canary(case_of(work.setting), comm);
  const comm::Arena arena = comm.allocate(comm::exchange_arena_bytes(work.exchanges, work.warmup + work.iterations));
  const std::vector<int> hosts = hosts_of(comm);
  comm::CacheSweep sweep;
  protocol::ExchangeTimings timings;
  if (work.setting.comm == CommKind::mpi) timings.mpi_settings = comm::mpi_settings();
  for (const Exchange& exchange : work.exchanges) {
    const comm::TimedExchange own =
        comm::time_exchange(comm, arena, work.setting, exchange, work.warmup, work.iterations, sweep);
    protocol::ExchangeTiming timing = gathered(comm, own);
    timing.algorithm = comm::algorithm_of(comm, work.setting, exchange, hosts);
    if (comm.rank() == Rank(0)) timings.exchanges.push_back(std::move(timing));
  }
  timings.canary = canary.end();
  return timings;
}

}  // namespace parabench::rank
