#include "suite/run/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/units_text.h"
#include "results/baseline.h"
#include "results/record_json.h"
#include "results/summary.h"
#include "results/table.h"
#include "suite/cli/emulate_option.h"
#include "suite/machine/calibrate.h"
#include "suite/machine/provenance.h"
#include "suite/run/case_run.h"
#include "suite/run/dry_run.h"
#include "suite/run/front.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// Fails before anything runs where a file could not be written afterwards.
void require_writable(std::string_view option, const std::string& path) {
  if (path.empty() || path == "-") return;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const bool there = fs::exists(path);
  if (fs::is_directory(path) || access(there ? path.c_str() : folder.c_str(), W_OK) != 0) {
    throw usage_error(option, path, "a file that can be written",
                      fs::is_directory(folder) ? "" : "make its folder first");
  }
}

/// Everything about the run that must be in order before the first launch.
void check_options(const RunOptions& options) {
  if (options.json == "-" && options.benchmark.console) {
    throw usage_error("--json", "-", "one owner of stdout", "write to a file, or leave out --benchmark_format");
  }
  require_writable("--json", options.json);
  require_writable("--benchmark_out", options.benchmark.out);
  const auto& data = options.launches.data;
  if (!data.empty() && !fs::is_directory(data)) throw usage_error("--data", data, "a folder that exists");
  if (options.trace.empty()) return;
  std::error_code error;
  fs::create_directories(options.trace, error);
  if (error || access(options.trace.c_str(), W_OK) != 0) {
    throw usage_error("--trace", options.trace, "a folder that can be written");
  }
}

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

/// Numbers beside Google Benchmark's own; all finite.
std::vector<std::pair<std::string, double>> counters(const results::Record& record) {
  std::vector<std::pair<std::string, double>> all = {
      {"pred_step_s", record.predicted->step_time_s},
      {"pred_rel_error", record.error->step_time_relative},
      {"flops_per_s", record.measured->achieved_flops_per_s},
      {"peak_bytes", static_cast<double>(results::peak_bytes(*record.measured))}};
  std::erase_if(all, [](const auto& counter) { return !std::isfinite(counter.second); });
  return all;
}

/// The records of a run, kept on disk as they come.
class Session {
 public:
  Session(const RunOptions& options, const std::vector<Prepared>& cases, results::ResultsFile results,
          Workplace& workplace)
      : options_(options), cases_(cases), results_(std::move(results)), workplace_(workplace) {}

  void run();
  ExitCode code();
  const results::ResultsFile& results() const { return results_; }

 private:
  Repetition repeat(std::size_t index);
  void begin(std::size_t index);
  void keep(results::Record record);
  void keep_failure(const CaseRun& run);
  void skip_until(std::size_t index);
  bool stopped() { return failed_fast_ || workplace_.signals.interrupted(); }

  const RunOptions& options_;
  const std::vector<Prepared>& cases_;
  results::ResultsFile results_;
  Workplace& workplace_;
  std::size_t next_ = 0;            ///< the first case without a record
  std::optional<CaseRun> running_;  ///< the case whose repetitions run; its record is still to come
  int repetitions_ = 0;             ///< done of the running case
  bool failed_fast_ = false;
  bool failed_ = false, bad_input_ = false, lacking_ = false;
};

void Session::keep(results::Record record) {
  workplace_.progress.result(static_cast<int>(++next_), record.id, outcome(record));
  if (!workplace_.hosts.empty()) results_.context.hosts = workplace_.hosts;
  results_.records.push_back(std::move(record));
  results::fill_baselines(results_.records);
  if (!options_.json.empty() && options_.json != "-") results::write_results(options_.json, results_);
}

/// Records of the cases before `index` that do not run.
void Session::skip_until(std::size_t index) {
  while (next_ < index) {
    const Prepared& prepared = cases_[next_];
    results::Record record = start_record(prepared, options_);
    if (prepared.runs()) {
      record.status = results::Status::skipped;
      record.reason = "not run: an earlier case failed (--fail-fast)";
    } else if (prepared.chosen.named) {
      lacking_ = true;
    }
    keep(std::move(record));
  }
}

void Session::keep_failure(const CaseRun& run) {
  switch (run.failure_kind()) {
    case protocol::FailureKind::usage: bad_input_ = true; break;
    case protocol::FailureKind::environment: lacking_ = true; break;
    case protocol::FailureKind::failure:
    case protocol::FailureKind::not_a_number:
    case protocol::FailureKind::peer: failed_ = true; break;
  }
  failed_fast_ = options_.fail_fast;
}

void Session::begin(std::size_t index) {
  skip_until(index);
  repetitions_ = 0;
  running_.emplace(cases_[index], options_, static_cast<int>(index) + 1, workplace_);
  running_->verify();
}

/// One repetition for Google Benchmark, which asks again after a failure: the case has its record by then.
Repetition Session::repeat(std::size_t index) {
  if (index < next_) return {{}, "the case has failed before", {}};
  if (stopped()) return {{}, "not run: the suite was stopped before", {}};
  if (!running_) begin(index);
  Repetition result;
  if (running_->record().status == results::Status::ok)
    result.step_times_s = running_->measure().value_or(std::vector<double>{});
  const results::Record& record = running_->record();
  result.failure = record.reason;
  if (record.status == results::Status::ok) result.counters = counters(record);
  if (record.status == results::Status::failed) keep_failure(*running_);
  if (record.status == results::Status::failed || ++repetitions_ == options_.repetitions) {
    keep(record);
    running_.reset();
  }
  return result;
}

void Session::run() {
  double expected = 0;
  std::vector<DrivenCase> driven;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    expected += expected_seconds(cases_[i], options_);
    if (cases_[i].runs()) {
      driven.push_back(
          {cases_[i].chosen.id, options_.steps, cases_[i].chosen.spec.batch, [this, i] { return repeat(i); }});
    }
  }
  workplace_.progress.begin(static_cast<int>(cases_.size()), expected);
  if (options_.verify != VerifyMode::only) {
    if (!driven.empty()) drive(options_.benchmark, options_.repetitions, driven);
  } else {
    for (std::size_t i = 0; i < cases_.size() && !stopped(); ++i) {
      if (!cases_[i].runs()) continue;
      begin(i);
      if (running_->record().status == results::Status::failed) keep_failure(*running_);
      keep(running_->record());
      running_.reset();
    }
  }
  if (!workplace_.signals.interrupted()) skip_until(cases_.size());
}

ExitCode Session::code() {
  if (workplace_.signals.interrupted()) return ExitCode::interrupted;
  if (failed_) return ExitCode::case_failed;
  if (bad_input_) return ExitCode::usage;
  return lacking_ ? ExitCode::environment : ExitCode::ok;
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
  for (const auto& failure : measure(workplace, cases, chosen, known, file)) {
    workplace.progress.note(fmt::format("no calibration, the data sheet predicts instead: {}", failure));
  }
  if (known) forecast_again(cases, prepare_options, {workplace.machine, &*known, options.emulated_unit_s});
  for (const auto& one : cases)
    if (one.forecast && !one.forecast->gap.empty())
      workplace.progress.note(fmt::format("{}: {}", one.chosen.id, one.forecast->gap));
}

}  // namespace

ExitCode run_cases(std::vector<SelectedCase> chosen, const RunOptions& options, const std::vector<std::string>& argv,
                   Progress& progress, std::ostream& out) {
  std::erase_if(chosen, [&](const SelectedCase& one) {
    return !options.benchmark.selects(benchmark_name(one.id, options.steps));
  });
  if (chosen.empty()) {
    throw Error(ExitCode::nothing_matched, "--benchmark_filter", options.benchmark.filter, "to match at least one case",
                "parabench run --benchmark_list_tests shows the names");
  }
  if (options.benchmark.list_tests) {
    std::vector<DrivenCase> names;
    for (const auto& one : chosen) names.push_back({one.id, options.steps, one.spec.batch, {}});
    drive(options.benchmark, options.repetitions, names);
    return ExitCode::ok;
  }
  check_options(options);
  for (const auto& one : chosen) {
    check_emulate_option(one.spec, options.emulated_unit_s);
    if (options.verify != VerifyMode::only || !is_emulated(one.spec)) continue;
    throw usage_error("--verify", "only", fmt::format("cases that train, not {}", one.id),
                      "emulated devices wait for modelled times; there is nothing to verify");
  }
  if (options.dry_run) return print_commands(chosen, options, progress, out);

  Workplace workplace(options.launches, progress);
  const protocol::Offer capabilities = find_capabilities(workplace);
  check_launches(chosen, workplace.options.launcher, capabilities);
  CalibrationFile file = open_calibration(options.calibration, workplace.machine, false);
  const PrepareOptions prepare_options = options_of_run(options, capabilities, workplace.options.launcher);
  auto cases = prepare(chosen, prepare_options,
                       {workplace.machine, file.content ? &*file.content : nullptr, options.emulated_unit_s});
  note_machine(cases, workplace);
  calibrate_first(cases, prepare_options, file, options, workplace);

  Session session(options, cases, describe_run(workplace, capabilities, file, argv), workplace);
  session.run();
  if (options.json == "-") {
    out << results::to_json(session.results()).dump(1) << '\n';
  } else if (!options.benchmark.console) {
    out << results::results_table(session.results().records);
  }
  return session.code();
}

}  // namespace parabench::suite
