// parabench-rank: one launch of one phase of one case, usable by hand.
#include <ATen/Parallel.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/called.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lack.h"
#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/staged.h"
#include "parallelism/comm/mpi/world.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/cuda/device_cuda.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/lane_runner.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/state_layout.h"
#include "suite/protocol/command.h"
#include "suite/protocol/folder.h"
#include "suite/rank/affinity.h"
#include "suite/rank/calibrate.h"
#include "suite/rank/capabilities.h"
#include "suite/rank/gpu_environment.h"
#include "suite/rank/hand_over.h"
#include "suite/rank/heartbeat.h"
#include "suite/rank/launch.h"
#include "suite/rank/measure.h"
#include "suite/rank/reply.h"
#include "suite/rank/transfers.h"
#include "suite/rank/verify.h"

namespace parabench::rank {
namespace {

constexpr double cause_patience_s = 2;  ///< a killed rank writes no cause

protocol::RankCommand parse(int argc, char** argv) {
  protocol::RankCommand command;
  CLI::App app{"One launch of one phase of one case. Example:\n  " + to_type("plan CASE --format json > p.json\n") +
               "  mpirun -np 2 parabench-rank --plan p.json --phase measure --reply /tmp/reply"};
  protocol::add_options(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    std::exit(code == 0 ? 0 : static_cast<int>(ExitCode::usage));
  }
  return command;
}

/// Bytes of arenas that the phase will ask the communicator for.
std::int64_t window_bytes(const Launch& launch) {
  const plan::Plan plan =
      launch.command.phase == protocol::Phase::verify ? exec::small_pieces(launch.plan, launch.model, 1) : launch.plan;
  return plan::exchanged_bytes(plan, launch.model, plan::StateRole::weights) +
         plan::exchanged_bytes(plan, launch.model, plan::StateRole::gradients);
}

/// Ranks that were given different plans would train different networks, or wait for each other forever.
void require_same_plan(comm::Communicator& comm, const std::string& mine) {
  const auto hashes = comm::all_gather(comm, mine);
  for (int r = 0; r < comm.size(); ++r)
    if (hashes[r] != hashes[0])
      throw usage_error("plan", hashes[r] + " on rank " + std::to_string(r), hashes[0] + ", as on rank 0",
                        "give every rank the same plan file");
}

/// The body of one rank on its device.
protocol::Answer run_phase(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                           const RankPlace& place) {
  switch (launch.command.phase) {
    case protocol::Phase::probe:
    case protocol::Phase::hand_over: break;
    case protocol::Phase::verify: return verify(launch, comm, device);
    case protocol::Phase::measure: return measure(launch, comm, device, place);
    case protocol::Phase::calibrate: return calibrate(launch, comm, device, place);
  }
  throw std::logic_error("a phase without ranks");
}

/// The lanes on which the phase sends from GPU to GPU.
std::vector<comm::MessageLane> message_lanes(const Launch& launch) {
  std::vector<comm::MessageLane> lanes;
  for (const plan::Route& route : plan::routes(launch.plan))
    lanes.push_back({route.from, route.to, exec::channel_of(route.payload)});
  if (launch.command.phase == protocol::Phase::calibrate && !lanes.empty())
    lanes.insert(lanes.end(), {ping_lane, pong_lane});
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

protocol::Answer run_phase(const Launch& launch, comm::Communicator& host) {
  const Case& spec = launch.plan.spec;
  if (is_emulated(spec)) return measure_emulated(launch, host);
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

/// The body of one rank, whatever carries it.
void run_rank(const Launch& launch, comm::Communicator& comm) {
  const std::filesystem::path& folder = launch.command.reply;
  try {
    protocol::write_start(folder, comm.rank(), launch.machine, to_text(launch.all_cores));
    const std::string plan_hash = plan::hash(launch.plan);
    require_same_plan(comm, plan_hash);
    require_phase(launch);
    const protocol::Answer answer = run_phase(launch, comm);
    if (comm.rank() == Rank(0)) protocol::write_reply(folder, {plan_hash, comm.capabilities().note, answer});
    // Nobody leaves while rank 0 still writes: a launcher may end the others when the first rank exits.
    comm.wait(comm.barrier());
  } catch (const std::exception& error) {
    report_failure(folder, comm.rank(), error);
    comm.abort(error.what());
    throw;
  }
}

int exit_code_of(const std::exception& error) {
  if (const auto lack = lack_behind(error)) return static_cast<int>(lack->code());
  const auto* ours = dynamic_cast<const Error*>(&error);
  return static_cast<int>(ours ? ours->code() : ExitCode::case_failed);
}

int run_threads(const Launch& launch) {
  const Heartbeat heartbeat(launch.command.reply, Rank(0), launch.plan.spec.np);
  try {
    comm::run_thread_ranks({launch.plan.spec.np, plan::collective_groups(launch.plan).declared},
                           [&](comm::Communicator& comm) { run_rank(launch, comm); });
    return 0;
  } catch (const std::exception& error) {
    return exit_code_of(error);
  }
}

/// By this process alone, whatever the plan's ranks.
void run_hand_over(const Launch& launch) {
  const Heartbeat heartbeat(launch.command.reply, Rank(0), 1);
  protocol::write_start(launch.command.reply, Rank(0), launch.machine, to_text(launch.all_cores));
  const protocol::HandOver answer = hand_over(launch);
  protocol::write_reply(launch.command.reply, {plan::hash(launch.plan), "", answer});
}

/// The rank that a launcher says this process is; nullopt where it is silent.
std::optional<Rank> announced_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* text = std::getenv(variable)) return Rank(std::atoi(text));
  return std::nullopt;
}

int run_mpi(const protocol::RankCommand& command, int argc, char** argv) {
  // From before MPI starts until after it has ended: there, too, all wait for one that was stopped.
  const std::optional<Rank> announced = announced_rank();
  std::optional<Heartbeat> heartbeat;
  if (announced) heartbeat.emplace(command.reply, *announced, 1);
  comm::MpiSession session(&argc, &argv);
  if (session.rank() != announced) heartbeat.emplace(command.reply, session.rank(), 1);
  try {
    const Launch launch = load_launch(command);
    if (session.size() != launch.plan.spec.np)
      throw usage_error("world size", std::to_string(session.size()),
                        std::to_string(launch.plan.spec.np) + " ranks, as the plan says",
                        "mpirun -np " + std::to_string(launch.plan.spec.np) + " parabench-rank ...");
    auto comm =
        comm::make_mpi_communicator(session, window_bytes(launch), plan::collective_groups(launch.plan).declared,
                                    /*allow_shared=*/true, reduction_between_hosts(launch.plan.spec));
    run_rank(launch, *comm);
    return 0;
  } catch (const std::exception& error) {
    if (!protocol::has_error(command.reply, session.rank())) report_failure(command.reply, session.rank(), error);
    if (const auto* peer = dynamic_cast<const comm::PeerFailure*>(&error))
      await_error(command.reply, peer->rank(), cause_patience_s);
    // The other ranks may be in a collective: finalising would wait for them.
    session.abort(exit_code_of(error));
  }
}

int run(int argc, char** argv) {
  const protocol::RankCommand command = parse(argc, argv);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Who polls (MPI's private buffers, NCCL, staging) pauses for 20 us, which the kernel's slack makes 92. Without it:
  // 39, and an all-reduce of 4 KiB on two ranks through MPI takes 130 us in place of 280.
  prctl(PR_SET_TIMERSLACK, 1);
  try {
    std::filesystem::create_directories(command.reply);
    if (command.phase == protocol::Phase::probe) {
      protocol::write_reply(command.reply, {"", "", offer_of_this_machine()});
      return 0;
    }
    exec::install_counting_allocator();
    at::set_num_interop_threads(1);
    if (command.phase == protocol::Phase::hand_over) {
      run_hand_over(load_launch(command));
      return 0;
    }
    const plan::Plan plan = plan::plan_from_json(read_json(command.plan));
    // NCCL needs no MPI to carry its ranks, and a single rank needs nobody to talk to.
    const bool as_threads = plan.spec.np == 1 || plan.spec.comm == CommKind::threads ||
                            (plan.spec.comm == CommKind::nccl && (command.one_process || !comm::mpi_available()));
    set_gpu_environment(plan.spec);
    return as_threads ? run_threads(load_launch(command)) : run_mpi(command, argc, argv);
  } catch (const std::exception& error) {
    report_failure(command.reply, Rank(0), error);
    return exit_code_of(error);
  }
}

}  // namespace
}  // namespace parabench::rank

int main(int argc, char** argv) { return parabench::rank::run(argc, argv); }
