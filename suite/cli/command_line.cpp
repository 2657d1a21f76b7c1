#include "suite/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <ostream>

#include "base/called.h"
#include "parabench_version.h"
#include "suite/cli/accuracy_command.h"
#include "suite/cli/advise_command.h"
#include "suite/cli/calibrate_command.h"
#include "suite/cli/communicate_command.h"
#include "suite/cli/compare_command.h"
#include "suite/cli/completion.h"
#include "suite/cli/doctor_command.h"
#include "suite/cli/export_command.h"
#include "suite/cli/list_command.h"
#include "suite/cli/plan_command.h"
#include "suite/cli/predict_command.h"
#include "suite/cli/report_command.h"
#include "suite/cli/run_command.h"
#include "suite/cli/sweep_command.h"
#include "suite/cli/validate_command.h"
#include "suite/cli/validate_model_command.h"

namespace parabench::suite {
namespace {

/// Options that CLI11 did not know: Google Benchmark's pass, the rest is misspelt.
std::vector<std::string> passed_flags(const CLI::App& app, bool allowed) {
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
      throw usage_error("command line", word, fmt::format("no further word after those of {}", to_type(app.get_name())),
                        "try " + to_type(app.get_name() + " --help"));
    }
    throw usage_error("option", word, fmt::format("an option of {}", to_type(app.get_name())),
                      nearest_hint(word.substr(0, word.find('=')), known));
  }
  return flags;
}

/// What --help of the program and of the command say.
struct Words {
  std::string name, what;
  std::vector<std::string> examples;  ///< words behind the program's name
};

/// The program's commands, each with its options and what starts it.
class Program {
 public:
  Program();

  CLI::App app{"Training strategies of deep networks: measured on real ranks, beside their prediction", called()};

  /// The command whose words were parsed. Throws usage_error for words that it does not know or that do not fit.
  Command chosen(const CLI::App& command) const { return take_.at(&command)(); }

 private:
  /// The command is `run` with what the words make of `defaults`.
  template <class Options>
  CLI::App& add(CLI::App& parent, const Words& words, Options defaults,
                ExitCode (*run)(const Options& options, const Start& start)) {
    CLI::App& command = *parent.add_subcommand(words.name, words.what);
    std::string footer = "Example:";
    for (const std::string& example : words.examples) footer += "\n  " + to_type(example);
    command.allow_extras()->footer(footer);
    const auto options = std::make_shared<Options>(std::move(defaults));
    add_options(command, *options);
    take_[&command] = [&command, options, run]() -> Command {
      if constexpr (requires { take_benchmark_flags(*options, std::vector<std::string>(), command); }) {
        take_benchmark_flags(*options, passed_flags(command, true), command);
      } else {
        passed_flags(command, false);
      }
      if constexpr (requires { check(*options); }) check(*options);
      return [options, run](const Start& start) { return run(*options, start); };
    };
    return command;
  }

  std::map<const CLI::App*, std::function<Command()>> take_;
};

/// A command without options.
struct CompletionOptions {
  const CLI::App* program;
};
void add_options(CLI::App&, CompletionOptions&) {}

ExitCode print_completion(const CompletionOptions& options, const Start& start) {
  start.out << completion_script(*options.program);
  return ExitCode::ok;
}

Program::Program() {
  app.set_version_flag("--version", fmt::format("parabench {} ({}{})", program_version, program_git_hash.substr(0, 12),
                                                program_git_dirty ? ", modified" : ""));
  app.footer(to_type(
      "COMMAND --help explains a command.\n--benchmark_* flags of run, quick and communicate pass on to "
      "Google Benchmark.\nThe script in the root of a clone has two commands of its own: test, the test suite, and "
      "peers, the environment of other products."));

  add(app,
      {"list",
       "The catalogue: model size, ranks, predicted seconds and bytes; or its strategies, keys, ...",
       {"list --where 'strategy=gpipe,np<=2'", "list --strategies"}},
      ListOptions{}, list_cases);
  add(app,
      {"run",
       "Run cases and compare them with their prediction",
       {"run 'resnet18/cifar10-synthetic/gpipe/np:2/batch:64' --json out.json"}},
      RunCommand{}, run_or_quick);
  add(app,
      {"quick",
       "One model, every family of strategies, two cores, calibration included; writes results/out/quick.json "
       "(folder: PARABENCH_OUT)",
       {"quick --repetitions 5"}},
      quick_command(), run_or_quick);
  add(app,
      {"predict",
       "Time and memory of cases, every term with formula and origin",
       {"predict 'resnet50/imagenet-synthetic/data-parallel/np:4/batch:32'",
        "predict 'resnet50/imagenet-synthetic/data-parallel/np:2/batch:256/device:cuda' --hardware h100-sxm "
        "--what-if bandwidth=x2 --sweep np=2..64,precision=fp32,bf16"}},
      PredictOptions{}, predict_cases);
  add(app,
      {"advise",
       "Which strategy, mesh and number of micro-batches trains a model fastest on so many ranks, in how much memory",
       {"advise --model resnet18 --dataset cifar10-synthetic --np 4 --batch 64 --memory 1GiB",
        "advise --model 'transformer[layers=24,hidden=1024,heads=16]' --dataset tokens-synthetic --np 64 --batch 512 "
        "--keys device:cuda --hardware h100-sxm"}},
      advise_options(), give_advice);
  add(app,
      {"accuracy",
       "How right predictions are on this machine: a set of cases in several passes, the model's error apart from the "
       "machine's drift, the noise beside",
       {"accuracy --out accuracy", "accuracy --where 'model=resnet18,np<=2' --passes 2 --out small",
        "accuracy --out accuracy --judge --format csv > accuracy.csv",
        "accuracy --judge --out accuracy --out accuracy-np4"}},
      accuracy_options(), judge_accuracy);
  add(app,
      {"plan",
       "The schedule of a case as it will be executed, with its bubble",
       {"plan 'resnet18/cifar10-synthetic/gpipe/np:2/batch:64' --format grid"}},
      PlanOptions{}, print_plan);
  add(app,
      {"calibrate",
       "Measure this machine for cases (default: those of quick)",
       {"calibrate --filter 'resnet18/cifar10-synthetic/gpipe/np:2'"}},
      CalibrateOptions{}, calibrate_machine);
  add(app,
      {"communicate",
       "Time collectives and messages by themselves, as nccl-tests do, beside their prediction",
       {"communicate --np 2 --reduce auto,ring,library --sizes 4KiB:16MiB:4"}},
      CommunicateOptions{}, time_exchanges);
  add(app, {"doctor", "What works on this machine, what does not, and what to type", {"doctor --launcher srun"}},
      DoctorOptions{}, examine_machine);
  add(app,
      {"compare",
       "What became faster or slower from one results file to another, case by case",
       {"compare before.json after.json --threshold 5%",
        "compare out.json out.json --cases 'resnet18/cifar10-synthetic/gpipe/np:2/batch:64' "
        "'resnet18/cifar10-synthetic/1f1b/np:2/batch:64'"}},
      CompareOptions{}, compare_results);
  add(app,
      {"export",
       "Results for other programs: a tidy table, a monitor, an MLPerf-style log",
       {"export results/out/quick.json --format csv > quick.csv"}},
      ExportOptions{}, export_results);
  CLI::App& sweep = add(app,
                        {"sweep",
                         "Job scripts for a grid of cases; status and collect follow them",
                         {"sweep pipelines.toml --scheduler slurm --out runs", "sweep status runs"}},
                        SweepOptions{}, make_sweep);
  add(sweep,
      {"status",
       "How far the sweeps in a folder are, and why cases failed; exit code 1 where one failed or has "
       "results of other options",
       {"sweep status runs"}},
      SweepStatusOptions{}, sweep_status);
  add(sweep, {"collect", "All results of a sweep in one file", {"sweep collect runs --json pipelines.json"}},
      SweepCollectOptions{}, collect_sweep);
  add(app, {"validate", "Check a results file against its schema", {"validate results/out/quick.json"}},
      ValidateOptions{}, validate_file);
  add(app,
      {"validate-model",
       "How well closed forms reproduce published measurements",
       {"validate-model", "validate-model table.csv --json -"}},
      ValidateModelOptions{}, validate_model);
  add(app,
      {"report",
       "One HTML page, figures, CSV, LaTeX table and macros from results files",
       {"report results/out/quick.json --out report"}},
      ReportOptions{}, report_results);
  add(app,
      {"completion",
       "A script that completes parabench's command line in bash and zsh",
       {"completion > ~/.local/share/bash-completion/completions/parabench"}},
      CompletionOptions{&app}, print_completion);
}

/// The command that was chosen, or what of it.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

/// "./parabench sweep" before status.
std::string words_before(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (!parent) return "";
  const std::string before = words_before(*parent);
  return before.empty() ? parent->get_name() : before + " " + parent->get_name();
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

/// A command that prints what was asked for: --help or --version.
Command printing(std::string text) {
  return [text = std::move(text)](const Start& start) {
    start.out << text;
    return ExitCode::ok;
  };
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& given) {
  const auto program = std::make_shared<Program>();
  CLI::App& app = program->app;
  const std::vector<std::string> words = without_help_command(given);
  require_command(app, words.front());
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App& chosen = innermost(app);
    return printing(&chosen == &app ? app.help() : chosen.help(words_before(chosen)));
  } catch (const CLI::CallForVersion& version) {
    return printing(std::string(version.what()) + "\n");
  } catch (const CLI::RequiredError& error) {
    const std::string what = error.what();  // "CASE is required"
    throw usage_error("command line", fmt::format("{}", fmt::join(words, " ")),
                      what.substr(0, what.find(' ')) + " after it", "try " + to_type(words.front() + " --help"));
  } catch (const CLI::ParseError& error) {
    throw usage_error("command line", fmt::format("{}", fmt::join(words, " ")), error.what(),
                      "try " + to_type(words.front() + " --help"));
  }
  // The options lie in the program, which the command keeps.
  return [program, command = program->chosen(innermost(app))](const Start& start) { return command(start); };
}

}  // namespace parabench::suite
