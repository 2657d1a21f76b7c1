#include "suite/launch/workplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cores.h"
#include "base/counted.h"
#include "base/error.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/peer.h"
#include "suite/machine/knowledge.h"
#include "suite/machine/surroundings.h"

namespace parabench::suite {
namespace {

constexpr double start_up_s = 1.5;           ///< launcher, LibTorch, building the model
constexpr double start_up_patience_s = 120;  ///< a cold disk, many ranks
constexpr double prediction_patience = 20;

/// Steps' worth of work in a launch. Verify: its steps in fp64 on small pieces and in the reference of every replica's
/// pieces, and as many in the run's precision; calibrate: chains at three batch sizes, alone and with all ranks busy;
/// paired: rounds of its steps, a rehearsal of as many, and chains at two batch sizes; hand_over: three steps of all
/// ranks' work.
double work_in_steps(protocol::Phase phase, const plan::Plan& plan, int launch_steps) {
  switch (phase) {
    case protocol::Phase::probe:
    case protocol::Phase::communicate: return 0;
    case protocol::Phase::verify: return (2.0 + 4.0 / 3 * plan.spec.np) * plan::equivalence_steps(plan);
    case protocol::Phase::measure: return launch_steps + std::max(protocol::most_isolated_steps, plan.averaging.every);
    case protocol::Phase::calibrate: return 60.0 * plan.spec.np;
    case protocol::Phase::paired: return protocol::fewest_paired_rounds * (3.0 * launch_steps + 20.0 * plan.spec.np);
    case protocol::Phase::hand_over: return 3.0 * plan.spec.np;
  }
  return 0;
}

double work_seconds(protocol::Phase phase, const Forecast& forecast, int launch_steps) {
  const double steps_s = work_in_steps(phase, forecast.plan, launch_steps) * forecast.predicted.step_time_s;
  return phase == protocol::Phase::paired ? std::max(steps_s, protocol::paired_launch_s) : steps_s;
}

LaunchResult interrupted_launch() {
  LaunchResult result;
  result.interrupted = true;
  result.reason = "interrupted";
  return result;
}

/// Later commands of the same launcher and number of processes differ in phase and folder alone.
void show_command(Workplace& workplace, const LaunchRequest& request, const std::filesystem::path& folder) {
  const std::optional<Case> spec = case_of(request);
  if (!spec || request.phase == protocol::Phase::hand_over || request.peer) return;
  const Launcher own = launcher_for(*spec, workplace.options.launcher);
  const auto beginning = launch_command(own, processes(*spec, own), {}, workplace.host);
  if (beginning.empty() || !workplace.shown_commands.insert(shell_line(beginning)).second) return;
  workplace.progress.note(
      "ranks are started by " +
      shell_line(command_line(request, workplace.options.launcher, workplace.host, plan_file(folder), folder)));
}

}  // namespace

Workplace::Workplace(LaunchOptions launch_options, Progress& progress_line)
    : options(std::move(launch_options)), progress(progress_line) {
  settle_launcher(options, host.allocation, progress);
}

void settle_launcher(LaunchOptions& options, const Allocation& allocation, Progress& progress) {
  if (options.launcher_given) return;
  UsualLauncher usual = usual_launcher(allocation);
  options.launcher = std::move(usual.launcher);
  if (!usual.why.empty()) progress.note(usual.why);
}

void add_hosts(std::vector<results::Host>& known, const std::vector<results::Host>& seen) {
  for (const results::Host& host : seen) {
    const auto same = std::ranges::find(known, host.name, &results::Host::name);
    if (same == known.end()) {
      known.push_back(host);
    } else if (same->cpusets.size() < host.cpusets.size()) {
      same->cpusets = host.cpusets;
    }
  }
}

Launcher usable_launcher(const Launcher& launcher, const protocol::Offer& capabilities) {
  const bool of_processes = launcher.name == "mpirun" || launcher.name == "srun";
  return of_processes && !protocol::offers(capabilities, CommKind::mpi) ? parse_launcher("local") : launcher;
}

void check_launches(const std::vector<SelectedCase>& chosen, const Launcher& launcher,
                    const protocol::Offer& capabilities) {
  for (const auto& one : chosen)
    if (!plan::is_peer(one.spec)) check_launch(one.spec, launcher, capabilities);
}

void check_launch(const Case& spec, const Launcher& launcher, const protocol::Offer& capabilities) {
  if (spec.np > 1 && !protocol::offers(capabilities, spec.comm)) return;
  const Launcher own = launcher_for(spec, launcher);
  require_launcher(own);
  launch_command(own, processes(spec, own), {}, {});
}

void note_machine(Workplace& workplace, int threads, int processes) {
  const auto note = [&workplace](const std::string& text) {
    workplace.progress.note(text);
    workplace.notes.push_back(text);
  };
  if (threads > workplace.machine.cores) {
    note(fmt::format("up to {} threads compute on {}: times include waiting for a core", threads,
                     counted(workplace.machine.cores, "core")));
  }
  const std::string busy = threads > 0 ? busy_host(load_average(), online_cores()) : "";
  if (!busy.empty()) note(busy);
  if (processes == 0) return;
  const std::string added = additions(workplace.options.launcher, processes, workplace.host);
  if (!added.empty()) note(added);
}

LaunchResult run(Workplace& workplace, LaunchRequest request) {
  if (request.finishing ? workplace.signals.must_stop() : workplace.signals.interrupted()) return interrupted_launch();
  request.data = workplace.options.data;
  request.skip_corrupt = workplace.options.skip_corrupt;
  request.timeout_s = workplace.options.timeout_s.value_or(request.timeout_s);
  const auto folder = workplace.scratch.path() / std::to_string(++workplace.launches);
  show_command(workplace, request, folder);
  LaunchResult result = launch(request, workplace.options.launcher, workplace.host, folder, workplace.signals);
  add_hosts(workplace.hosts, result.hosts);
  std::error_code ignored;
  if (result.reply && !request.keep.empty()) {
    std::filesystem::rename(folder, request.keep);
  } else {
    std::filesystem::remove_all(folder, ignored);
  }
  return result;
}

protocol::Offer probe_capabilities(Workplace& workplace) {
  const auto program = rank_program();
  LaunchRequest request;
  request.phase = protocol::Phase::probe;
  request.timeout_s = launch_patience(0);
  const LaunchResult result = run(workplace, request);
  if (result.interrupted) throw Interrupted{};
  if (!result.reply) {
    throw environment_error("parabench-rank", program.string(), "a program that answers --phase probe", result.reason);
  }
  const protocol::Offer& offer = std::get<protocol::Offer>(result.reply->answer);
  remember(offer, workplace.machine, program);
  return offer;
}

protocol::Offer find_capabilities(Workplace& workplace) {
  const auto known = remembered_capabilities(workplace.machine, rank_program());
  const protocol::Offer capabilities = known ? *known : probe_capabilities(workplace);
  workplace.machine.gpus = gpu_kinds(capabilities);
  workplace.options.launcher = usable_launcher(workplace.options.launcher, capabilities);
  return capabilities;
}

std::map<std::string, std::string> find_peers(const std::vector<SelectedCase>& chosen, Workplace& workplace) {
  std::set<std::string> products;
  for (const SelectedCase& one : chosen)
    if (plan::is_peer(one.spec)) products.emplace(plan::peer_product(one.spec).name);
  if (products.empty()) return {};
  write_peer_program(peer_program(workplace));
  auto obstacles = probe_peers(products, peer_program(workplace), workplace.scratch.path(), workplace.signals);
  if (workplace.signals.interrupted()) throw Interrupted{};
  return obstacles;
}

std::filesystem::path peer_program(const Workplace& workplace) { return workplace.scratch.path() / "peer"; }

double launch_seconds(double work_s) { return start_up_s + work_s; }

double launch_patience(double work_s) { return start_up_patience_s + prediction_patience * work_s; }

double expected_seconds(protocol::Phase phase, const Forecast& forecast, int launch_steps) {
  return launch_seconds(work_seconds(phase, forecast, launch_steps));
}

double patience_seconds(protocol::Phase phase, const Forecast& forecast, int launch_steps) {
  return launch_patience(work_seconds(phase, forecast, launch_steps));
}

}  // namespace parabench::suite
