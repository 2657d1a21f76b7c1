#include "suite/rank/capabilities.h"

#include <torch/version.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/host_name.h"
#include "parallelism/comm/cuda/gpu_of.h"
#include "parallelism/comm/cuda/gpus.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/mpi/session.h"
#include "parallelism/comm/threads/world.h"
#include "suite/rank/reply.h"

namespace parabench::rank {
namespace {

/// nccl_starts, or why a communicator of one rank cannot be made.
std::string try_nccl() {
  try {
    comm::run_thread_ranks(1, [](comm::Communicator& alone) { comm::make_nccl_communicator(alone, 0); });
    return std::string(protocol::nccl_starts);
  } catch (const std::exception& error) {
    return error.what();
  }
}

protocol::GpuProbe probe_of(const comm::GpuReport& report) {
  protocol::GpuProbe probe{.driver = report.driver,
                           .runtime = report.runtime,
                           .cudnn = report.cudnn,
                           .nccl = report.nccl,
                           .obstacle = report.obstacle};
  for (const comm::Gpu& gpu : report.gpus) probe.gpus.push_back({gpu.name, gpu.uuid, gpu.capability, gpu.memory_bytes});
  return probe;
}

}  // namespace

protocol::Offer offer_of_this_machine() {
  const comm::GpuReport report = comm::look_for_gpus();
  protocol::Offer offer{.devices = {DeviceKind::cpu, DeviceKind::emulated},
                        .communicators = {CommKind::threads},
                        .libtorch = TORCH_VERSION,
                        .mpi = comm::MpiSession::library_version()};
  const bool has_cuda = !report.runtime.empty(), has_gpu = report.obstacle.empty();
  if (has_cuda) offer.gpu = probe_of(report);
  if (comm::mpi_available()) {
    offer.communicators.push_back(CommKind::mpi);
  } else {
    offer.obstacles["mpi"] = "this build has no MPI";
  }
  if (!has_gpu) {
    offer.obstacles["cuda"] = offer.obstacles["nccl"] = report.obstacle;
    return offer;
  }
  offer.devices.push_back(DeviceKind::cuda);
  offer.gpu->nccl_init = try_nccl();
  if (offer.gpu->nccl_init == protocol::nccl_starts) {
    offer.communicators.push_back(CommKind::nccl);
  } else {
    offer.obstacles["nccl"] = offer.gpu->nccl_init;
  }
  return offer;
}

Neighbours neighbours(comm::Communicator& host) {
  const auto hosts = comm::all_gather(host, host_name());
  Neighbours here;
  for (int r = 0; r < host.size(); ++r) {
    if (hosts[r] != host_name()) continue;
    if (Rank(r) < host.rank()) ++here.local_rank;
    ++here.local_ranks;
  }
  return here;
}

GpuSeat choose_gpu(comm::Communicator& host, bool sharing) {
  const comm::GpuReport report = comm::look_for_gpus();
  const std::string first = report.gpus.empty() ? "" : report.gpus.front().uuid;
  const auto hosts = comm::all_gather(host, host_name()), firsts = comm::all_gather(host, first);
  GpuSeat seat{.local_ranks = 0};
  std::set<std::string> first_gpus;
  for (int r = 0; r < host.size(); ++r) {
    if (hosts[r] != host_name()) continue;
    if (Rank(r) < host.rank()) ++seat.local_rank;
    ++seat.local_ranks;
    first_gpus.insert(firsts[r]);
  }
  const bool private_gpus = static_cast<int>(first_gpus.size()) == seat.local_ranks;
  seat.gpu =
      comm::gpu_of(seat.local_rank, seat.local_ranks, static_cast<int>(report.gpus.size()), private_gpus, sharing);
  const auto uuids = comm::all_gather(host, report.gpus[static_cast<std::size_t>(seat.gpu)].uuid);
  seat.sharers = static_cast<int>(std::ranges::count(uuids, uuids[static_cast<std::size_t>(host.rank().value)]));
  return seat;
}

}  // namespace parabench::rank
