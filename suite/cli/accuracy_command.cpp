#include "suite/cli/accuracy_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "analytic/calibration/machine.h"
#include "base/called.h"
#include "base/counted.h"
#include "base/error.h"
#include "results/accuracy_markdown.h"
#include "results/accuracy_text.h"
#include "suite/accuracy/closure.h"
#include "suite/accuracy/judge_again.h"
#include "suite/advise/choices.h"
#include "suite/cases/sets.h"
#include "suite/cli/options.h"
#include "suite/run/journal.h"
#include "suite/run/session.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

std::string pass_file(const fs::path& folder, int pass) {
  return (folder / fmt::format("pass-{}.json", pass)).string();
}
fs::path rounds_folder(const fs::path& folder, int pass) { return folder / fmt::format("pass-{}.rounds", pass); }
std::string calibration_file(const fs::path& folder, int pass) {
  return (folder / fmt::format("pass-{}.calibration.json", pass)).string();
}

/// The worse of two.
ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::ok ? b : a; }

ExitCode run_pass(const AccuracyOptions& options, const std::vector<SelectedCase>& chosen, int pass,
                  const Start& start) {
  const fs::path folder = options.out.front();
  RunOptions run = options.run;
  run.json = pass_file(folder, pass);
  const std::string own = calibration_file(folder, pass);
  if (run.calibration.empty()) run.calibration = own;
  run.paired = run.shuffle = true;
  run.first_round = pass - 1;
  run.rounds = rounds_folder(folder, pass).string();
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

/// A pass that has ended is not run again, whatever it lacks: it is one file, predicted from one calibration.
/// Throws usage_error where it lacks all.
void note_missing(const results::ResultsFile& file, const std::string& folder, int pass,
                  const std::vector<SelectedCase>& chosen, Progress& progress) {
  const auto is_there = [&](const SelectedCase& one) {
    return std::ranges::find(file.records, one.id, &results::Record::id) != file.records.end();
  };
  const auto there = std::ranges::count_if(chosen, is_there);
  if (there == std::ssize(chosen)) return;
  if (there == 0)
    throw usage_error("--out", folder,
                      fmt::format("a folder whose passes hold some of the {} chosen cases", chosen.size()),
                      "name the cases that it holds, or another folder; --judge judges what is there");
  progress.note(fmt::format("pass {} holds {} of the {} chosen cases; choose another folder with --out for the rest",
                            pass, there, chosen.size()));
}

/// The passes that have not ended. Throws usage_error where there are any, and others of another machine, before hours
/// are spent on what cannot be judged.
std::vector<int> open_passes(const AccuracyOptions& options, const std::vector<SelectedCase>& chosen,
                             Progress& progress) {
  std::vector<int> open;
  std::vector<results::ResultsFile> files;
  for (int pass = 1; pass <= options.passes; ++pass) {
    const std::string file = pass_file(options.out.front(), pass);
    const bool has_ended = fs::exists(file) && !fs::exists(journal_folder(file));
    if (fs::exists(file)) files.push_back(results::read_results(file));
    if (has_ended) note_missing(files.back(), options.out.front(), pass, chosen, progress);
    if (!has_ended) open.push_back(pass);
  }
  if (open.empty()) return open;
  const std::string machine = analytic::this_machine().id;
  for (const results::ResultsFile& file : files) results::require_machine(file, machine);
  return open;
}

ExitCode run_passes(const AccuracyOptions& options, const Start& start) {
  const std::vector<SelectedCase> chosen = select(options.selection, find_set("accuracy").cases());
  fs::create_directories(options.out.front());
  ExitCode code = ExitCode::ok;
  for (const int pass : open_passes(options, chosen, start.progress)) {
    const ExitCode of_pass = run_pass(options, chosen, pass, start);
    code = worse(code, of_pass);
    if (of_pass == ExitCode::interrupted) return of_pass;
  }
  return code;
}

/// What a pass would have to be predicted again from.
void note_gone(const Pass& pass, int number, const std::string& calibration, Progress& progress) {
  const auto is_paired = [](const results::Record& record) { return !record.paired.empty(); };
  if (!pass.calibration)
    progress.note(fmt::format("{} is not there: pass {} has the predictions of its run, and no held-out or stale ones",
                              calibration, number));
  else if (!fs::exists(pass.rounds) && std::ranges::any_of(pass.results.records, is_paired))
    progress.note(fmt::format("{} is not there: paired predictions of pass {} are those of its run",
                              pass.rounds.string(), number));
}

std::vector<Pass> passes_of(const AccuracyOptions& options, Progress& progress) {
  std::vector<Pass> passes;
  for (const std::string& folder : options.out)
    for (int pass = 1; fs::exists(pass_file(folder, pass)); ++pass) {
      passes.push_back({results::read_results(pass_file(folder, pass)), {}, rounds_folder(folder, pass), folder});
      const std::string calibration = calibration_file(folder, pass);
      if (fs::exists(calibration)) passes.back().calibration = analytic::read_calibration(calibration);
      note_gone(passes.back(), pass, calibration, progress);
    }
  return passes;
}

/// Throws usage_error for what would only change passes that are there already.
void refuse_options_of_runs(const CLI::App& app) {
  std::vector<std::string> names = {"--passes"};
  for (const RunOption& option : run_options())
    if (option.of_accuracy) names.emplace_back(option.name);
  for (const std::string& name : names)
    if (const CLI::Option* option = app.get_option(name); !option->empty())
      throw usage_error(name, fmt::format("{}", fmt::join(option->results(), " ")),
                        "no --judge beside it, which runs nothing", "leave one of the two out");
}

/// Throws usage_error for folders without a pass to judge, and for one that is there twice.
void require_passes(const std::vector<std::string>& folders) {
  std::set<fs::path> seen;
  for (const std::string& folder : folders) {
    if (!fs::exists(pass_file(folder, 1)))
      throw usage_error("--out", folder, "a folder with pass-1.json",
                        fs::exists(journal_folder(pass_file(folder, 1)))
                            ? "pass 1 has not ended: the same command without --judge goes on with it, and Ctrl-C "
                              "there writes what it has"
                            : "leave --judge out, which makes it, or name another folder");
    if (!seen.insert(fs::weakly_canonical(folder)).second)
      throw usage_error("--out", folder, "each folder once", "its passes would count twice");
  }
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
  app.add_option("--out", options.out,
                 "Folder of the passes, pass-1.json and so on; what is there is not run again; beside --judge once for "
                 "each of several folders")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("DIR")
      ->default_str(options.out.front());
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
  app.parse_complete_callback([&app, &options] {
    if (options.judge) refuse_options_of_runs(app);
  });
}

void check(const AccuracyOptions& options) {
  if (options.judge) require_passes(options.out);
  if (!options.judge && options.out.size() > 1)
    throw usage_error("--out", options.out.back(), "one folder for the passes that are run",
                      "try --judge, which judges those of several");
  if (options.ablate && (options.format == AccuracyFormat::csv || options.format == AccuracyFormat::markdown))
    throw usage_error("--format", to_text(options.format), "text or json beside --ablate",
                      "the table has a row for each case");
}

ExitCode judge_accuracy(const AccuracyOptions& options, const Start& start) {
  const ExitCode code = options.judge ? ExitCode::ok : run_passes(options, start);
  std::vector<Pass> passes = passes_of(options, start.progress);
  pair_again(passes);
  std::vector<results::ResultsFile> files;
  for (const Pass& pass : passes) files.push_back(pass.results);
  std::vector<results::JudgedCase> cases = results::judged_cases(files);
  if (!options.selection.empty()) {
    std::set<std::string> chosen;
    for (const SelectedCase& one : select(options.selection, find_set("accuracy").cases())) chosen.insert(one.id);
    std::erase_if(cases, [&](const results::JudgedCase& one) { return !chosen.contains(one.id); });
  }
  if (cases.empty() && code == ExitCode::ok)
    throw Error(ExitCode::nothing_matched, "accuracy", fmt::format("{}", fmt::join(options.out, ", ")),
                options.selection.empty() ? "passes with a case that counts" : "passes in which a chosen case counts",
                to_type(fmt::format("report {} --out report shows what they hold, and why a case does not count",
                                    pass_file(options.out.front(), 1))));
  const std::vector<Ablation> ablations = judge_again(cases, passes, options.ablate);
  note_closures(cases);
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
