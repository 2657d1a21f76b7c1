#include "suite/launch/launcher.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <utility>

#include "base/error.h"
#include "suite/launch/process.h"

namespace parabench::suite {
namespace {

const std::vector<Launcher>& presets() {
  static const std::vector<Launcher> list = {
      {"mpirun", {"mpirun", "-np", "{np}", "--bind-to", "none", "{command}"}},
      {"srun", {"srun", "--mpi=pmix", "--kill-on-bad-exit=1", "-n", "{np}", "{command}"}},
      {"local", {"{command}"}},
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

std::vector<std::string> extra_words(const Launcher& launcher, int np, const LaunchHost& host) {
  std::vector<std::string> extra;
  if (launcher.name != "mpirun") return extra;
  if (host.root) extra.push_back("--allow-run-as-root");
  if (np > host.slots) extra.push_back("--oversubscribe");
  return extra;
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
  return {std::max(1, static_cast<int>(cores.size())), geteuid() == 0};
}

Launcher parse_launcher(std::string_view name_or_template) {
  std::vector<std::string> known;
  for (const auto& preset : presets()) {
    if (preset.name == name_or_template) return preset;
    known.push_back(preset.name);
  }
  Launcher launcher{std::string(name_or_template), split_words(name_or_template)};
  if (launcher.words.size() == 1 && !holds(launcher, "{")) {
    throw usage_error("--launcher", name_or_template, "a launcher's name, or a template with {np} and {command}",
                      nearest_hint(name_or_template, known));
  }
  if (std::find(launcher.words.begin(), launcher.words.end(), "{command}") == launcher.words.end()) {
    throw usage_error("--launcher", name_or_template, "a template with the word {command}",
                      "try 'mpirun -np {np} --bind-to none {command}'");
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
    if (word == "{command}") {
      const auto extra = extra_words(launcher, np, host);
      words.insert(words.end(), extra.begin(), extra.end());
      words.insert(words.end(), program.begin(), program.end());
      continue;
    }
    std::string filled = word;
    for (auto at = filled.find("{np}"); at != std::string::npos; at = filled.find("{np}")) {
      filled.replace(at, 4, std::to_string(np));
    }
    words.push_back(std::move(filled));
  }
  return words;
}

bool stays_on_this_host(const Launcher& launcher) {
  const char* slurm_nodes = std::getenv("SLURM_JOB_NUM_NODES");
  const bool one_slurm_node = slurm_nodes && std::string_view(slurm_nodes) == "1";
  if (launcher.name == "srun") return one_slurm_node;
  if (launcher.name == "local") return true;
  return launcher.name == "mpirun" && (!slurm_nodes || one_slurm_node) && !std::getenv("PBS_NODEFILE") &&
         !std::getenv("LSB_HOSTS");
}

std::string additions(const Launcher& launcher, int np, const LaunchHost& host) {
  const auto extra = extra_words(launcher, np, host);
  if (extra.empty()) return "";
  std::string why = host.root ? "run by root" : "";
  if (np > host.slots) why += fmt::format("{}{} ranks on {} cores", why.empty() ? "" : ", ", np, host.slots);
  return fmt::format("mpirun gets {} ({})", fmt::join(extra, " "), why);
}

void require_launcher(const Launcher& launcher) {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(variable)) {
      throw usage_error(variable, std::getenv(variable), "no rank: parabench starts the ranks itself",
                        "start parabench without a launcher and give --launcher to it");
    }
  }
  const auto& program = launcher.words.front();
  if (program == "{command}" || !find_program(program).empty()) return;
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
