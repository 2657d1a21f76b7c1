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

/// The order in which cases run in a round. Shuffled, it depends on the round and on their ids alone: anyone who runs
/// the same cases has the same.
std::vector<std::size_t> order_of(const std::vector<Prepared>& cases, bool shuffled, int round) {
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  if (shuffled) {
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(mix64(fnv1a64(cases[i].chosen.id) + round), i); });
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
      records_(cases.size()),
      measured_(cases.size()),
      runs_(cases.size()) {}

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

/// Of the case that a record, or launch, of an earlier run belongs to.
std::size_t CaseSeries::index_of(const results::Record& record, const Unfinished& before) const {
  const auto found = std::ranges::find(cases_, record.id, [](const Prepared& one) { return one.chosen.id; });
  if (found == cases_.end()) {
    throw usage_error("--resume", fmt::format("{}, a record in {}", record.id, before.path.string()),
                      "the cases of the run that stopped, or more", "choose the cases as that run did");
  }
  return static_cast<std::size_t>(found - cases_.begin());
}

int CaseSeries::take_over(const Unfinished& before) {
  const auto require_same_options = [&](std::size_t index, const results::Record& record) {
    const std::string now = repeating_command(cases_[index].chosen, options_);
    if (measures_the_same(record.reproduce, now)) return;
    throw usage_error("--resume", options_beyond(now, record.reproduce),
                      fmt::format("{}, as in {}", options_beyond(record.reproduce, now), before.path.string()),
                      "give the options of the run that stopped, or name another --json");
  };
  int taken = 0, launches = 0;
  for (const results::Record& record : before.run.records) {
    const std::size_t index = index_of(record, before);
    if (!is_finished(record)) continue;
    require_same_options(index, record);
    records_[index] = record;
    if (journal_) journal_->keep(record);
    ++taken;
  }
  for (const results::Record& launch : before.launches) {
    const std::size_t index = index_of(launch, before);
    if (records_[index]) continue;
    require_same_options(index, launch);
    measured_[index].push_back(launch);
    ++launches;
  }
  workplace_.progress.note(fmt::format(
      "{} of {} {} finished before{} ({})", taken, counted(cases_.size(), "case"), taken == 1 ? "was" : "were",
      launches > 0 ? fmt::format(", and {} measured of others", counted(launches, "launch", "launches")) : "",
      before.path.string()));
  return taken;
}

void CaseSeries::skip(std::size_t index, int place) {
  results::Record record = start_record(cases_[index], options_);
  if (cases_[index].runs()) {
    record.status = results::Status::skipped;
    record.reason = fmt::format("not run{}: an earlier case failed (--fail-fast)", runs_[index] ? " to its end" : "");
    if (runs_[index]) ++cut_short_;
  } else {
    lacking_ = lacking_ || cases_[index].chosen.named;
  }
  runs_[index].reset();
  keep(index, place, std::move(record));
}

void CaseSeries::take_turn(std::size_t index, int place) {
  const Prepared& prepared = cases_[index];
  if (!prepared.runs() || failed_fast_) return skip(index, place);
  std::unique_ptr<CaseRun>& run = runs_[index];
  if (!run) {
    run = std::make_unique<CaseRun>(prepared, options_, knowledge_, place, workplace_, measured_[index]);
    if (journal_ && run->measured() == 0 && !measured_[index].empty()) journal_->forget_launches(prepared.chosen.id);
  }
  if (!run->is_done()) {
    workplace_.progress.begin_case(run->next_turn_seconds());
    workplace_.progress.end_case(run->take_turn());
  }
  if (run->is_done()) return finish(index, place);
  if (!journal_) return;
  if (run->measured() > 0)
    journal_->keep_launch(run->launch(), run->measured());
  else
    journal_->forget_launches(prepared.chosen.id);
}

void CaseSeries::cut_short(std::size_t index, int place) {
  runs_[index]->cut_short();
  finish(index, place);
}

/// From a case that is done to its record.
void CaseSeries::finish(std::size_t index, int place) {
  CaseResult result = runs_[index]->result();
  runs_[index].reset();
  if (result.interrupted) ++cut_short_;
  if (result.record.status == results::Status::failed && !result.interrupted) count_failure(result.failure);
  keep(index, place, std::move(result.record));
  // Of one that was cut short they are what the next run goes on with.
  if (journal_ && !result.interrupted) journal_->forget_launches(cases_[index].chosen.id);
}

/// Of all that is left.
double CaseSeries::expected_seconds() const {
  double expected = 0;
  for (std::size_t i = 0; i < cases_.size(); ++i)
    if (!records_[i]) expected += suite::expected_seconds(cases_[i], options_);
  return expected;
}

void CaseSeries::run() {
  workplace_.progress.begin(static_cast<int>(cases_.size()), expected_seconds());
  std::vector<int> places(cases_.size());
  int place = 0;
  const auto order = [this](int round) { return order_of(cases_, options_.shuffle, options_.first_round + round); };
  for (const std::size_t i : order(0)) places[i] = ++place;
  const auto is_open = [](const std::optional<results::Record>& record) { return !record; };
  for (int round = 0; std::ranges::any_of(records_, is_open); ++round) {
    for (const std::size_t i : order(round)) {
      if (workplace_.signals.interrupted()) break;
      while (!records_[i]) {
        take_turn(i, places[i]);
        if (options_.interleave) break;
      }
    }
    if (!workplace_.signals.interrupted()) continue;
    for (std::size_t i = 0; i < cases_.size(); ++i)
      if (runs_[i]) cut_short(i, places[i]);
    return;
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
