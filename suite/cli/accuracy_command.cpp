#include "suite/cli/accuracy_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "base/counted.h"
#include "base/error.h"
#include "results/accuracy_markdown.h"
#include "results/accuracy_text.h"
#include "suite/accuracy/judge_again.h"
#include "suite/advise/choices.h"
#include "suite/cases/sets.h"
#include "suite/cli/options.h"
#include "suite/run/journal.h"
#include "suite/run/session.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

std::string pass_file(const AccuracyOptions& options, int pass) {
  return (fs::path(options.out) / fmt::format("pass-{}.json", pass)).string();
}
fs::path rounds_folder(const AccuracyOptions& options, int pass) {
  return fs::path(options.out) / fmt::format("pass-{}.rounds", pass);
}
std::string calibration_file(const AccuracyOptions& options, int pass) {
  return (fs::path(options.out) / fmt::format("pass-{}.calibration.json", pass)).string();
}

/// The worse of two.
ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::ok ? b : a; }

ExitCode run_pass(const AccuracyOptions& options, const std::vector<SelectedCase>& chosen, int pass,
                  const Start& start) {
  RunOptions run = options.run;
  run.json = pass_file(options, pass);
  const std::string own = calibration_file(options, pass);
  if (run.calibration.empty()) run.calibration = own;
  run.paired = run.shuffle = true;
  run.first_round = pass - 1;
  run.rounds = rounds_folder(options, pass).string();
  run.resume = fs::exists(journal_folder(run.json));
  // The same plans train the same in every pass.
  if (pass > 1) run.verify = VerifyMode::off;
  start.progress.note(fmt::format("pass {} of {}: {}", pass, options.passes, run.json));
  std::ostringstream table;  // of one pass, which the judgement over all of them replaces
  const ExitCode code = run_cases(chosen, run, start.argv, start.progress, table);
  if (fs::exists(run.calibration) && !(fs::exists(own) && fs::equivalent(run.calibration, own)))
    fs::copy_file(run.calibration, own, fs::copy_options::overwrite_existing);
  return code;
}

ExitCode run_passes(const AccuracyOptions& options, const Start& start) {
  const std::vector<SelectedCase> chosen = select(options.selection, find_set("accuracy").cases());
  fs::create_directories(options.out);
  ExitCode code = ExitCode::ok;
  for (int pass = 1; pass <= options.passes; ++pass) {
    const std::string file = pass_file(options, pass);
    if (fs::exists(file) && !fs::exists(journal_folder(file))) continue;
    const ExitCode of_pass = run_pass(options, chosen, pass, start);
    code = worse(code, of_pass);
    if (of_pass == ExitCode::interrupted) return of_pass;
  }
  return code;
}

std::vector<Pass> passes_of(const AccuracyOptions& options) {
  std::vector<Pass> passes;
  for (int pass = 1; fs::exists(pass_file(options, pass)); ++pass) {
    passes.push_back({results::read_results(pass_file(options, pass)), {}, rounds_folder(options, pass)});
    if (const std::string file = calibration_file(options, pass); fs::exists(file))
      passes.back().calibration = analytic::read_calibration(file);
  }
  return passes;
}

}  // namespace

AccuracyOptions accuracy_options() {
  AccuracyOptions options;
  options.run.stopping.repetitions = 1;
  options.run.steps = 10;
  return options;
}

void add_options(CLI::App& app, AccuracyOptions& options) {
  add_selection(app, options.selection);
  app.add_option("--out", options.out, "Folder of the passes, pass-1.json and so on; what is there is not run again")
      ->type_name("DIR")
      ->capture_default_str();
  add_integer(app, "--passes", options.passes, 1, "Passes over the cases; the more time lies between them the better");
  app.add_flag("--judge", options.judge, "Judge the passes that are there, run nothing");
  app.add_flag("--ablate", options.ablate,
               "Predict all cases again without each term of the model in turn: what each of them is good for");
  add_choice(app, "--format", options.format,
             "Text, all cases as a table in CSV, or JSON, or figures and cases as tables in Markdown");
  add_run_options(app, options.run, &RunOption::of_accuracy);
  app.get_option("--calibration")
      ->description(
          "One calibration file for all passes; else each measures its own, DIR/pass-1.calibration.json and so on");
}

void check(const AccuracyOptions& options) {
  if (options.judge && !fs::exists(pass_file(options, 1)))
    throw usage_error("--out", options.out, "a folder with pass-1.json",
                      fs::exists(journal_folder(pass_file(options, 1)))
                          ? "pass 1 has not ended: the same command without --judge goes on with it, and Ctrl-C there "
                            "writes what it has"
                          : "leave --judge out, which makes it, or name another folder");
  if (options.ablate && (options.format == AccuracyFormat::csv || options.format == AccuracyFormat::markdown))
    throw usage_error("--format", to_text(options.format), "text or json beside --ablate",
                      "the table has a row for each case");
}

ExitCode judge_accuracy(const AccuracyOptions& options, const Start& start) {
  const ExitCode code = options.judge ? ExitCode::ok : run_passes(options, start);
  const std::vector<Pass> passes = passes_of(options);
  std::vector<results::ResultsFile> files;
  for (const Pass& pass : passes) files.push_back(pass.results);
  std::vector<results::JudgedCase> cases = results::judged_cases(files);
  if (!options.selection.empty()) {
    std::set<std::string> chosen;
    for (const SelectedCase& one : select(options.selection, find_set("accuracy").cases())) chosen.insert(one.id);
    std::erase_if(cases, [&](const results::JudgedCase& one) { return !chosen.contains(one.id); });
  }
  const std::vector<Ablation> ablations = judge_again(cases, passes, options.ablate);
  const std::vector<Choice> choices = judge_choices(cases);
  switch (options.format) {
    case AccuracyFormat::text:
      start.out << results::accuracy_text(cases) << choices_text(choices) << ablations_text(ablations);
      break;
    case AccuracyFormat::csv: start.out << results::accuracy_csv(cases); break;
    case AccuracyFormat::json: {
      nlohmann::json document = results::accuracy_json(cases);
      document["choices"] = choices_json(choices);
      if (options.ablate) document["ablations"] = ablations_json(ablations);
      start.out << document.dump(1) << '\n';
      break;
    }
    case AccuracyFormat::markdown: start.out << results::accuracy_markdown(cases); break;
  }
  return code;
}

}  // namespace parabench::suite
