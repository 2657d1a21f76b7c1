#include "suite/sweep/sweep_scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/counted.h"
#include "suite/launch/launcher.h"

namespace parabench::suite {
namespace {

constexpr std::size_t most_tasks = 1000;

/// As sbatch reads the words of its comments.
std::string sbatch_line(const std::string& option, const std::string& value) {
  const bool plain =
      value.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%") ==
      std::string::npos;
  if (plain) return fmt::format("#SBATCH {}={}\n", option, value);
  std::string quoted;
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("#SBATCH {}=\"{}\"\n", option, quoted);
}

std::string slurm_time(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  const long long days = whole / 86400;
  const std::string text = fmt::format("{:02}:{:02}:{:02}", whole / 3600 % 24, whole / 60 % 60, whole % 60);
  return days > 0 ? fmt::format("{}-{}", days, text) : text;
}

/// Percent signs are patterns in names of Slurm's files.
std::string without_patterns(const std::string& path) {
  std::string text;
  for (const char c : path) text.append(c == '%' ? 2 : 1, c);
  return text;
}

std::string directives(const ScriptContext& context, const ScriptCases& script) {
  const SlurmOptions& slurm = context.sweep.slurm;
  std::string text = sbatch_line("--job-name", context.sweep.name + "-" + script.stem);
  text += sbatch_line("--nodes", std::to_string(script.request.nodes));
  text += sbatch_line("--ntasks-per-node", std::to_string(script.request.tasks_per_node));
  if (slurm.exclusive) {
    text += "#SBATCH --exclusive\n";
  } else {
    text += sbatch_line("--cpus-per-task", std::to_string(script.request.cores_per_task));
  }
  if (script.request.gpus_per_node > 0) {
    text += sbatch_line("--gpus-per-node", std::to_string(script.request.gpus_per_node));
    text += sbatch_line("--gpu-bind", "none");  // Ranks choose their GPU; a GPU hidden from its neighbours has no P2P.
  }
  text += sbatch_line("--array", fmt::format("0-{}%{}", script.cases.size() - 1, slurm.at_once));
  if (slurm.time_s) text += sbatch_line("--time", slurm_time(*slurm.time_s));
  if (!slurm.partition.empty()) text += sbatch_line("--partition", slurm.partition);
  if (!slurm.account.empty()) text += sbatch_line("--account", slurm.account);
  if (!slurm.qos.empty()) text += sbatch_line("--qos", slurm.qos);
  text += sbatch_line("--output", without_patterns(context.folder.string()) + "/slurm-%A_%a.out");
  for (const std::string& option : slurm.options) text += fmt::format("#SBATCH {}\n", option);
  return text;
}

std::string run_words(const Sweep& sweep) {
  std::vector<std::string> words;
  for (const RunOption& option : run_options())
    if (option.of_sweep()) add_if_given(words, option, sweep.options);
  return words.empty() ? "" : fmt::format(" {}", shell_line(words));
}

/// Plans and replies of ranks pass through TMPDIR, so that several nodes have to share it: the sweep's folder they
/// share anyway. One node keeps its own, which is the faster one. The prologue has the last word.
std::string shared_tmpdir(const ScriptContext& context) {
  return fmt::format("export TMPDIR={}\nmkdir -p \"$TMPDIR\"\n", shell_line({context.folder / "tmp"}));
}

/// Which parabench, where, and what is done with each case.
std::string common(const ScriptContext& context) {
  return fmt::format(R"(parabench={0}
cd {1}

# run_case FOLDER ID: goes on where an earlier attempt stopped, and leaves what is finished as it is. What each attempt
# said is kept with its number; {4} and {5} lead to that of the last one.
run_case() {{
  mkdir -p "$1"
  attempt=1
  while [ -e "$1/{4}.$attempt" ] || [ -e "$1/{5}.$attempt" ]; do attempt=$((attempt + 1)); done
  out=$1/{4}.$attempt err=$1/{5}.$attempt
  : > "$out" 2> "$err"
  ln -sf "{4}.$attempt" "$1/{4}"
  ln -sf "{5}.$attempt" "$1/{5}"
  code=0
  "$parabench" run "$2"{2} \
    --json "$1/{3}" --resume --fom < /dev/null > "$out" 2> "$err" || code=$?
  result=$(sed -n 's/^PARABENCH_RESULT: //p' "$out")
  grep '^FOM ' "$out" || true
  case $result in
    PASS | SKIP) code=0 ;;
    *)
      result=FAIL
      [ "$code" != 0 ] || code=1
      tail -n 5 "$err" >&2
      ;;
  esac
}}
)",
                     shell_line({context.program.string()}), shell_line({context.folder.string()}),
                     run_words(context.sweep), result_name, stdout_name, stderr_name);
}

}  // namespace

std::vector<ScriptCases> by_nodes(const Sweep& sweep, int cores) {
  std::map<std::pair<int, bool>, std::vector<ScriptCases>> groups;
  for (const SelectedCase& one : sweep.cases) {
    const NodeRequest wanted = nodes_for(one.spec, sweep.slurm, cores);
    const bool on_gpus = wanted.gpus_per_node > 0;
    auto& parts = groups[{wanted.nodes, on_gpus}];
    if (parts.empty() || parts.back().cases.size() == most_tasks) {
      std::string stem = fmt::format("nodes-{}{}", wanted.nodes, on_gpus ? "-gpu" : "");
      if (!parts.empty()) stem += fmt::format("-part-{}", parts.size() + 1);
      parts.push_back({stem, wanted, {}});
    }
    NodeRequest& request = parts.back().request;
    request.tasks_per_node = std::max(request.tasks_per_node, wanted.tasks_per_node);
    request.cores_per_task = std::max(request.cores_per_task, wanted.cores_per_task);
    request.gpus_per_node = std::max(request.gpus_per_node, wanted.gpus_per_node);
    parts.back().cases.push_back({case_folder(one.spec, one.id), one.id});
  }
  std::vector<ScriptCases> scripts;
  for (auto& [key, parts] : groups) scripts.insert(scripts.end(), parts.begin(), parts.end());
  return scripts;
}

std::string slurm_script(const ScriptContext& context, const ScriptCases& script) {
  std::string text = "#!/bin/bash\n" + directives(context, script);
  text += fmt::format(
      "# Written by parabench sweep: {} on {} each. Submitted again it goes on where it "
      "stopped.\nset -e\n",
      counted(script.cases.size(), "case"), counted(script.request.nodes, "node"));
  if (script.request.nodes > 1) text += shared_tmpdir(context);
  for (const std::string& line : context.sweep.slurm.prologue) text += line + "\n";
  // Not before: what modules run reads variables that nobody set.
  text += "set -u\n\n" + common(context);
  text += fmt::format(R"(
line=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {0}.cases)
if [ -z "$line" ]; then
  echo "{0}.sbatch: no case $SLURM_ARRAY_TASK_ID in {0}.cases" >&2
  exit 2
fi
read -r folder id <<< "$line"
run_case "$folder" "$id"
echo "PARABENCH_RESULT: $result"
exit "$code"
)",
                      script.stem);
  return text;
}

std::string local_script(const ScriptContext& context, const ScriptCases& script) {
  std::string text = "#!/bin/sh\n";
  text += fmt::format(
      "# Written by parabench sweep: {}, one after the other. Started again it goes on where it "
      "stopped.\nset -eu\n\n",
      counted(script.cases.size(), "case"));
  text += common(context);
  text += fmt::format(R"(
# A first Ctrl-C finishes the record that has begun.
stopped=0 failed=0 number=0
trap 'stopped=1' INT TERM HUP
while read -r folder id; do
  number=$((number + 1))
  run_case "$folder" "$id"
  echo "[$number/{1}] $result $id"
  if [ "$stopped" = 1 ] || [ "$code" = 130 ]; then exit 130; fi
  [ "$code" = 0 ] || failed=$((failed + 1))
done < {0}.cases
if [ "$failed" = 0 ]; then
  echo "PARABENCH_RESULT: PASS"
else
  echo "PARABENCH_RESULT: FAIL"
  exit 1
fi
)",
                      script.stem, script.cases.size());
  return text;
}

}  // namespace parabench::suite
