#include "suite/rank/calibrate.h"

#include <algorithm>

#include "analytic/calibration/process_bytes.h"
#include "analytic/calibration/scope.h"
#include "base/date.h"
#include "parallelism/plan/strategies/placement.h"
#include "suite/rank/calibration_blocks.h"
#include "suite/rank/canary.h"
#include "suite/rank/loading.h"
#include "suite/rank/resident.h"
#include "suite/rank/transfers.h"

namespace parabench::rank {
namespace {

/// First of all, while the allocator keeps nothing that other chains have left; 0 where nobody asks for it.
std::int64_t process_bytes_of(const Launch& launch, exec::Device& device) {
  constexpr int steps = 3;
  if (!analytic::has_process_of_its_own(launch.plan.spec)) return 0;
  LayerChains(launch, device, plan::single_layers(launch.model))
      .time(analytic::calibration_scope(launch.plan).samples.back(), {.timed = steps}, [] {});
  return std::max<std::int64_t>(0, resident_peak_bytes() - device.account().peak().total_counted());
}

}  // namespace

analytic::Calibration calibrate(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                                const RankPlace& place) {
  const Case& spec = launch.plan.spec;
  const auto outside_allocator = [&] {
    comm.wait(comm.barrier());  // while it is looked at, nobody takes memory
    const std::int64_t bytes = device.outside_allocator();
    comm.wait(comm.barrier());
    return bytes;
  };
  CanaryWatch canary(spec, comm);
  const std::int64_t outside_before = outside_allocator();
  const std::int64_t process_bytes = process_bytes_of(launch, device);
  analytic::Calibration calibration;
  calibration.machine = launch.machine;
  {
    const double slowdown = slowdown_of_updates(launch, comm, device, {});
    LayerChains chains(launch, device, plan::single_layers(launch.model));
    time_chains(launch, comm, device, chains, analytic::calibration_scope(launch.plan).samples, {}, slowdown,
                calibration);
  }
  calibration.process_bytes = process_bytes;
  const std::int64_t outside_chains = outside_allocator();
  time_loading(launch, comm, analytic::calibration_scope(launch.plan).samples.front(), calibration);
  time_copies(launch, comm, device, calibration);
  const ReductionBuffer buffer = reduction_buffer(launch, comm, device);
  time_exchanges(launch, comm, device, buffer, analytic::ExchangesOf::any_plan, {}, calibration);
  if (!device.where().is_cpu()) {
    calibration.launch_floor_s = launch_floor(device);
    const std::int64_t outside_all = outside_allocator();
    // Of other processes on the GPU nobody can tell what is context, allocator and communicator.
    if (place.ranks_on_device == 1 || place.same_process) {
      // The chains load the modules of their kernels; what the communicators make, and on first use, is their own. A
      // rank alone never uses one.
      calibration.context_bytes = device.context_bytes() + outside_chains - outside_before;
      const std::int64_t on_first_use = comm.size() == 1 ? 0 : outside_all - outside_chains;
      const std::int64_t communicators = outside_before - device.context_bytes() + on_first_use;
      const std::int64_t arena = buffer.own.defined() ? 0 : buffer.arena.bytes;
      calibration.communicator_bytes[analytic::communicator_name(spec)] =
          std::max<std::int64_t>(0, communicators / place.ranks_on_device - arena);
    }
  }
  calibration.date = utc_now();
  calibration.ranks = comm.size();
  calibration.canary = canary.end();
  return comm.rank() == Rank(0) ? calibration : analytic::Calibration{};
}

}  // namespace parabench::rank
