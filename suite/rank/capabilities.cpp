#include "suite/rank/capabilities.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "parallelism/comm/cuda/gpus.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/mpi/world.h"
#include "parallelism/comm/threads/world.h"
#include "suite/rank/reply.h"

namespace parabench {
namespace {

using nlohmann::json;

/// "ok", or why a communicator of one rank cannot be made.
std::string try_nccl() {
  try {
    run_thread_ranks(1, [](Communicator& alone) { make_nccl_communicator(alone, 0); });
    return "ok";
  } catch (const std::exception& error) {
    return error.what();
  }
}

json to_json(const Gpu& gpu) {
  return {{"name", gpu.name}, {"uuid", gpu.uuid}, {"capability", gpu.capability}, {"memory_bytes", gpu.memory_bytes}};
}

}  // namespace

void add_capabilities(json& reply) {
  const GpuReport report = look_for_gpus();
  const bool usable = report.obstacle.empty();
  json& gpu = reply["gpu"] = {{"driver", report.driver},    {"runtime", report.runtime}, {"cudnn", report.cudnn},
                              {"nccl", report.nccl},        {"nccl_init", ""},           {"gpus", json::array()},
                              {"obstacle", report.obstacle}};
  for (const Gpu& one : report.gpus) gpu["gpus"].push_back(to_json(one));
  if (usable) gpu["nccl_init"] = try_nccl();

  reply["devices"] = {"cpu", "emulated"};
  reply["communicators"] = {"threads"};
  reply["obstacles"] = json::object();
  if (mpi_available())
    reply["communicators"].push_back("mpi");
  else
    reply["obstacles"]["mpi"] = "this build has no MPI";
  if (usable)
    reply["devices"].push_back("cuda");
  else
    reply["obstacles"]["cuda"] = report.obstacle;
  if (usable && gpu["nccl_init"] == "ok")
    reply["communicators"].push_back("nccl");
  else
    reply["obstacles"]["nccl"] = usable ? gpu["nccl_init"].get<std::string>() : report.obstacle;
}

GpuSeat choose_gpu(Communicator& host, bool sharing) {
  const GpuReport report = look_for_gpus();
  const std::string first = report.gpus.empty() ? "" : report.gpus.front().uuid;
  const auto places = all_gather(host, json({host_name(), first}).dump());
  GpuSeat seat{.local_ranks = 0};
  std::set<std::string> first_gpus;
  for (int r = 0; r < host.size(); ++r) {
    const json place = json::parse(places[r]);
    if (place[0] != host_name()) continue;
    if (Rank(r) < host.rank()) ++seat.local_rank;
    ++seat.local_ranks;
    first_gpus.insert(place[1].get<std::string>());
  }
  const bool private_gpus = static_cast<int>(first_gpus.size()) == seat.local_ranks;
  seat.gpu = gpu_of(seat.local_rank, seat.local_ranks, static_cast<int>(report.gpus.size()), private_gpus, sharing);
  const auto uuids = all_gather(host, report.gpus[static_cast<std::size_t>(seat.gpu)].uuid);
  seat.sharers = static_cast<int>(std::ranges::count(uuids, uuids[static_cast<std::size_t>(host.rank().value)]));
  return seat;
}

}  // namespace parabench
