#include "suite/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <ostream>

#include "base/random.h"
#include "base/units_text.h"
#include "results/baseline.h"
#include "results/fom.h"
#include "results/summary.h"
#include "results/table.h"
#include "suite/machine/calibrate.h"
#include "suite/machine/provenance.h"
#include "suite/run/benchmark_report.h"
#include "suite/run/case_run.h"
#include "suite/run/dry_run.h"
#include "suite/run/journal.h"
#include "suite/run/preflight.h"

namespace parabench::suite {
namespace {

std::string outcome(const results::Record& record) {
  switch (record.status) {
    case results::Status::ok:
      if (!record.measured) return "ok (verified)";
      return fmt::format("ok {}{} (predicted {})", human_seconds(record.measured->step_time_s.median),
                         is_emulated(record.parameters) ? " emulated" : "",
                         human_seconds(record.predicted->step_time_s));
    case results::Status::skipped: return "skipped: " + record.reason;
    case results::Status::failed:
      if (!results::differs(record.equivalence)) return "FAILED " + record.reason;
      return fmt::format("FAILED {}: {}", record.reason, record.equivalence.reason);
  }
  return "";
}

/// The order in which cases run. Shuffled, it depends on their ids alone: anyone who runs the same cases has the same.
std::vector<std::size_t> order_of(const std::vector<Prepared>& cases, bool shuffled) {
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  if (shuffled) {
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(mix64(fnv1a64(cases[i].chosen.id)), i); });
  }
  return order;
}

/// Whether a record of an earlier run stands: failed cases and those that were cut short run again, and what was skipped
/// is looked at anew.
bool is_finished(const results::Record& record) { return record.status == results::Status::ok; }

/// The records of a run, by case; kept on disk as they come.
class Session {
 public:
  Session(const RunOptions& options, const std::vector<Prepared>& cases, const Knowledge& knowledge,
          Workplace& workplace, Journal* journal)
      : options_(options),
        cases_(cases),
        knowledge_(knowledge),
        workplace_(workplace),
        journal_(journal),
        records_(cases.size()) {}

  /// Takes over records that an earlier run finished, and says how many.
  int take_over(const Unfinished& before);
  void run();
  ExitCode code();
  /// Those that there are, in the order of the cases.
  std::vector<results::Record> records() const;

 private:
  void run_one(std::size_t index, int place);
  void keep(std::size_t index, int place, results::Record record);
  void count_failure(protocol::FailureKind kind);

  const RunOptions& options_;
  const std::vector<Prepared>& cases_;
  const Knowledge& knowledge_;
  Workplace& workplace_;
  Journal* journal_;  ///< nullptr where no file was asked for
  std::vector<std::optional<results::Record>> records_;
  bool failed_fast_ = false;
  bool failed_ = false, bad_input_ = false, lacking_ = false;
};

void Session::keep(std::size_t index, int place, results::Record record) {
  workplace_.progress.result(place, record.id, outcome(record));
  if (journal_) journal_->keep(record);
  records_[index] = std::move(record);
}

void Session::count_failure(protocol::FailureKind kind) {
  switch (kind) {
    case protocol::FailureKind::usage: bad_input_ = true; break;
    case protocol::FailureKind::environment: lacking_ = true; break;
    case protocol::FailureKind::failure:
    case protocol::FailureKind::not_a_number:
    case protocol::FailureKind::peer: failed_ = true; break;
  }
  failed_fast_ = options_.fail_fast;
}

int Session::take_over(const Unfinished& before) {
  int taken = 0;
  for (const results::Record& record : before.run.records) {
    const auto found = std::ranges::find(cases_, record.id, [](const Prepared& one) { return one.chosen.id; });
    if (found == cases_.end()) {
      throw usage_error("--resume", fmt::format("{}, a record in {}", record.id, before.path.string()),
                        "the cases of the run that stopped, or more", "choose the cases as that run did");
    }
    if (!is_finished(record)) continue;
    const std::string now = repeating_command(found->chosen, options_);
    if (record.reproduce != now) {
      throw usage_error("--resume", fmt::format("in {}: {}", before.path.string(), record.reproduce), now,
                        "give the options of the run that stopped, or name another --json");
    }
    records_[static_cast<std::size_t>(found - cases_.begin())] = record;
    if (journal_) journal_->keep(record);
    ++taken;
  }
  workplace_.progress.note(
      fmt::format("{} of {} cases were finished before ({})", taken, cases_.size(), before.path.string()));
  return taken;
}

void Session::run_one(std::size_t index, int place) {
  const Prepared& prepared = cases_[index];
  if (!prepared.runs()) {
    lacking_ = lacking_ || prepared.chosen.named;
    return keep(index, place, start_record(prepared, options_));
  }
  if (failed_fast_) {
    results::Record record = start_record(prepared, options_);
    record.status = results::Status::skipped;
    record.reason = "not run: an earlier case failed (--fail-fast)";
    return keep(index, place, std::move(record));
  }
  CaseResult result = run_case(prepared, options_, knowledge_, place, workplace_);
  if (result.record.status == results::Status::failed && !result.interrupted) count_failure(result.failure);
  keep(index, place, std::move(result.record));
}

void Session::run() {
  double expected = 0;
  for (std::size_t i = 0; i < cases_.size(); ++i)
    if (!records_[i]) expected += expected_seconds(cases_[i], options_);
  workplace_.progress.begin(static_cast<int>(cases_.size()), expected);
  int place = 0;
  for (const std::size_t i : order_of(cases_, options_.shuffle)) {
    ++place;
    if (workplace_.signals.interrupted()) return;
    if (!records_[i]) run_one(i, place);
  }
}

ExitCode Session::code() {
  if (workplace_.signals.interrupted()) return ExitCode::interrupted;
  if (failed_) return ExitCode::case_failed;
  if (bad_input_) return ExitCode::usage;
  return lacking_ ? ExitCode::environment : ExitCode::ok;
}

std::vector<results::Record> Session::records() const {
  std::vector<results::Record> all;
  for (const auto& record : records_)
    if (record) all.push_back(*record);
  results::fill_baselines(all);
  return all;
}

/// The launcher's and the machine's peculiarities that a reader of the numbers should know.
void note_machine(const std::vector<Prepared>& cases, Workplace& workplace) {
  int most = 0, processes_at_most = 0;
  for (const auto& one : cases) {
    if (!one.runs() || is_emulated(one.chosen.spec)) continue;
    most = std::max(most, one.chosen.spec.np * one.chosen.spec.threads);
    const Launcher own = launcher_for(one.chosen.spec, workplace.options.launcher);
    if (own.name != "local") processes_at_most = std::max(processes_at_most, one.chosen.spec.np);
  }
  if (most > workplace.machine.cores) {
    workplace.progress.note(fmt::format("up to {} threads compute on {} cores: times include waiting for a core", most,
                                        workplace.machine.cores));
  }
  if (processes_at_most == 0) return;
  const std::string added = additions(workplace.options.launcher, processes_at_most, workplace.host);
  if (!added.empty()) workplace.progress.note(added);
}

void calibrate_first(std::vector<Prepared>& cases, const PrepareOptions& prepare_options, CalibrationFile& file,
                     const RunOptions& options, Workplace& workplace) {
  const Knowledge knowledge{workplace.machine, file.content ? &*file.content : nullptr, options.emulated_unit_s};
  const std::vector<std::size_t> chosen = calibrations_of(cases, options, knowledge);
  if (chosen.empty()) return;
  workplace.progress.note(fmt::format(
      "{}: measuring first what these cases need, kept in {}",
      file.content ? "the calibration lacks something" : "no calibration of this machine yet", file.path.string()));
  auto known = file.content;
  file.must_be_kept = false;
  for (const auto& failure : measure(workplace, cases, chosen, known, file)) {
    workplace.progress.note(fmt::format("no calibration, the data sheet predicts instead: {}", failure));
  }
  if (!file.unkept.empty())
    workplace.progress.note(fmt::format("the calibration serves this run alone: {}", file.unkept));
  if (known) forecast_again(cases, prepare_options, {workplace.machine, &*known, options.emulated_unit_s});
  for (const auto& one : cases)
    if (one.forecast && !one.forecast->gap.empty())
      workplace.progress.note(fmt::format("{}: {}", one.chosen.id, one.forecast->gap));
}

void list_names(const std::vector<SelectedCase>& chosen, const RunOptions& options) {
  std::vector<std::string> ids;
  for (const auto& one : chosen) ids.push_back(one.id);
  list_benchmarks(options.benchmark, ids, options.steps);
}

/// The result on stdout, and Google Benchmark's own.
void report(const results::ResultsFile& results, const RunOptions& options, std::ostream& out) {
  if (options.verify != VerifyMode::only)
    report_benchmarks(options.benchmark, results.records, options.steps, options.stopping.repetitions);
  if (options.json == "-") {
    out << results::results_text(results);
  } else if (!options.benchmark.console) {
    out << results::results_table(results.records);
  }
  if (options.fom) out << results::fom_lines(results.records);
}

/// A table of fewer rows than cases looks like any other.
void note_missing(std::size_t missing, std::size_t all, bool kept, Progress& progress) {
  if (missing == 0) return;
  progress.note(fmt::format("{} of {} cases did not run{}", missing, all,
                            kept ? "; the same command with --resume goes on" : ""));
}

void mark_finished(const Unfinished& before, std::vector<Prepared>& cases) {
  for (Prepared& one : cases) {
    one.finished = std::ranges::any_of(
        before.run.records, [&](const auto& record) { return record.id == one.chosen.id && is_finished(record); });
  }
}

ExitCode run_chosen(std::vector<SelectedCase> chosen, const RunOptions& options, const std::vector<std::string>& argv,
                    Progress& progress, std::ostream& out) {
  std::erase_if(chosen, [&](const SelectedCase& one) { return !selects(options.benchmark, one.id, options.steps); });
  if (chosen.empty()) {
    throw Error(ExitCode::nothing_matched, "--benchmark_filter", options.benchmark.filter, "to match at least one case",
                "parabench run --benchmark_list_tests shows the names");
  }
  if (options.benchmark.list_tests) {
    list_names(chosen, options);
    return ExitCode::ok;
  }
  check_run(chosen, options);
  if (options.dry_run) return print_commands(chosen, options, progress, out);

  Workplace workplace(options.launches, progress);
  std::optional<Journal> journal;
  std::optional<Unfinished> before;
  if (!options.json.empty() && options.json != "-") {
    journal.emplace(options.json, static_cast<int>(chosen.size()), progress);
    if (options.resume) before = journal->unfinished();
    if (!options.resume) journal->require_empty();
    journal->take_scratch(workplace.scratch.path());
  }
  const protocol::Offer capabilities = find_capabilities(workplace);
  check_launches(chosen, workplace.options.launcher, capabilities);
  CalibrationFile file = open_calibration(options.calibration, workplace.machine, false);
  if (before && std::ranges::any_of(before->run.records, is_finished))
    require_same_run(*before, describe_run(workplace, capabilities, file, argv));
  const PrepareOptions prepare_options = options_of_run(options, capabilities, workplace.options.launcher);
  auto cases = prepare(chosen, prepare_options,
                       {workplace.machine, file.content ? &*file.content : nullptr, options.emulated_unit_s},
                       [&] { return workplace.signals.interrupted(); });
  if (before) mark_finished(*before, cases);
  note_machine(cases, workplace);
  calibrate_first(cases, prepare_options, file, options, workplace);

  results::ResultsFile results = describe_run(workplace, capabilities, file, argv);
  const Knowledge knowledge{workplace.machine, file.content ? &*file.content : nullptr, options.emulated_unit_s};
  Session session(options, cases, knowledge, workplace, journal ? &*journal : nullptr);
  // The head last: without one the folder says nothing, and what it is copied from stays the truth.
  const int taken = before ? session.take_over(*before) : 0;
  // A results file in which nothing is missing stays as it is, with the date and the host of its run.
  const bool complete = taken == static_cast<int>(cases.size()) && before->path == options.json;
  if (journal && !complete) journal->begin(results, before.has_value());
  session.run();
  if (!workplace.hosts.empty())
    results.context.hosts = before ? before->run.context.hosts : std::vector<results::Host>();
  add_hosts(results.context.hosts, workplace.hosts);
  results.records = session.records();
  note_missing(cases.size() - results.records.size(), cases.size(), journal.has_value(), progress);
  const bool written = !journal || complete || results.records.empty() || journal->finish(results);
  report(results, options, out);
  const ExitCode code = written ? session.code() : ExitCode::environment;
  if (options.fom) {
    const bool all = written && code != ExitCode::interrupted;
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
