#include "suite/launch/launcher.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "suite/launch/process.h"

namespace parabench::suite {
namespace {

const std::string program_word = "{program}";

const std::vector<Launcher>& presets() {
  static const std::vector<Launcher> list = {
      {"mpirun", {"mpirun", "-np", "{np}", "--bind-to", "none", program_word}},
      {"srun", {"srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--cpu-bind=none", "-n", "{np}", program_word}},
      {"local", {program_word}},
  };
  return list;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quote && (c == ' ' || c == '\t')) {
      open = false;
      continue;
    }
    if (!std::exchange(open, true)) words.emplace_back();
    if (quote ? c == quote : (c == '\'' || c == '"')) {
      quote = quote ? 0 : c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote) throw usage_error("--launcher", text, "closed quotes");
  return words;
}

bool holds(const Launcher& launcher, std::string_view part) {
  return std::any_of(launcher.words.begin(), launcher.words.end(),
                     [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

/// A host that is gone is noticed after some 20 s, not after the 8 minutes of Open MPI's own defaults. Open MPI 4 and 5
/// know these names.
constexpr std::array keep_alive = {"--mca", "oob_tcp_keepalive_time",   "10", "--mca", "oob_tcp_keepalive_intvl", "5",
                                   "--mca", "oob_tcp_keepalive_probes", "2"};

/// What a preset lacks for these ranks here, and why.
struct Addition {
  std::vector<std::string> words;
  std::string why;
};

std::vector<Addition> additions_of(const Launcher& launcher, int np, const LaunchHost& host) {
  const Allocation& job = host.allocation;
  std::vector<Addition> all;
  if (launcher.name == "mpirun") {
    if (host.root) all.push_back({{"--allow-run-as-root"}, "run by root"});
    if (np > host.slots) {
      const std::string where =
          job.job.empty() ? counted(host.slots, "core") : counted(host.slots, "slot") + " of the job";
      all.push_back({{"--oversubscribe"}, fmt::format("{} ranks on {}", np, where)});
    }
    if (!is_this_host_alone(job)) all.push_back({{keep_alive.begin(), keep_alive.end()}, "to notice a lost host"});
  }
  if (launcher.name == "srun" && job.cpus > 0 && np > job.cpus)
    all.push_back({{"--overcommit"}, fmt::format("{} ranks on {} of the job", np, counted(job.cpus, "processor"))});
  return all;
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// Whether `srun --mpi=list` names pmix; some versions print it on stderr.
bool srun_speaks_pmix() {
  if (find_program("srun").empty()) return false;
  FILE* list = popen("srun --mpi=list 2>&1", "r");
  if (!list) return false;
  std::string text;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, list)) > 0;) text.append(part, n);
  pclose(list);
  return text.find("pmix") != std::string::npos;
}

}  // namespace

LaunchHost this_host() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::set<std::pair<int, int>> cores;  // package and core: hyper-threads count once
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    int package = -1, core = cpu;
    std::ifstream(folder + "physical_package_id") >> package;
    std::ifstream(folder + "core_id") >> core;
    cores.emplace(package, core);
  }
  const Allocation allocation = this_allocation();
  int slots = std::max(1, static_cast<int>(cores.size()));
  // Not every mpirun knows PBS and LSF: it may count the cores of this host.
  if (allocation.slots > 0)
    slots = allocation.job.starts_with("Slurm") ? allocation.slots : std::min(slots, allocation.slots);
  return {slots, geteuid() == 0, allocation};
}

Launcher parse_launcher(std::string_view name_or_template) {
  std::vector<std::string> known;
  for (const auto& preset : presets()) {
    if (preset.name == name_or_template) return preset;
    known.push_back(preset.name);
  }
  Launcher launcher{std::string(name_or_template), split_words(name_or_template)};
  if (launcher.words.size() == 1 && !holds(launcher, "{")) {
    throw usage_error("--launcher", name_or_template, "a launcher's name, or a template with {np} and {program}",
                      nearest_hint(name_or_template, known));
  }
  std::ranges::replace(launcher.words, "{command}", program_word);
  if (std::ranges::find(launcher.words, program_word) == launcher.words.end()) {
    throw usage_error("--launcher", name_or_template, "a template with the word {program}",
                      "try 'mpirun -np {np} --bind-to none {program}'");
  }
  return launcher;
}

std::vector<std::string> launch_command(const Launcher& launcher, int np, const std::vector<std::string>& program,
                                        const LaunchHost& host) {
  if (np > 1 && !holds(launcher, "{np}")) {
    throw usage_error("--launcher", launcher.name, fmt::format("a launcher with {{np}} to start {} processes", np),
                      "try --launcher mpirun, or cases with comm:threads");
  }
  std::vector<std::string> words;
  for (const auto& word : launcher.words) {
    if (word == program_word) {
      for (const Addition& more : additions_of(launcher, np, host))
        words.insert(words.end(), more.words.begin(), more.words.end());
      words.insert(words.end(), program.begin(), program.end());
      continue;
    }
    std::string filled = word;
    replace_all(filled, "{np}", std::to_string(np));
    replace_all(filled, "{hosts}", fmt::format("{}", fmt::join(host.allocation.hosts, ",")));
    words.push_back(std::move(filled));
  }
  return words;
}

UsualLauncher usual_launcher(const Allocation& allocation) {
  UsualLauncher usual{parse_launcher("mpirun"), ""};
  if (!allocation.job.starts_with("Slurm")) return usual;
  const bool pmix = srun_speaks_pmix();
  if (pmix) usual.launcher = parse_launcher("srun");
  usual.why =
      fmt::format("{} ({}): the launcher is {}, since `srun --mpi=list` names {}; --launcher takes another",
                  allocation.job, fmt::join(allocation.hosts, ", "), usual.launcher.name, pmix ? "pmix" : "no pmix");
  return usual;
}

bool stays_on_this_host(const Launcher& launcher) {
  if (launcher.name == "local") return true;
  const Allocation allocation = this_allocation();
  if (launcher.name == "srun") return !allocation.job.empty() && is_this_host_alone(allocation);
  for (const char* host_file : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"})
    if (std::getenv(host_file)) return false;
  return launcher.name == "mpirun" && is_this_host_alone(allocation);
}

std::string additions(const Launcher& launcher, int np, const LaunchHost& host) {
  std::vector<std::string> parts;
  for (const Addition& more : additions_of(launcher, np, host))
    parts.push_back(fmt::format("{} ({})", fmt::join(more.words, " "), more.why));
  return parts.empty() ? "" : fmt::format("{} gets {}", launcher.name, fmt::join(parts, ", "));
}

void require_launcher(const Launcher& launcher) {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(variable)) {
      throw usage_error(variable, std::getenv(variable), "no rank: parabench starts the ranks itself",
                        "start parabench without a launcher and give --launcher to it");
    }
  }
  const auto& program = launcher.words.front();
  if (program == program_word || !find_program(program).empty()) return;
  const std::string install = program == "mpirun"
                                  ? "apt-get install openmpi-bin, or take comm:threads (comm:nccl: --launcher local)"
                              : program == "srun" ? "run inside a Slurm installation, or try --launcher mpirun"
                                                  : "install it, or try --launcher mpirun";
  throw environment_error("launcher", program, "a program in PATH", install);
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./:,@%") == std::string::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace parabench::suite
