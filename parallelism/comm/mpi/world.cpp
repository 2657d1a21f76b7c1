#include "parallelism/comm/mpi/world.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/comm/fabric_communicator.h"
#include "parallelism/comm/mpi/check.h"
#include "parallelism/comm/mpi/private_communicator.h"

namespace parabench::comm {
namespace {

bool shared_memory_wanted() {
  const char* text = std::getenv("PARABENCH_SHARED_MEMORY");
  if (!text || std::string_view(text) == "on") return true;
  if (std::string_view(text) == "off") return false;
  throw usage_error("PARABENCH_SHARED_MEMORY", text, "on or off");
}

bool on_one_node(int size) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int neighbours = 0;
  check_mpi(MPI_Comm_size(node, &neighbours), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return neighbours == size;
}

bool everywhere(bool here) {
  int all = here ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  return all == 1;
}

/// Rank 0's text on every rank.
std::string from_rank_0(std::string text) {
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  text.resize(length);
  check_mpi(MPI_Bcast(text.data(), length, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return text;
}

/// Ranks that disagree would wait for each other forever.
void require_same_groups(const RankGroups& groups) {
  std::string mine;
  for (CommGroupId group(1); groups.has(group); ++group) mine += to_text(groups, group);
  const std::string first = from_rank_0(mine);
  if (everywhere(mine == first)) return;
  throw usage_error("groups of ranks", mine == first ? "others on another rank" : mine, first + ", as on rank 0",
                    "start all ranks with the same plan");
}

/// Whether the window is of no use to it even where memory could be shared.
bool sends_messages(ReduceKind reduce) {
  switch (reduce) {
    case ReduceKind::automatic:
    case ReduceKind::window:
    case ReduceKind::hierarchical: return false;
    case ReduceKind::ring:
    case ReduceKind::halving_doubling:
    case ReduceKind::double_tree:
    case ReduceKind::library: return true;
  }
  return false;
}

/// A region that all ranks have mapped and backed with memory, or why there is none (the same text on every rank).
struct Sharing {
  std::shared_ptr<Fabric> fabric;
  std::string obstacle;
};

/// Has every rank but the first, which made it, open the region; whether all could.
bool open_everywhere(std::optional<Region>& region, const std::string& path, std::int64_t bytes) {
  try {
    if (!region) region.emplace(Region::open_shared(path, bytes));
  } catch (const Error&) {
    return everywhere(false);
  }
  return everywhere(true);
}

/// As open_everywhere; the region has a name only where ranks do not see each other's open files.
bool spread(std::optional<Region>& region, bool first, std::int64_t bytes) {
  if (open_everywhere(region, from_rank_0(first ? region->open_path() : ""), bytes)) return true;
  std::string path;
  try {
    if (first) region->give_name(path = unique_region_path());
  } catch (const Error&) {
    // Then nobody can open it.
  }
  const bool all_open = open_everywhere(region, from_rank_0(path), bytes);
  if (first) unlink_region(path);
  return all_open;
}

Sharing share(const MpiSession& session, const FabricShape& shape) {
  const bool first = session.rank() == Rank(0);
  const FabricLayout places = layout(shape);
  std::optional<Region> region;
  std::string obstacle;
  if (first) {
    sweep_stale_regions();
    obstacle = shared_memory_obstacle(places.total, shared_memory_available());
    if (obstacle.empty()) {
      try {
        region.emplace(Region::create_shared(places.total));
      } catch (const Error& error) {
        obstacle = error.what();
      }
    }
  }
  obstacle = from_rank_0(obstacle);
  if (!obstacle.empty()) return {nullptr, obstacle};
  if (!spread(region, first, places.total)) return {nullptr, "another rank could not open the shared memory"};
  bool backed = true;
  try {
    if (first) region->commit(0, places.arenas);
    // Each rank its own arena, so that the pages lie near the core that computes on them.
    region->commit(places.arenas + session.rank().value * places.arena_bytes, places.arena_bytes);
  } catch (const Error& error) {
    backed = false;
    obstacle = error.what();
  }
  if (everywhere(backed)) return {std::make_shared<Fabric>(std::move(*region), shape), {}};
  obstacle = from_rank_0(obstacle);
  return {nullptr, obstacle.empty() ? "another rank found too little shared memory" : obstacle};
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const MpiSession& session, std::int64_t arena_bytes_per_rank,
                                                    std::vector<std::vector<Rank>> groups, bool allow_shared,
                                                    ReduceKind reduce) {
  const FabricShape shape{{session.size(), std::move(groups)}, arena_bytes_per_rank};
  require_same_groups(shape.groups);
  const auto alone = [&](std::string note) {
    if (reduce == ReduceKind::window) {
      throw environment_error("reduce", "window", "memory that all ranks share, but " + note, "try reduce:auto");
    }
    return std::make_unique<PrivateCommunicator>(session.rank(), shape.groups, std::move(note), reduce);
  };
  if (!everywhere(allow_shared && shared_memory_wanted())) return alone("shared memory is switched off");
  if (sends_messages(reduce)) return alone(std::string("reduce:") += to_text(reduce));
  if (!everywhere(on_one_node(session.size()))) return alone("the ranks are on several nodes");
  Sharing sharing = share(session, shape);
  if (!sharing.fabric) return alone(sharing.obstacle);
  auto comm = std::make_unique<FabricCommunicator>(std::move(sharing.fabric), session.rank());
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");  // from here on everybody watches everybody
  return comm;
}

}  // namespace parabench::comm
