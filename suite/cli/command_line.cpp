#include "suite/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "base/units_text.h"
#include "parabench_version.h"
#include "suite/cli/completion.h"

namespace parabench::suite {
namespace {

void add_integer(CLI::App& app, const std::string& option, int& target, int least, const std::string& help) {
  app.add_option_function<std::string>(
         option, [&target, option, least](const std::string& text) { target = read_integer(option, text, least); },
         help)
      ->type_name("N")
      ->default_str(std::to_string(target));
}

template <NamedEnum E>
void add_choice(CLI::App& app, const std::string& option, E& target, const std::string& help) {
  app.add_option_function<std::string>(
         option, [&target, option](const std::string& text) { target = parse_enum<E>(option, text); }, help)
      ->type_name(fmt::format("{}", fmt::join(enum_names<E>, "|")))
      ->default_str(std::string(to_text(target)));
}

void add_schedule(CLI::App& app, std::string& target) {
  app.add_option("--schedule", target, "The schedule of strategy csv: a row of actions per rank, as torch writes them")
      ->type_name("FILE");
}

void add_selection(CLI::App& app, Selection& selection, bool where = true) {
  app.add_option("CASE", selection.cases, "Case ids: model/dataset/strategy/np:N/batch:B[/key:value]...")
      ->type_name("");
  app.add_option("--set", selection.set, "All cases of a set; parabench list --sets shows them")->type_name("NAME");
  app.add_option("--filter", selection.filter, "A case id, or a regular expression searched in the ids")
      ->type_name("RE");
  if (where) {
    app.add_option("--where", selection.where, "Comparisons over typed parameters: np<=4,micro=8")->type_name("EXPR");
  }
  add_schedule(app, selection.schedule);
}

void add_tables(CLI::App& app, std::optional<WordTable>& target) {
  for (std::size_t i = 0; i < enum_names<WordTable>.size(); ++i) {
    const auto table = static_cast<WordTable>(i);
    const auto take = [&target, table] {
      if (target && *target != table) {
        throw usage_error("list", fmt::format("--{} --{}", to_text(*target), to_text(table)), "one table at a time");
      }
      target = table;
    };
    app.add_flag_callback(fmt::format("--{}", to_text(table)), take, std::string(table_help(table)))
        ->group("Instead of cases, the words that their ids are made of");
  }
}

void add_option(CLI::App& app, const RunOption& option, RunOptions& target) {
  const std::string name(option.name), help(option.help);
  if (option.value.empty()) {
    app.add_flag_callback(
        name, [&option, &target] { option.read(target, "on"); }, help);
    return;
  }
  CLI::Option& added = *app.add_option_function<std::string>(
      name, [&option, &target](const std::string& text) { option.read(target, text); }, help);
  added.type_name(std::string(option.value))->default_str(option.text(target));
}

void add_run(CLI::App& app, RunOptions& target) {
  for (const RunOption& option : run_options()) add_option(app, option, target);
}

/// What run shares with calibrate or doctor.
void add_shared(CLI::App& app, bool RunOption::*shares, RunOptions& target) {
  for (const RunOption& option : run_options())
    if (option.*shares) add_option(app, option, target);
}

/// An option of run for another command.
void add_option_of_run(CLI::App& app, std::string_view name, RunOptions& target) {
  add_option(app, *std::ranges::find(run_options(), name, &RunOption::name), target);
}

void add_compare(CLI::App& app, CompareOptions& target) {
  results::CompareRules& rules = target.rules;
  app.add_option("A", target.a, "Results file")->required()->type_name("");
  app.add_option("B", target.b, "Results file: is it FASTER or SLOWER than A?")->required()->type_name("");
  app.add_option_function<std::vector<std::string>>(
         "--cases",
         [&rules](const std::vector<std::string>& ids) {
           rules.ids = {ids.at(0), ids.at(1)};
         },
         "One case of A with another one of B, which may be the same file")
      ->expected(2)
      ->type_name("ID_A ID_B");
  app.add_option_function<std::string>(
         "--threshold", [&rules](const std::string& text) { rules.threshold = read_share("--threshold", text); },
         "Smaller differences do not matter: SAME")
      ->type_name("SHARE")
      ->default_str(fmt::format("{:g}%", 100 * rules.threshold));
  app.add_option_function<std::string>(
         "--alpha",
         [&rules](const std::string& text) {
           rules.alpha = read_share("--alpha", text);
           if (rules.alpha < 1e-6 || rules.alpha > 0.5)
             throw usage_error("--alpha", text, "a share from 0.000001 to 0.5", "try 0.05");
         },
         "How often noise alone may look like a difference; intervals hold the rest")
      ->type_name("SHARE")
      ->default_str(fmt::format("{:g}", rules.alpha));
  app.add_option_function<std::vector<std::string>>(
         "--allow-different",
         [&rules](const std::vector<std::string>& names) {
           for (const std::string& name : names)
             rules.allowed.push_back(parse_enum<results::WorkAspect>("--allow-different", name));
         },
         fmt::format("Compare although the work differs in these, separated by commas: {}",
                     fmt::join(enum_names<results::WorkAspect>, ", ")))
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME,...");
  app.add_flag("--json", target.json, "As JSON");
}

void add_sweep(CLI::App& app, SweepOptions& sweep, SweepStatusOptions& status, SweepCollectOptions& collect) {
  app.add_option("FILE", sweep.file, "Grid of cases in TOML, or in JSON where it is named *.json")->type_name("");
  add_choice(app, "--scheduler", sweep.scheduler, "One shell script, or one job array for each number of nodes");
  app.add_option("--out", sweep.out, "Folder of scripts and results: DIR/<campaign>/<system>/<case>")->type_name("DIR");
  CLI::App& status_app = *app.add_subcommand("status", "How far the sweeps in a folder are, and why cases failed");
  status_app.allow_extras()->footer(
      "Exit code 1 where a case failed, else 0.\nExample:\n  parabench sweep status runs");
  status_app.add_option("DIR", status.dir, "Folder of --out, or one below it")->required()->type_name("");
  status_app.add_flag("--json", status.json, "As JSON");
  CLI::App& collect_app = *app.add_subcommand("collect", "All results of a sweep in one file");
  collect_app.allow_extras()->footer("Example:\n  parabench sweep collect runs --json pipelines.json");
  collect_app.add_option("DIR", collect.dir, "Folder of --out, or one below it")->required()->type_name("");
  collect_app.add_option("--json", collect.json, "Results file; - for stdout")->required()->type_name("FILE");
}

/// Options that CLI11 did not know: Google Benchmark's pass, the rest is misspelt.
std::vector<std::string> take_benchmark_flags(const CLI::App& app, bool allowed) {
  std::vector<std::string> known, flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& word : app.remaining()) {
    if (allowed && is_benchmark_flag(word)) {
      flags.push_back(word);
      continue;
    }
    if (!word.starts_with('-')) {
      throw usage_error("command line", word,
                        fmt::format("no further word after those of parabench {}", app.get_name()),
                        fmt::format("try parabench {} --help", app.get_name()));
    }
    throw usage_error("option", word, fmt::format("an option of parabench {}", app.get_name()),
                      nearest_hint(word.substr(0, word.find('=')), known));
  }
  return flags;
}

struct Parser {
  CLI::App app{"Training strategies of deep networks: measured on real ranks, beside their prediction", "parabench"};
  ListOptions list;
  RunCommand run, quick;
  RunOptions launching;  ///< what other commands have in common with run
  PredictOptions predict;
  PlanOptions plan;
  CalibrateOptions calibrate;
  DoctorOptions doctor;
  CompareOptions compare;
  ExportOptions export_;
  ValidateCommand validate;
  ReportOptions report;
  SweepOptions sweep;
  SweepStatusOptions sweep_status;
  SweepCollectOptions sweep_collect;

  CLI::App& command(const std::string& name, const std::string& what, const std::string& example) {
    CLI::App& sub = *app.add_subcommand(name, what);
    sub.allow_extras()->footer("Example:\n  " + example);
    return sub;
  }

  Parser() {
    app.set_version_flag("--version",
                         fmt::format("parabench {} ({}{})", program_version, program_git_hash.substr(0, 12),
                                     program_git_dirty ? ", modified" : ""));
    app.footer(
        "parabench COMMAND --help explains a command.\n--benchmark_* flags of run and quick pass on to Google "
        "Benchmark.");

    CLI::App& list_app =
        command("list", "The catalogue: model size, ranks, predicted seconds and bytes; or its strategies, keys, ...",
                "parabench list --where 'strategy=gpipe,np<=2'\n  parabench list --strategies");
    add_selection(list_app, list.selection);
    add_option_of_run(list_app, "--calibration", launching);
    add_tables(list_app, list.table);
    list_app.add_flag("--json", list.json, "As JSON");

    CLI::App& run_app = command("run", "Run cases and compare them with their prediction",
                                "parabench run 'resnet18/cifar10-synthetic/gpipe/np:2/batch:64' --json out.json");
    add_selection(run_app, run.selection);
    add_run(run_app, run.options);

    quick.quick = true;
    quick.options.steps = 10;
    quick.options.stopping.repetitions = 3;
    quick.options.json = quick_results_path();
    CLI::App& quick_app = command("quick",
                                  "One model, every family of strategies, two cores, calibration included; "
                                  "writes results/out/quick.json (folder: PARABENCH_OUT)",
                                  "parabench quick --repetitions 5");
    quick_app.add_option("--filter", quick.selection.filter, "A case id, or a regular expression searched in the ids")
        ->type_name("RE");
    add_run(quick_app, quick.options);

    CLI::App& predict_app = command("predict", "Time and memory of cases, every term with formula and origin",
                                    "parabench predict 'resnet50/imagenet-synthetic/data-parallel/np:4/batch:32'");
    predict_app.add_option("CASE", predict.cases, "Case ids")->required()->type_name("");
    add_schedule(predict_app, predict.schedule);
    predict_app.add_flag("--json", predict.json, "As JSON");
    add_option_of_run(predict_app, "--calibration", launching);

    CLI::App& plan_app = command("plan", "The schedule of a case as it will be executed, with its bubble",
                                 "parabench plan 'resnet18/cifar10-synthetic/gpipe/np:2/batch:64' --format grid");
    plan_app.add_option("CASE", plan.id, "Case id")->required()->type_name("");
    add_schedule(plan_app, plan.schedule);
    add_choice(plan_app, "--format", plan.format,
               "How to print it; svg is a drawing, csv torch.distributed.pipelining's format, json the plan file of "
               "parabench-rank");
    add_choice(plan_app, "--cost", plan.costs, "Durations of the operations");
    add_integer(plan_app, "--steps", plan.steps, 1, "Timed steps of an asynchronous window");
    add_integer(plan_app, "--warmup", plan.warmup, 0, "Steps before the timed ones of an asynchronous window");
    add_option_of_run(plan_app, "--calibration", launching);
    add_option_of_run(plan_app, "--emulate", launching);

    CLI::App& calibrate_app = command("calibrate", "Measure this machine for cases (default: those of quick)",
                                      "parabench calibrate --filter 'resnet18/cifar10-synthetic/gpipe/np:2'");
    add_selection(calibrate_app, calibrate.selection, false);
    calibrate_app.add_option("--device", calibrate.device, "Only cases on this device: cpu, cuda")->type_name("D");
    calibrate_app.add_option("--out", calibrate.out, "File to add to instead of this machine's own")->type_name("FILE");
    add_shared(calibrate_app, &RunOption::of_calibrate, launching);

    CLI::App& doctor_app = command("doctor", "What works on this machine, what does not, and what to type",
                                   "parabench doctor --launcher srun");
    doctor_app
        .add_option_function<std::string>(
            "--noise", [this](const std::string& text) { doctor.noise_s = parse_seconds("--noise", text).value; },
            "Launch small steps for this long to see how noisy the machine is; 0 leaves it out")
        ->type_name("TIME")
        ->default_str("30s");
    doctor_app.add_flag("--json", doctor.json, "As JSON");
    add_shared(doctor_app, &RunOption::of_doctor, launching);

    add_compare(command("compare", "What became faster or slower from one results file to another, case by case",
                        "parabench compare before.json after.json --threshold 5%\n  "
                        "parabench compare out.json out.json --cases 'resnet18/cifar10-synthetic/gpipe/np:2/batch:64' "
                        "'resnet18/cifar10-synthetic/1f1b/np:2/batch:64'"),
                compare);

    CLI::App& export_app = command("export", "Results for other programs: a tidy table, a monitor, an MLPerf-style log",
                                   "parabench export results/out/quick.json --format csv > quick.csv");
    export_app.add_option("FILE", export_.file, "Results file")->required()->type_name("");
    add_choice(export_app, "--format", export_.format,
               "csv has one row per record; openmetrics and mllog hold the rows that count");

    add_sweep(command("sweep", "Job scripts for a grid of cases; status and collect follow them",
                      "parabench sweep pipelines.toml --scheduler slurm --out runs\n  parabench sweep status runs"),
              sweep, sweep_status, sweep_collect);

    CLI::App& validate_app =
        command("validate", "Check a results file against its schema", "parabench validate results/out/quick.json");
    validate_app.add_option("FILE", validate.file, "Results file")->required()->type_name("");

    CLI::App& report_app = command("report", "One HTML page, figures, CSV, LaTeX table and macros from results files",
                                   "parabench report results/out/quick.json --out report");
    report_app.add_option("FILE", report.files, "Results files")->required()->type_name("");
    report_app.add_option("--out", report.out, "Folder to write into; made where it is not there")
        ->required()
        ->type_name("DIR");
    report_app
        .add_option_function<std::string>(
            "--figures",
            [this](const std::string& text) {
              report.figures = index_of_name("--figures", text, std::array<std::string_view, 2>{"off", "on"}) == 1;
            },
            "Draw SVG and PDF figures, too; wants python3 with matplotlib")
        ->type_name("on|off")
        ->default_str("on");

    command("completion", "A script that completes parabench's command line in bash and zsh",
            "parabench completion > ~/.local/share/bash-completion/completions/parabench");
  }
};

void check_list(const ListOptions& options) {
  const Selection& selection = options.selection;
  if (!options.table || (selection.empty() && selection.schedule.empty())) return;
  throw usage_error("list", fmt::format("--{}", to_text(*options.table)),
                    "no CASE, --filter, --where or --schedule beside it",
                    "tables are printed whole; --json makes them easy to search");
}

void check_sweep(const SweepOptions& sweep) {
  if (sweep.file.empty())
    throw usage_error("sweep", "", "FILE, status or collect after it", "try parabench sweep --help");
  if (sweep.out.empty())
    throw usage_error("sweep", sweep.file, "--out DIR, the folder of scripts and results", "try --out runs");
}

/// The command that was chosen, or what of it.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

/// "parabench sweep" before status.
std::string words_before(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (!parent) return "";
  const std::string before = words_before(*parent);
  return before.empty() ? parent->get_name() : before + " " + parent->get_name();
}

/// What of Google Benchmark's concerns a run: flags, and one number of repetitions.
void read_run(RunCommand& run, const CLI::App& app) {
  RunOptions& options = run.options;
  options.benchmark =
      read_benchmark_flags(take_benchmark_flags(app, true), [](const char* name) { return std::getenv(name); });
  if (app.get_option("--repetitions")->empty() && options.benchmark.repetitions)
    options.stopping.repetitions = *options.benchmark.repetitions;
  const bool chooses =
      run.quick || !run.selection.empty() || options.benchmark.filter != "." || options.benchmark.list_tests;
  if (!chooses) {
    throw usage_error("run", "", "a CASE, --set, --filter or --where",
                      "parabench list shows the cases, list --sets the sets; --filter . runs the whole catalogue");
  }
}

/// The first word is a command, or an option of the program itself.
void require_command(const CLI::App& app, const std::string& word) {
  const bool is_option = word.starts_with('-');
  std::vector<std::string> known;
  if (is_option) {
    for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  } else {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
  }
  if (word == "-h") return;
  index_of_name(is_option ? "option" : "command", word, std::vector<std::string_view>(known.begin(), known.end()));
}

/// `parabench`, `parabench help` and `parabench help COMMAND` as options say it.
std::vector<std::string> without_help_command(std::vector<std::string> words) {
  if (words.empty()) return {"--help"};
  if (words.front() != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

}  // namespace

std::string quick_results_path() {
  const char* folder = std::getenv("PARABENCH_OUT");
  return fmt::format("{}/quick.json", folder && *folder ? folder : "results/out");
}

Command parse_command_line(const std::vector<std::string>& given) {
  Parser parser;
  const std::vector<std::string> words = without_help_command(given);
  require_command(parser.app, words.front());
  try {
    parser.app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App& chosen = innermost(parser.app);
    return TextAnswer{&chosen == &parser.app ? parser.app.help() : chosen.help(words_before(chosen))};
  } catch (const CLI::CallForVersion& version) {
    return TextAnswer{std::string(version.what()) + "\n"};
  } catch (const CLI::RequiredError& error) {
    const std::string what = error.what();  // "CASE is required"
    throw usage_error("command line", fmt::format("{}", fmt::join(words, " ")),
                      what.substr(0, what.find(' ')) + " after it",
                      fmt::format("try parabench {} --help", words.front()));
  } catch (const CLI::ParseError& error) {
    throw usage_error("command line", fmt::format("{}", fmt::join(words, " ")), error.what(),
                      fmt::format("try parabench {} --help", words.front()));
  }
  const CLI::App& chosen = innermost(parser.app);
  const std::string name = chosen.get_name();
  if (name == "run") {
    read_run(parser.run, chosen);
    return parser.run;
  }
  if (name == "quick") {
    read_run(parser.quick, chosen);
    return parser.quick;
  }
  take_benchmark_flags(chosen, false);
  const RunOptions& common = parser.launching;
  parser.list.calibration = parser.predict.calibration = parser.plan.calibration = common.calibration;
  parser.plan.emulated_unit_s = common.emulated_unit_s;
  parser.calibrate.launches = parser.doctor.launches = common.launches;
  if (name == "list") {
    check_list(parser.list);
    return parser.list;
  }
  if (name == "predict") return parser.predict;
  if (name == "plan") return parser.plan;
  if (name == "calibrate") return parser.calibrate;
  if (name == "doctor") return parser.doctor;
  if (name == "completion") return TextAnswer{completion_script(parser.app)};
  if (name == "compare") return parser.compare;
  if (name == "export") return parser.export_;
  if (name == "report") return parser.report;
  if (name == "status") return parser.sweep_status;
  if (name == "collect") return parser.sweep_collect;
  if (name == "sweep") {
    check_sweep(parser.sweep);
    return parser.sweep;
  }
  return parser.validate;
}

}  // namespace parabench::suite
