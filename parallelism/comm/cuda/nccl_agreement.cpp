#include "parallelism/comm/cuda/nccl_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "base/error.h"
#include "base/host_name.h"
#include "parallelism/comm/cuda/nccl_lane.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::comm {
namespace {

std::string own_gpu(int gpu) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
  return fmt::format("{} {}", to_text(properties.uuid), host_name());
}

void require_two_ranks(const MessageLane& lane, int ranks) {
  const auto is_rank = [&](Rank rank) { return rank >= Rank(0) && rank < Rank(ranks); };
  if (is_rank(lane.from) && is_rank(lane.to) && lane.from != lane.to) return;
  throw std::invalid_argument(
      fmt::format("lane of messages from {}: expected two of the ranks 0 to {}", to_text(lane), ranks - 1));
}

/// Even senders come before odd ones and upward lanes before downward ones, so that along a chain of ranks the lanes of
/// different pairs are made at the same time.
auto turn(const MessageLane& lane) {
  return std::tuple(lane.from.value % 2, lane.to < lane.from, lane.channel, lane.from, lane.to);
}

}  // namespace

void require_own_gpu(Communicator& host, int gpu) {
  const std::vector<std::string> gpus = all_gather(host, own_gpu(gpu));
  std::map<std::string, int> owners;
  for (int rank = 0; rank < std::ssize(gpus); ++rank) {
    const auto [owner, first] = owners.emplace(gpus[rank].substr(0, gpus[rank].find(' ')), rank);
    if (first) continue;
    throw environment_error("comm:nccl", fmt::format("ranks {} and {} both on {}", owner->second, rank, gpus[rank]),
                            "a GPU for each rank",
                            "comm:mpi and comm:threads let ranks share a GPU; else fewer ranks or more GPUs");
  }
}

std::string to_text(const MessageLane& lane) {
  return fmt::format("rank {} to {} on {}", lane.from.value, lane.to.value, name(lane.channel));
}

std::vector<MessageLane> agree_on_lanes(Communicator& host, std::vector<MessageLane> lanes) {
  for (const MessageLane& lane : lanes) require_two_ranks(lane, host.size());
  std::ranges::sort(lanes, {}, turn);
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  std::string own;
  for (const MessageLane& lane : lanes) own += (own.empty() ? "" : ", ") + to_text(lane);
  const std::vector<std::string> all = all_gather(host, own.empty() ? "none" : own);
  const auto other = std::ranges::find_if(all, [&](const std::string& text) { return text != all.front(); });
  if (other == all.end()) return lanes;
  throw usage_error("lanes of messages", fmt::format("{} (rank {})", *other, other - all.begin()),
                    fmt::format("{}, as rank 0 declares", all.front()), "the same plan on every rank");
}

std::vector<ncclUniqueId> make_ids(Communicator& host, const std::vector<std::vector<Rank>>& lists) {
  std::string own;
  for (const std::vector<Rank>& members : lists) {
    if (members.front() != host.rank()) continue;
    ncclUniqueId id{};
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    own.append(id.internal, sizeof id.internal);
  }
  const std::vector<std::string> gathered = all_gather(host, own);
  std::vector<std::size_t> used(gathered.size());  // bytes of each rank's
  std::vector<ncclUniqueId> ids;
  for (const std::vector<Rank>& members : lists) {
    const int first = members.front().value;
    gathered[first].copy(ids.emplace_back().internal, sizeof(ncclUniqueId), used[first]);
    used[first] += sizeof(ncclUniqueId);
  }
  return ids;
}

}  // namespace parabench::comm
