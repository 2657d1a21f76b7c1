#include "suite/run/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/units_text.h"
#include "suite/run/emulate_option.h"

namespace parabench::suite {
namespace {

using Text = std::string_view;

std::string on(bool given) { return given ? "on" : ""; }

double read_timeout(Text text) {
  const double seconds = parse_seconds("--timeout", text).value;
  if (seconds <= 0) throw usage_error("--timeout", text, "a time above 0", "try --timeout 10min");
  return seconds;
}

/// Half of an interval, of which nothing is left at 0 and which tells nothing from 1 on.
double read_interval(Text text) {
  const double share = parse_share("--until-interval", text);
  if (share <= 0 || share >= 1)
    throw usage_error("--until-interval", text, "a share above 0 and below 1", "try --until-interval 2%");
  return share;
}

constexpr std::array options_table{
    RunOption{.name = "--steps",
              .value = "N",
              .help = "Timed steps per launch",
              .repeated = Repeated::always,
              .read = [](RunOptions& o, Text text) { o.steps = read_integer("--steps", text, 1, "try --steps 20"); },
              .text = [](const RunOptions& o) { return std::to_string(o.steps); },
              .of_accuracy = true},
    RunOption{.name = "--warmup",
              .value = "N",
              .help = "Steps before the timed ones",
              .repeated = Repeated::always,
              .read = [](RunOptions& o, Text text) { o.warmup = read_integer("--warmup", text, 0, "try --warmup 5"); },
              .text = [](const RunOptions& o) { return std::to_string(o.warmup); },
              .of_accuracy = true},
    RunOption{.name = "--repetitions",
              .value = "N",
              .help = "Launches of each case",
              .repeated = Repeated::always,
              .read =
                  [](RunOptions& o, Text text) {
                    o.stopping.repetitions = read_integer("--repetitions", text, 1, "try --repetitions 5");
                  },
              .text = [](const RunOptions& o) { return std::to_string(o.stopping.repetitions); },
              .of_communicate = true},
    RunOption{
        .name = "--until-interval",
        .value = "SHARE",
        .help =
            "Measure further launches until half of the median's 95 % interval is at most this share of it, such as 2%",
        .repeated = Repeated::if_given,
        .read = [](RunOptions& o, Text text) { o.stopping.interval = read_interval(text); },
        .text =
            [](const RunOptions& o) {
              return o.stopping.interval ? print_number(*o.stopping.interval) : std::string();
            }},
    RunOption{.name = "--max-repetitions",
              .value = "N",
              .help = "Launches of each case at most, with --until-interval",
              .repeated = Repeated::if_given,
              .read =
                  [](RunOptions& o, Text text) {
                    o.stopping.most = read_integer("--max-repetitions", text, 1, "try --max-repetitions 30");
                  },
              .text = [](const RunOptions& o) { return std::to_string(o.stopping.most); }},
    RunOption{
        .name = "--launcher",
        .value = "NAME|TEMPLATE",
        .help = "mpirun, srun, local (threads only), or a template with {np}, {hosts} and {program}; default: mpirun, "
                "inside a Slurm job srun if it speaks PMIx",
        .repeated = Repeated::if_given,
        .read =
            [](RunOptions& o, Text text) {
              o.launches.launcher = parse_launcher(text);
              o.launches.launcher_given = true;
            },
        .text = [](const RunOptions& o) { return o.launches.launcher_given ? o.launches.launcher.name : ""; },
        .of_calibrate = true,
        .of_doctor = true,
        .of_communicate = true,
        .of_accuracy = true},
    RunOption{.name = "--data",
              .value = "DIR",
              .help = "Folder of the data sets that are read from files",
              .repeated = Repeated::if_given,
              .read = [](RunOptions& o, Text text) { o.launches.data = text; },
              .text = [](const RunOptions& o) { return o.launches.data; },
              .of_calibrate = true,
              .of_accuracy = true},
    RunOption{.name = "--skip-corrupt",
              .help = "Count and skip broken files instead of failing",
              .repeated = Repeated::if_given,
              .read = [](RunOptions& o, Text) { o.launches.skip_corrupt = true; },
              .text = [](const RunOptions& o) { return on(o.launches.skip_corrupt); }},
    RunOption{.name = "--calibration",
              .value = "FILE",
              .help = "Calibration file instead of this machine's own",
              .repeated = Repeated::if_given,
              .read =
                  [](RunOptions& o, Text text) {
                    if (text.empty()) throw usage_error("--calibration", text, "a file", "leave it out, or name one");
                    o.calibration = text;
                  },
              .text = [](const RunOptions& o) { return o.calibration; },
              .of_communicate = true,
              .of_accuracy = true},
    RunOption{.name = "--verify",
              .value = "on|off|only",
              .help = "Compare with the case's reference before measuring, or do only that and calibrate nothing",
              .repeated = Repeated::if_given,
              .read = [](RunOptions& o, Text text) { o.verify = parse_enum<VerifyMode>("--verify", text); },
              .text = [](const RunOptions& o) { return std::string(to_text(o.verify)); }},
    RunOption{.name = "--paired",
              .help = "One more launch of each case, which calibrates and trains in turn: the error of the model "
                      "alone, without what the machine drifted since the calibration",
              .repeated = Repeated::if_given,
              .read = [](RunOptions& o, Text) { o.paired = true; },
              .text = [](const RunOptions& o) { return on(o.paired); }},
    RunOption{.name = "--emulate",
              .value = "COSTS",
              .help =
                  "Cases with device:emulated: unit:2ms, F, I and W take a unit of this time, B two, messages no time "
                  "without a rate; "
                  "rate:1Gbit,latency:50us, every rank has a link of its own, which all that it sends and receives "
                  "shares; or both, each with its unit; default: the processor's times",
              .repeated = Repeated::if_given,
              .read = [](RunOptions& o, Text text) { o.emulated = parse_emulate(text); },
              .text = [](const RunOptions& o) { return emulate_text(o.emulated); }},
    RunOption{.name = "--force",
              .help = "Run what is predicted to exceed the memory",
              .repeated = Repeated::limits,
              .read = [](RunOptions& o, Text) { o.force = true; },
              .text = [](const RunOptions& o) { return on(o.force); }},
    RunOption{.name = "--timeout",
              .value = "S",
              .help = "End a launch after this time (500ms, 90, 5min); default: from the prediction",
              .repeated = Repeated::limits,
              .read = [](RunOptions& o, Text text) { o.launches.timeout_s = read_timeout(text); },
              .text =
                  [](const RunOptions& o) {
                    return o.launches.timeout_s ? fmt::format("{}s", print_number(*o.launches.timeout_s)) : "";
                  },
              .of_calibrate = true,
              .of_doctor = true,
              .of_communicate = true,
              .of_accuracy = true},
    RunOption{.name = "--json",
              .value = "FILE",
              .help = "Results file; - for stdout",
              .read = [](RunOptions& o, Text text) { o.json = text; },
              .text = [](const RunOptions& o) { return o.json; },
              .of_communicate = true},
    RunOption{.name = "--resume",
              .help = "Go on with the run that stopped before it had written all of --json: what it finished is kept, "
                      "what failed runs again",
              .read = [](RunOptions& o, Text) { o.resume = true; },
              .text = [](const RunOptions& o) { return on(o.resume); }},
    RunOption{
        .name = "--retries",
        .value = "N",
        .help = "Further attempts at a case whose launch failed",
        .read = [](RunOptions& o, Text text) { o.retries = read_integer("--retries", text, 0, "try --retries 2"); },
        .text = [](const RunOptions& o) { return std::to_string(o.retries); },
        .of_accuracy = true},
    RunOption{
        .name = "--shuffle",
        .help = "Run the cases in an order that depends on their ids alone, so that drift does not favour neighbours",
        .read = [](RunOptions& o, Text) { o.shuffle = true; },
        .text = [](const RunOptions& o) { return on(o.shuffle); }},
    RunOption{.name = "--interleave",
              .help =
                  "Measure by turns: one launch of each case, then the next of each, so that what drifts from minute "
                  "to minute is shared by all; with --shuffle every round in an order of its own",
              .read = [](RunOptions& o, Text) { o.interleave = true; },
              .text = [](const RunOptions& o) { return on(o.interleave); }},
    RunOption{.name = "--trace",
              .value = "DIR",
              .help = "Folder for a trace of each case's first launch beside its prediction, for Perfetto",
              .read = [](RunOptions& o, Text text) { o.trace = text; },
              .text = [](const RunOptions& o) { return o.trace; }},
    RunOption{.name = "--dry-run",
              .help = "Print the exact commands, start nothing",
              .read = [](RunOptions& o, Text) { o.dry_run = true; },
              .text = [](const RunOptions& o) { return on(o.dry_run); },
              .of_communicate = true},
    RunOption{.name = "--fom",
              .help = "Below the table, of each case, lines 'FOM NAME: NUMBER', and 'PARABENCH_RESULT: PASS', FAIL or "
                      "SKIP at the end, for ReFrame and Ramble",
              .read = [](RunOptions& o, Text) { o.fom = true; },
              .text = [](const RunOptions& o) { return on(o.fom); }},
    RunOption{.name = "--fail-fast",
              .help = "Stop at the first case that fails",
              .read = [](RunOptions& o, Text) { o.fail_fast = true; },
              .text = [](const RunOptions& o) { return on(o.fail_fast); }},
};

void add(std::vector<std::string>& words, const RunOption& option, const RunOptions& options) {
  words.emplace_back(option.name);
  if (!option.value.empty()) words.push_back(option.text(options));
}

}  // namespace

std::span<const RunOption> run_options() { return options_table; }

void add_if_given(std::vector<std::string>& words, const RunOption& option, const RunOptions& options) {
  static const RunOptions usual;
  if (option.text(options) != option.text(usual)) add(words, option, options);
}

std::string repeating_command(const SelectedCase& chosen, const RunOptions& options) {
  std::vector<std::string> words = {"parabench", "run", chosen.id};
  for (const RunOption& option : options_table)
    if (option.repeated == Repeated::always) add(words, option, options);
  if (!chosen.schedule.empty()) words.insert(words.end(), {"--schedule", chosen.schedule});
  for (const RunOption& option : options_table)
    if (option.repeated == Repeated::if_given) add_if_given(words, option, options);
  for (const RunOption& option : options_table)
    if (option.repeated == Repeated::limits) add_if_given(words, option, options);
  return shell_line(words);
}

bool measures_the_same(const std::string& command, const std::string& other) {
  // Limits come last.
  const auto measuring = [](std::string_view text) {
    for (const RunOption& option : options_table)
      if (option.repeated == Repeated::limits) text = text.substr(0, text.rfind(fmt::format(" {}", option.name)));
    return text;
  };
  return measuring(command) == measuring(other);
}

std::string options_beyond(const std::string& command, const std::string& other) {
  const auto options_of = [](Text text) {
    std::vector<Text> options;
    // What stands before the first one is the same case.
    for (std::size_t at = text.find(" --"); at != Text::npos;) {
      const std::size_t next = text.find(" --", at + 1);
      options.push_back(text.substr(at + 1, next == Text::npos ? next : next - at - 1));
      at = next;
    }
    return options;
  };
  const std::vector<Text> there = options_of(other);
  std::string beyond;
  for (const Text option : options_of(command)) {
    if (std::ranges::find(there, option) != there.end()) continue;
    if (!beyond.empty()) beyond += ' ';
    beyond += option;
  }
  return beyond.empty() ? "none of its own" : beyond;
}

int read_integer(std::string_view option, std::string_view text, int least, std::string_view hint) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw usage_error(option, text, fmt::format("an integer from {} to {}", least, std::numeric_limits<int>::max()),
                      hint);
  }
  return value;
}

}  // namespace parabench::suite
