#include "suite/run/case_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/counted.h"
#include "base/random.h"
#include "base/units_text.h"
#include "results/baseline.h"
#include "results/drift.h"
#include "results/summary.h"
#include "suite/run/case_run.h"

namespace parabench::suite {
namespace {

std::string outcome(const results::Record& record) {
  switch (record.status) {
    case results::Status::ok:
      if (!record.measured) return "ok (verified)";
      return fmt::format(
          "ok {}{}{}", human_seconds(record.measured->step_time_s.median),
          is_emulated(record.parameters) ? " emulated" : "",
          record.predicted ? fmt::format(" (predicted {})", human_seconds(record.predicted->step_time_s)) : "");
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

}  // namespace

CaseSeries::CaseSeries(const RunOptions& options, const std::vector<Prepared>& cases, const Knowledge& knowledge,
                       Workplace& workplace, Journal* journal)
    : options_(options),
      cases_(cases),
      knowledge_(knowledge),
      workplace_(workplace),
      journal_(journal),
      records_(cases.size()) {}

void CaseSeries::keep(std::size_t index, int place, results::Record record) {
  workplace_.progress.result(place, record.id, outcome(record));
  if (journal_) journal_->keep(record);
  records_[index] = std::move(record);
}

void CaseSeries::count_failure(protocol::FailureKind kind) {
  switch (kind) {
    case protocol::FailureKind::usage: bad_input_ = true; break;
    case protocol::FailureKind::environment: lacking_ = true; break;
    case protocol::FailureKind::failure:
    case protocol::FailureKind::not_a_number:
    case protocol::FailureKind::peer: failed_ = true; break;
  }
  failed_fast_ = options_.fail_fast;
}

int CaseSeries::take_over(const Unfinished& before) {
  int taken = 0;
  for (const results::Record& record : before.run.records) {
    const auto found = std::ranges::find(cases_, record.id, [](const Prepared& one) { return one.chosen.id; });
    if (found == cases_.end()) {
      throw usage_error("--resume", fmt::format("{}, a record in {}", record.id, before.path.string()),
                        "the cases of the run that stopped, or more", "choose the cases as that run did");
    }
    if (!is_finished(record)) continue;
    const std::string now = repeating_command(found->chosen, options_);
    if (!measures_the_same(record.reproduce, now)) {
      throw usage_error("--resume", options_beyond(now, record.reproduce),
                        fmt::format("{}, as in {}", options_beyond(record.reproduce, now), before.path.string()),
                        "give the options of the run that stopped, or name another --json");
    }
    records_[static_cast<std::size_t>(found - cases_.begin())] = record;
    if (journal_) journal_->keep(record);
    ++taken;
  }
  workplace_.progress.note(fmt::format("{} of {} {} finished before ({})", taken, counted(cases_.size(), "case"),
                                       taken == 1 ? "was" : "were", before.path.string()));
  return taken;
}

void CaseSeries::run_one(std::size_t index, int place) {
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
  workplace_.progress.begin_case(expected_seconds(prepared, options_));
  CaseResult result = run_case(prepared, options_, knowledge_, place, workplace_);
  workplace_.progress.end_case(result.record.status == results::Status::ok && !result.interrupted);
  if (result.interrupted) ++cut_short_;
  if (result.record.status == results::Status::failed && !result.interrupted) count_failure(result.failure);
  keep(index, place, std::move(result.record));
}

void CaseSeries::run() {
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

ExitCode CaseSeries::code() {
  if (workplace_.signals.interrupted()) return ExitCode::interrupted;
  if (failed_) return ExitCode::case_failed;
  if (bad_input_) return ExitCode::usage;
  return lacking_ ? ExitCode::environment : ExitCode::ok;
}

std::vector<results::Record> CaseSeries::records() const {
  std::vector<results::Record> all;
  for (const auto& record : records_)
    if (record) all.push_back(*record);
  results::fill_baselines(all);
  results::fill_adjusted_errors(all);
  return all;
}

}  // namespace parabench::suite
