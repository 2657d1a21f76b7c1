#include "suite/rank/job.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "analytic/calibration/scope.h"
#include "base/error.h"
#include "base/file.h"
#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/staged.h"
#include "parallelism/comm/timed_exchange.h"
#include "parallelism/exec/cuda/device_cuda.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/lane_runner.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/state_layout.h"
#include "suite/rank/affinity.h"
#include "suite/rank/calibrate.h"
#include "suite/rank/capabilities.h"
#include "suite/rank/communicate.h"
#include "suite/rank/hosts.h"
#include "suite/rank/launch.h"
#include "suite/rank/measure.h"
#include "suite/rank/paired.h"
#include "suite/rank/transfers.h"
#include "suite/rank/verify.h"

namespace parabench::rank {
namespace {

/// Bytes of arenas that the phase will ask the communicator for.
std::int64_t window_bytes(const Launch& launch) {
  const plan::Plan plan =
      launch.command.phase == protocol::Phase::verify ? exec::small_pieces(launch.plan, launch.model, 1) : launch.plan;
  std::int64_t bytes = 0;
  std::int64_t largest_arena = 0;
  for (const auto& [role, largest] : plan::exchanged_arenas(plan, launch.model)) {
    bytes += largest;
    largest_arena = std::max(largest_arena, largest);
  }
  // A buffer to reduce in stands beside the state.
  return launch.command.phase == protocol::Phase::paired ? bytes + largest_arena : bytes;
}

/// The body of one rank on its device.
protocol::Answer run_phase(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                           const RankPlace& place) {
  switch (launch.command.phase) {
    case protocol::Phase::probe:
    case protocol::Phase::hand_over:
    case protocol::Phase::communicate: break;
    case protocol::Phase::verify: return verify(launch, comm, device);
    case protocol::Phase::measure: return measure(launch, comm, device, place);
    case protocol::Phase::calibrate: return calibrate(launch, comm, device, place);
    case protocol::Phase::paired: return pair(launch, comm, device);
  }
  throw std::logic_error("a phase without a plan on ranks");
}

/// The lanes on which the phase sends from GPU to GPU.
std::vector<comm::MessageLane> message_lanes(const Launch& launch) {
  std::vector<comm::MessageLane> lanes;
  for (const plan::Route& route : plan::routes(launch.plan))
    lanes.push_back({route.from, route.to, exec::channel_of(route.payload)});
  const bool calibrates =
      launch.command.phase == protocol::Phase::calibrate || launch.command.phase == protocol::Phase::paired;
  if (!calibrates) return lanes;
  for (const analytic::MessagePair& pair : analytic::calibration_scope(launch.plan).messages)
    lanes.insert(lanes.end(), {ping_lane(pair), pong_lane(pair)});
  return lanes;
}

std::unique_ptr<comm::Communicator> between_gpus(const Launch& launch, comm::Communicator& host, int gpu) {
  switch (launch.plan.spec.comm) {
    case CommKind::nccl: return comm::make_nccl_communicator(host, gpu, message_lanes(launch));
    case CommKind::threads: return comm::make_direct_communicator(host, gpu);
    case CommKind::mpi: return comm::make_staged_communicator(host, gpu);
  }
  throw std::logic_error("a communicator that nobody makes");
}

protocol::Answer run_placed(const Launch& launch, comm::Communicator& host) {
  const Case& spec = launch.plan.spec;
  exec::MemoryAccount& account = account_of(host.rank());
  if (spec.device == DeviceKind::cpu) {
    const Neighbours here = neighbours(host);
    const auto cores = take_cores(here.local_rank, here.local_ranks, spec.threads);
    return run_phase(launch, host, *exec::cpu_device(account), {.cpuset = to_text(cores)});
  }
  const GpuSeat seat = choose_gpu(host, spec.comm != CommKind::nccl);
  if (spec.comm == CommKind::threads && seat.sharers > exec::most_ranks_on_gpu)
    throw environment_error("ranks on one GPU", std::to_string(seat.sharers),
                            "at most " + std::to_string(exec::most_ranks_on_gpu),
                            "fewer ranks, more GPUs, or comm:mpi");
  // Before CUDA and NCCL start threads, which stay where this one is.
  const auto cores = take_cores(seat.local_rank, seat.local_ranks,
                                cores_beside_gpu(static_cast<int>(launch.all_cores.size()), seat.local_ranks));
  const RankPlace place{to_text(cores), seat.sharers, spec.comm == CommKind::threads};
  const bool tuned = launch.command.phase != protocol::Phase::verify;
  const std::unique_ptr<exec::Device> device = exec::cuda_device(seat.gpu, spec.precision, tuned, account);
  const std::unique_ptr<comm::Communicator> comm = between_gpus(launch, host, seat.gpu);
  return run_phase(launch, *comm, *device, place);
}

protocol::Answer run_phase(const Launch& launch, comm::Communicator& host) {
  if (is_emulated(launch.plan.spec)) return measure_emulated(launch, host);
  Placement placement = find_placement(host);
  if (host_count(placement) == 1) return run_placed(launch, host);
  Launch placed = launch;  // whose plan does not know where it runs
  placed.plan.placement = std::move(placement);
  return run_placed(placed, host);
}

/// Emulated devices compute nothing that could be verified or calibrated.
void require_phase(const Launch& launch) {
  const protocol::Phase phase = launch.command.phase;
  if (is_emulated(launch.plan.spec) && phase != protocol::Phase::measure)
    throw usage_error("--phase", parabench::to_text(phase), "measure for a plan on device:emulated");
}

/// What the communicator of MPI is asked for: NCCL has algorithms of its own, beside which it carries little.
ReduceKind reduction_between_hosts(const Case& spec) {
  return spec.comm == CommKind::nccl ? ReduceKind::automatic : spec.reduce;
}

Job job_of_plan(const protocol::RankCommand& command) {
  const auto launch = std::make_shared<const Launch>(load_launch(command));
  return {.spec = launch->plan.spec,
          .hash = plan::hash(launch->plan),
          .groups = plan::collective_groups(launch->plan).declared,
          .arena_bytes = window_bytes(*launch),
          .between_hosts = reduction_between_hosts(launch->plan.spec),
          .machine = launch->machine,
          .all_cores = launch->all_cores,
          .run = [launch](comm::Communicator& comm) {
            require_phase(*launch);
            return run_phase(*launch, comm);
          }};
}

protocol::ExchangeWork load_work(const protocol::RankCommand& command) {
  const nlohmann::json document = read_json(command.plan);
  return protocol::exchange_work_from_json(JsonReader(document, command.plan.string() + ": work"));
}

/// Each rank on its core, as where it trains.
protocol::Answer communicate_on_cores(const protocol::ExchangeWork& work, comm::Communicator& comm) {
  const Neighbours here = neighbours(comm);
  take_cores(here.local_rank, here.local_ranks, 1);
  return communicate(work, comm);
}

Job job_of_exchanges(const protocol::RankCommand& command) {
  const protocol::ExchangeWork work = load_work(command);
  return {.spec = case_of(work.setting),
          .hash = protocol::hash(work),
          .groups = comm::exchange_groups(work.setting.np, work.exchanges),
          .arena_bytes = comm::exchange_arena_bytes(work.exchanges, work.warmup + work.iterations),
          .between_hosts = work.setting.reduce,
          .machine = analytic::this_machine(),
          .all_cores = allowed_cores(),
          .run = [work](comm::Communicator& comm) { return communicate_on_cores(work, comm); }};
}

}  // namespace

Job load_job(const protocol::RankCommand& command) {
  return command.phase == protocol::Phase::communicate ? job_of_exchanges(command) : job_of_plan(command);
}

Case spec_of(const protocol::RankCommand& command) {
  if (command.phase == protocol::Phase::communicate) return case_of(load_work(command).setting);
  return plan::plan_from_json(read_json(command.plan)).spec;
}

}  // namespace parabench::rank
