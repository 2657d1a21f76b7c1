#include "suite/cli/sweep_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/called.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json_null.h"
#include "base/json_text.h"
#include "base/writable.h"
#include "results/summary.h"
#include "suite/cli/options.h"
#include "suite/launch/launcher.h"
#include "suite/machine/knowledge.h"
#include "suite/sweep/sweep_scripts.h"
#include "suite/sweep/sweep_status.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void write_program(const fs::path& path, const std::string& text) {
  write_atomically(path, text);
  fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
}

/// The cases of this sweep, and those of earlier ones in the same folder that have results; each with what would run it
/// with the options of this sweep.
std::vector<IndexEntry> index_of(const std::vector<ScriptCases>& scripts, const fs::path& folder,
                                 const RunOptions& run_options) {
  std::vector<IndexEntry> entries;
  for (const ScriptCases& script : scripts) entries.insert(entries.end(), script.cases.begin(), script.cases.end());
  const bool again = fs::exists(folder / index_name);
  for (const IndexEntry& old : again ? read_index(folder / index_name) : std::vector<IndexEntry>()) {
    const bool known = std::ranges::find(entries, old.id, &IndexEntry::id) != entries.end();
    if (!known && fs::exists(folder / old.folder / result_name)) entries.push_back(old);
  }
  for (IndexEntry& entry : entries) {
    SelectedCase chosen;
    chosen.id = entry.id;
    entry.command = repeating_command(chosen, run_options);
  }
  return entries;
}

bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c); });
}

/// Scripts and the index hold a word as it is.
void check_words(const SweepOptions& options, const Sweep& sweep) {
  if (has_control(options.out))
    throw usage_error("--out", options.out, "a folder whose name scripts can hold: without control characters");
  for (const RunOption& option : run_options()) {
    if (!has_control(option.text(sweep.options))) continue;
    throw usage_error(fmt::format("{} of {}", option.name, options.file), option.text(sweep.options),
                      "no control characters in it, nor in the folder of the file");
  }
}

/// DIR/latest leads to the folder that was written last.
void link_latest(const fs::path& dir, const fs::path& target) {
  const fs::path link = dir / "latest", next = dir / ".latest.next";
  std::error_code error;
  fs::remove(next, error);
  fs::create_symlink(target, next, error);
  if (!error) fs::rename(next, link, error);
  if (error) throw environment_error("--out", link.string(), "a symbolic link that can be made", error.message());
}

std::string safe_host(std::string host) {
  for (char& c : host)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  return host.empty() || host[0] == '.' ? "machine" : host;
}

ScriptCases all_of(const Sweep& sweep) {
  ScriptCases all{"run", {}, {}};
  for (const SelectedCase& one : sweep.cases) all.cases.push_back({case_folder(one.spec, one.id), one.id});
  return all;
}

/// Job arrays of an earlier sweep in the folder that this one does not have: submitted with the others, they would run
/// cases that are no longer meant. Their lists of cases stay for arrays that run.
void remove_earlier_arrays(const fs::path& folder, const std::vector<ScriptCases>& scripts, std::ostream& out) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (!entry.is_regular_file() || path.extension() != ".sbatch") continue;
    if (std::ranges::find(scripts, path.stem().string(), &ScriptCases::stem) != scripts.end()) continue;
    std::error_code error;
    fs::remove(path, error);
    fmt::print(out, "{} {}, of an earlier sweep\n", error ? "could not remove" : "removed", path.string());
  }
}

json to_json(const CampaignFolder& campaign, const std::vector<CaseProgress>& cases) {
  json counts = json::object(), list = json::array();
  for (const std::string_view name : enum_names<CaseState>) counts[std::string(name)] = 0;
  for (const CaseProgress& one : cases) {
    counts[std::string(to_text(one.state))] = counts[std::string(to_text(one.state))].get<int>() + 1;
    list.push_back({{"id", one.entry.id},
                    {"folder", one.entry.folder},
                    {"state", to_text(one.state)},
                    {"reason", null_if_empty(one.reason)}});
  }
  return {{"campaign", campaign.campaign},
          {"system", campaign.system},
          {"folder", campaign.path.string()},
          {"counts", counts},
          {"cases", list}};
}

void print(const CampaignFolder& campaign, const std::vector<CaseProgress>& cases, std::ostream& out) {
  fmt::print(out, "{} on {} ({}): {}\n", campaign.campaign, campaign.system, campaign.path.string(),
             counted(cases.size(), "case"));
  std::map<CaseState, int> counts;
  for (const CaseProgress& one : cases) ++counts[one.state];
  for (const CaseState state : enum_values<CaseState>) fmt::print(out, "{:>7} {}\n", to_text(state), counts[state]);
  for (const CaseProgress& one : cases) {
    if (one.state == CaseState::done) continue;
    fmt::print(out, "{:<7} {}\n", to_text(one.state), one.entry.id);
    if (!one.reason.empty()) fmt::print(out, "        {}\n", one.reason);
  }
}

void add_sweep_folder(CLI::App& app, std::string& target) {
  app.add_option("DIR", target, "Folder of --out, or one below it")->required()->type_name("");
}

}  // namespace

void add_options(CLI::App& app, SweepOptions& options) {
  app.add_option("FILE", options.file, "Grid of cases in TOML, or in JSON where it is named *.json")->type_name("");
  add_choice(app, "--scheduler", options.scheduler, "One shell script, or one job array for each number of nodes");
  app.add_option("--out", options.out, "Folder of scripts and results: DIR/<campaign>/<system>/<case>")
      ->type_name("DIR");
}

void check(const SweepOptions& options) {
  if (options.file.empty())
    throw usage_error("sweep", "", "FILE, status or collect after it", "try " + to_type("sweep --help"));
  if (options.out.empty())
    throw usage_error("sweep", options.file, "--out DIR, the folder of scripts and results", "try --out runs");
}

void add_options(CLI::App& app, SweepStatusOptions& options) {
  add_sweep_folder(app, options.dir);
  app.add_flag("--json", options.json, "As JSON");
}

void add_options(CLI::App& app, SweepCollectOptions& options) {
  add_sweep_folder(app, options.dir);
  app.add_option("--json", options.json, "Results file; - for stdout")->required()->type_name("FILE");
}

ExitCode make_sweep(const SweepOptions& options, const Start& start) {
  const Sweep sweep = read_sweep(options.file);
  for (const LeftOut& one : sweep.left_out) fmt::print(start.out, "left out  {}  {}\n", one.id, one.reason);
  if (sweep.cases.empty()) {
    throw Error(ExitCode::nothing_matched, options.file, fmt::format("no case, {} left out", sweep.left_out.size()),
                "at least one case that can run", "give cases, sets or a grid, of which where and exclude leave some");
  }
  const analytic::MachineInfo machine = known_machine();
  const std::string system = sweep.system.empty() ? safe_host(machine.host) : sweep.system;
  const bool slurm = options.scheduler == Scheduler::slurm;
  const auto scripts = slurm ? by_nodes(sweep, machine.cores) : std::vector{all_of(sweep)};

  check_words(options, sweep);
  const fs::path dir = fs::absolute(options.out).lexically_normal(), folder = dir / sweep.name / system;
  require_writable_folder("--out", folder.string());
  const std::string index = index_text(index_of(scripts, folder, sweep.options));
  const ScriptContext context{sweep, fs::read_symlink("/proc/self/exe"), folder};
  fmt::print(start.out, "{}: {} in {}, {} left out\n", sweep.name, counted(sweep.cases.size(), "case"), folder.string(),
             sweep.left_out.size());
  for (const ScriptCases& script : scripts) {
    write_atomically(folder / (script.stem + ".cases"), index_text(script.cases));
    const fs::path file = folder / (script.stem + (slurm ? ".sbatch" : ".sh"));
    write_program(file, slurm ? slurm_script(context, script) : local_script(context, script));
    fmt::print(start.out, "{}    # {}\n", shell_line({slurm ? "sbatch" : "sh", file.string()}),
               counted(script.cases.size(), "case"));
  }
  if (slurm) remove_earlier_arrays(folder, scripts, start.out);
  write_atomically(folder / index_name, index);
  link_latest(dir, fs::path(sweep.name) / system);
  fmt::print(start.out, "{}\n", shell_line({called(), "sweep", "status", dir.string()}));
  return ExitCode::ok;
}

ExitCode sweep_status(const SweepStatusOptions& options, const Start& start) {
  json document = json::array();
  bool failed = false;
  for (const CampaignFolder& campaign : find_campaigns(options.dir)) {
    const auto cases = progress_of(campaign);
    failed = failed || std::ranges::any_of(cases, [](const CaseProgress& one) {
               return one.state == CaseState::failed || one.state == CaseState::other;
             });
    if (options.json) {
      document.push_back(to_json(campaign, cases));
    } else {
      print(campaign, cases, start.out);
    }
  }
  if (options.json) start.out << json_text(document) << '\n';
  return failed ? ExitCode::case_failed : ExitCode::ok;
}

ExitCode collect_sweep(const SweepCollectOptions& options, const Start& start) {
  require_writable_file("--json", options.json);
  const auto campaigns = find_campaigns(options.dir);
  if (campaigns.size() > 1) {
    throw usage_error("DIR", options.dir, "the folder of one sweep",
                      fmt::format("try {}", campaigns.back().path.string()));
  }
  const std::vector<CaseProgress> cases = progress_of(campaigns.front());
  const results::ResultsFile all = collect(cases, start.argv);
  for (const CaseProgress& one : cases)
    if (one.state == CaseState::other) start.progress.note(fmt::format("left out  {}  {}", one.entry.id, one.reason));
  if (options.json == "-") {
    start.out << results::results_text(all);
    return ExitCode::ok;
  }
  results::write_results(options.json, all);
  fmt::print(start.out, "{}: records of {} of {}\n", options.json, all.records.size(), counted(cases.size(), "case"));
  return ExitCode::ok;
}

}  // namespace parabench::suite
