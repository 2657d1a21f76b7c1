#include "parallelism/comm/threads/world.h"

#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "parallelism/comm/fabric_communicator.h"

namespace parabench::comm {
namespace {

/// Address space per rank; it costs nothing until allocate() commits a part.
constexpr std::int64_t arena_reserve = std::int64_t{16} << 30;

std::string cause_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

bool is_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerFailure&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::shared_ptr<Fabric> fabric_in_process(const RankGroups& groups) {
  const FabricShape shape{groups, arena_reserve};
  const FabricLayout places = layout(shape);
  Region region = Region::in_process(places.total);
  region.commit(0, places.arenas);
  return std::make_shared<Fabric>(std::move(region), shape);
}

}  // namespace

void run_thread_ranks(const RankGroups& groups, const std::function<void(Communicator&)>& body) {
  const std::shared_ptr<Fabric> fabric = fabric_in_process(groups);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](Rank rank) {
    FabricCommunicator comm(fabric, rank);
    try {
      body(comm);
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      {
        const std::lock_guard lock(mutex);
        // A body may have told its peers to stop before its own error arrives here: the cause comes before what
        // it led to.
        if (!first || (is_consequence(first) && !is_consequence(error))) first = error;
      }
      comm.abort(cause_of(error));
    }
  };
  if (groups.ranks() == 1) {
    run(Rank(0));
  } else {
    std::vector<std::jthread> threads;
    for (int r = 0; r < groups.ranks(); ++r) threads.emplace_back(run, Rank(r));
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace parabench::comm
