#include "suite/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/called.h"
#include "base/counted.h"
#include "parallelism/plan/strategies/peer.h"
#include "results/disturbance.h"
#include "results/fom.h"
#include "results/table.h"
#include "suite/launch/placements.h"
#include "suite/machine/provenance.h"
#include "suite/machine/staleness.h"
#include "suite/run/benchmark_report.h"
#include "suite/run/calibrate_first.h"
#include "suite/run/case_series.h"
#include "suite/run/dry_run.h"
#include "suite/run/journal.h"
#include "suite/run/preflight.h"

namespace parabench::suite {
namespace {

/// Of the cases that run: what they do to this machine.
void note_machine(const std::vector<Prepared>& cases, Workplace& workplace) {
  int threads = 0, most = 0;
  for (const auto& one : cases) {
    if (!one.runs() || is_emulated(one.chosen.spec)) continue;
    threads = std::max(threads, one.chosen.spec.np * one.chosen.spec.threads);
    if (plan::is_peer(one.chosen.spec)) continue;
    const Launcher own = launcher_for(one.chosen.spec, workplace.options.launcher);
    if (own.name != "local") most = std::max(most, one.chosen.spec.np);
  }
  note_machine(workplace, threads, most);
}

void list_names(const std::vector<SelectedCase>& chosen, const RunOptions& options) {
  std::vector<std::string> ids;
  for (const auto& one : chosen) ids.push_back(one.id);
  list_benchmarks(options.benchmark, ids, options.steps);
}

/// The result on stdout, and Google Benchmark's own.
void report(const results::ResultsFile& results, const RunOptions& options, std::ostream& out) {
  if (options.verify != VerifyMode::only)
    report_benchmarks(options.benchmark, benchmark_rows(results.records), options.steps, options.stopping.repetitions);
  if (options.json == "-") {
    out << results::results_text(results);
  } else if (!options.benchmark.console) {
    out << results::results_table(results.records);
  }
  if (options.fom) out << results::fom_lines(results.records);
}

/// What was written besides the results file.
void note_files(const RunOptions& options, const std::set<std::string>& traces, Progress& progress) {
  if (traces.size() == 1) progress.note("trace: " + *traces.begin());
  if (traces.size() > 1) progress.note(fmt::format("traces: {} in {}", counted(traces.size(), "file"), options.trace));
  if (!options.benchmark.out.empty() && options.verify != VerifyMode::only)
    progress.note("Google Benchmark's results: " + options.benchmark.out);
}

/// What goes on with a run that was cut short, if anything does. Whoever keeps rounds, `accuracy`, resumes by itself.
std::string going_on(const RunOptions& options, bool kept) {
  if (!kept) return "";
  return options.rounds.empty() ? "; the same command with --resume goes on" : "; the same command goes on";
}

/// A table of fewer rows than cases looks like any other.
void note_missing(std::size_t missing, std::size_t cut_short, std::size_t all, const std::string& going_on,
                  Progress& progress) {
  if (missing + cut_short == 0) return;
  progress.note(fmt::format("{} of {} did not run{}{}", missing + cut_short, counted(all, "case"),
                            cut_short > 0 ? all == 1 ? " to its end" : " to their end" : "", going_on));
}

bool has_finished(const Unfinished& before, const SelectedCase& chosen) {
  return std::ranges::any_of(before.run.records,
                             [&](const auto& record) { return record.id == chosen.id && is_finished(record); });
}

void mark_finished(const Unfinished& before, std::vector<Prepared>& cases) {
  for (Prepared& one : cases) one.finished = has_finished(before, one.chosen);
}

/// Those that an earlier run has not finished.
std::vector<SelectedCase> open_cases(std::vector<SelectedCase> chosen, const std::optional<Unfinished>& before) {
  if (before) std::erase_if(chosen, [&](const SelectedCase& one) { return has_finished(*before, one); });
  return chosen;
}

/// Leaves the cases that --benchmark_filter selects.
void filter(std::vector<SelectedCase>& chosen, const RunOptions& options) {
  std::erase_if(chosen, [&](const SelectedCase& one) { return !selects(options.benchmark, one.id, options.steps); });
  if (chosen.empty()) {
    throw Error(ExitCode::nothing_matched, "--benchmark_filter", options.benchmark.filter, "to match at least one case",
                to_type("run --benchmark_list_tests shows the names"));
  }
}

/// The journal of the results file, where one was asked for, and the run that --resume goes on with.
std::optional<Unfinished> open_journal(std::optional<Journal>& journal, const RunOptions& options, std::size_t cases,
                                       Workplace& workplace) {
  if (options.json.empty() || options.json == "-") return std::nullopt;
  journal.emplace(options.json, static_cast<int>(cases), workplace.progress);
  std::optional<Unfinished> before;
  if (options.resume) before = journal->unfinished();
  if (!options.resume) journal->require_empty();
  journal->take_scratch(workplace.scratch.path());
  return before;
}

/// The cases with the forecasts of a calibration that covers them.
std::vector<Prepared> prepare_calibrated(const std::vector<SelectedCase>& chosen, const RunOptions& options,
                                         const protocol::Offer& capabilities, CalibrationFile& file,
                                         const std::optional<Unfinished>& before, const Placements& placements,
                                         Workplace& workplace) {
  PrepareOptions prepare_options = options_of_run(options, capabilities, workplace.options.launcher);
  prepare_options.peer_obstacles = find_peers(chosen, workplace);
  auto cases = prepare(chosen, prepare_options, knowledge_of(workplace.machine, file, options.emulated, placements),
                       [&] { return workplace.signals.interrupted(); });
  if (before) mark_finished(*before, cases);
  note_machine(cases, workplace);
  calibrate_first(cases, prepare_options, file, options, placements, workplace);
  std::vector<std::string> dates;
  for (const Prepared& one : cases)
    if (one.forecast && one.runs() && !one.finished) dates.push_back(calibrated_on(one.forecast->predicted));
  note_age(dates, file, workplace.progress);
  return cases;
}

/// Those that are not there yet, in front.
void add_notes(std::vector<std::string>& notes, const std::vector<std::string>& earlier) {
  std::vector<std::string> all = earlier;
  for (std::string& note : notes)
    if (std::ranges::find(all, note) == all.end()) all.push_back(std::move(note));
  notes = std::move(all);
}

/// Runs what `before` has not finished. `results`: a head, which gets the hosts and the records. Whether they could be
/// written where they belong.
bool run_series(CaseSeries& series, std::size_t cases, std::optional<Journal>& journal,
                const std::optional<Unfinished>& before, const RunOptions& options, Workplace& workplace,
                results::ResultsFile& results) {
  // The head last: without one the folder says nothing, and what it is copied from stays the truth.
  const int taken = before ? series.take_over(*before) : 0;
  // A results file in which nothing is missing stays as it is, with the date and the host of its run.
  const bool complete = taken == static_cast<int>(cases) && before->path == options.json;
  if (journal && !complete) journal->begin(results, before.has_value());
  series.run();
  if (!workplace.hosts.empty())
    results.context.hosts = before ? before->run.context.hosts : std::vector<results::Host>();
  add_hosts(results.context.hosts, workplace.hosts);
  if (before) add_notes(results.context.notes, before->run.context.notes);
  results.records = series.records();
  const std::size_t missing = cases - results.records.size();
  note_missing(missing, series.cut_short(), cases, going_on(options, journal.has_value()), workplace.progress);
  if (!journal || complete || results.records.empty()) return true;
  const bool written = journal->finish(results, missing + series.cut_short() == 0);
  if (written) workplace.progress.note("results: " + options.json);
  return written;
}

ExitCode run_chosen(std::vector<SelectedCase> chosen, const RunOptions& options, const std::vector<std::string>& argv,
                    Progress& progress, std::ostream& out) {
  filter(chosen, options);
  if (options.benchmark.list_tests) {
    list_names(chosen, options);
    return ExitCode::ok;
  }
  check_run(chosen, options);
  if (options.dry_run) return print_commands(chosen, options, progress, out);

  Workplace workplace(options.launches, progress);
  std::optional<Journal> journal;
  const std::optional<Unfinished> before = open_journal(journal, options, chosen.size(), workplace);
  const protocol::Offer capabilities = find_capabilities(workplace);
  check_launches(chosen, workplace.options.launcher, capabilities);
  CalibrationFile file = open_calibration(options.calibration, workplace.machine, false);
  note_doubts(file, progress);
  if (before && before->holds_something()) require_same_run(*before, describe_run(workplace, capabilities, file, argv));
  // What is only verified is predicted as if on one host.
  Placements placements;
  if (options.verify != VerifyMode::only)
    placements = find_placements(unknown_placements(open_cases(chosen, before), workplace.options.launcher), workplace);
  const auto cases = prepare_calibrated(chosen, options, capabilities, file, before, placements, workplace);

  results::ResultsFile results = describe_run(workplace, capabilities, file, argv);
  const Knowledge knowledge = knowledge_of(workplace.machine, file, options.emulated, placements);
  CaseSeries series(options, cases, knowledge, workplace, journal ? &*journal : nullptr);
  const bool written = run_series(series, cases.size(), journal, before, options, workplace, results);
  report(results, options, out);
  if (const std::string text = results::disturbance_text(results.records); !text.empty())
    progress.note(fmt::format("{}; {}", text, to_type("doctor --noise 30s says how far it varies")));
  note_files(options, workplace.traces, progress);
  const ExitCode code = written ? series.code() : ExitCode::environment;
  if (options.fom) {
    const bool all = written && results.records.size() == cases.size();
    out << results::outcome_line(all ? results::outcome_of(results.records) : results::Outcome::fail);
  }
  return code;
}

}  // namespace

ExitCode run_cases(std::vector<SelectedCase> chosen, const RunOptions& options, const std::vector<std::string>& argv,
                   Progress& progress, std::ostream& out) {
  try {
    return run_chosen(std::move(chosen), options, argv, progress, out);
  } catch (...) {
    if (options.fom) out << results::outcome_line(results::Outcome::fail);
    throw;
  }
}

}  // namespace parabench::suite
