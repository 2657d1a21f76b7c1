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
#include <optional>

#include "base/called.h"
#include "base/error.h"
#include "base/lack.h"
#include "parallelism/comm/mpi/world.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/plan/formats/print_json.h"
#include "suite/protocol/command.h"
#include "suite/protocol/folder.h"
#include "suite/rank/affinity.h"
#include "suite/rank/capabilities.h"
#include "suite/rank/gpu_environment.h"
#include "suite/rank/hand_over.h"
#include "suite/rank/heartbeat.h"
#include "suite/rank/job.h"
#include "suite/rank/launch.h"
#include "suite/rank/reply.h"

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

/// Ranks that were given different plans would train different networks, or wait for each other forever.
void require_same_plan(comm::Communicator& comm, const std::string& mine) {
  const auto hashes = comm::all_gather(comm, mine);
  for (int r = 0; r < comm.size(); ++r)
    if (hashes[r] != hashes[0])
      throw usage_error("plan", hashes[r] + " on rank " + std::to_string(r), hashes[0] + ", as on rank 0",
                        "give every rank the same plan file");
}

/// The body of one rank, whatever carries it.
void run_rank(const Job& job, const std::filesystem::path& folder, comm::Communicator& comm) {
  try {
    protocol::write_start(folder, comm.rank(), job.machine, to_text(job.all_cores));
    require_same_plan(comm, job.hash);
    const protocol::Answer answer = job.run(comm);
    if (comm.rank() == Rank(0)) protocol::write_reply(folder, {job.hash, comm.capabilities().note, answer});
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

int run_threads(const Job& job, const std::filesystem::path& folder) {
  const Heartbeat heartbeat(folder, Rank(0), job.spec.np);
  try {
    comm::run_thread_ranks({job.spec.np, job.groups}, [&](comm::Communicator& comm) { run_rank(job, folder, comm); });
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
    const Job job = load_job(command);
    if (session.size() != job.spec.np)
      throw usage_error("world size", std::to_string(session.size()),
                        std::to_string(job.spec.np) + " ranks, as the plan says",
                        "mpirun -np " + std::to_string(job.spec.np) + " parabench-rank ...");
    auto comm =
        comm::make_mpi_communicator(session, job.arena_bytes, job.groups, /*allow_shared=*/true, job.between_hosts);
    run_rank(job, command.reply, *comm);
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
    const Case spec = spec_of(command);
    // NCCL needs no MPI to carry its ranks, and a single rank needs nobody to talk to.
    const bool as_threads = spec.np == 1 || spec.comm == CommKind::threads ||
                            (spec.comm == CommKind::nccl && (command.one_process || !comm::mpi_available()));
    set_gpu_environment(spec);
    return as_threads ? run_threads(load_job(command), command.reply) : run_mpi(command, argc, argv);
  } catch (const std::exception& error) {
    report_failure(command.reply, Rank(0), error);
    return exit_code_of(error);
  }
}

}  // namespace
}  // namespace parabench::rank

int main(int argc, char** argv) { return parabench::rank::run(argc, argv); }
