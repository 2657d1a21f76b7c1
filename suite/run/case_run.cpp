#include "suite/run/case_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "results/summary.h"
#include "suite/run/combine.h"

namespace parabench::suite {
namespace {

/// The case id as a file name.
std::string file_name(std::string id) {
  std::ranges::replace_if(
      id, [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.' && c != '='; }, '_');
  return id;
}

bool same_ranks(const results::Measured& measured, const Predicted& predicted) {
  return std::ranges::equal(measured.ranks, predicted.ranks, {}, &results::RankMeasured::rank, &RankPredicted::rank);
}

}  // namespace

results::Record start_record(const Prepared& prepared, const RunOptions& options) {
  results::Record record;
  record.id = prepared.chosen.id;
  record.parameters = prepared.chosen.spec;
  record.reproduce = repeating_command(prepared.chosen, options);
  if (prepared.forecast) {
    const plan::Plan& plan = prepared.forecast->plan;
    record.plan = results::PlanSummary{plan::hash(plan), plan::partition(plan), plan::stage_widths(plan)};
    record.predicted = prepared.forecast->predicted;
  }
  if (!prepared.runs()) {
    record.status = results::Status::skipped;
    record.reason = prepared.skip;
    record.equivalence.reason = "the case did not run";
  }
  return record;
}

double expected_seconds(const Prepared& prepared, const RunOptions& options) {
  if (!prepared.runs()) return 0;
  double seconds = 0;
  for (const PlannedLaunch& launch : launches_of(prepared.chosen.spec, options))
    seconds += expected_seconds(launch.phase, *prepared.forecast, options.warmup + options.steps);
  return seconds;
}

CaseRun::CaseRun(const Prepared& prepared, const RunOptions& options, int index, Workplace& workplace)
    : prepared_(prepared),
      options_(options),
      index_(index),
      workplace_(workplace),
      record_(start_record(prepared, options)),
      planned_(launches_of(prepared.chosen.spec, options)) {
  record_.equivalence.reason = is_emulated(record_.parameters)
                                   ? "emulated devices wait for modelled times; nothing is trained"
                               : options.verify == VerifyMode::off ? "switched off by --verify off"
                                                                   : "the case stopped before";
}

void CaseRun::fail(std::string reason, protocol::FailureKind kind) {
  record_.status = results::Status::failed;
  record_.reason = std::move(reason);
  failure_kind_ = kind;
}

std::optional<PlannedLaunch> CaseRun::next(protocol::Phase phase) {
  if (planned_.empty() || planned_.front().phase != phase) return std::nullopt;
  const PlannedLaunch launch = planned_.front();
  planned_.erase(planned_.begin());
  return launch;
}

std::optional<protocol::Reply> CaseRun::run_phase(protocol::Phase phase, LaunchRequest request, std::string what) {
  const int steps = options_.warmup + options_.steps;
  request.phase = phase;
  request.plan = &prepared_.forecast->plan;
  if (is_emulated(record_.parameters)) request.durations = &prepared_.forecast->durations;
  request.steps = options_.steps;
  request.warmup = options_.warmup;
  request.timeout_s = patience_seconds(phase, *prepared_.forecast, steps);
  workplace_.progress.phase(index_, record_.id, what);
  LaunchResult result = run(workplace_, request);
  workplace_.progress.done(expected_seconds(phase, *prepared_.forecast, steps));
  if (!result.reply) {
    fail(fmt::format("{}: {}", what, result.reason), result.kind);
  } else if (const std::string& why = result.reply->private_arenas_because; !why.empty()) {
    workplace_.progress.note("ranks exchange by copies, not in memory that they share: " + why);
  }
  return std::move(result.reply);
}

bool CaseRun::verify() {
  if (!next(protocol::Phase::verify)) return true;
  const auto reply = run_phase(protocol::Phase::verify, {}, "verify");
  if (!reply) return false;
  record_.equivalence = std::get<results::Equivalence>(reply->answer);
  if (record_.equivalence.status == results::EquivalenceStatus::fail) {
    fail(fmt::format("not equivalent to {} training", record_.equivalence.reference), protocol::FailureKind::failure);
  }
  return record_.status == results::Status::ok;
}

std::optional<std::vector<double>> CaseRun::measure() {
  const PlannedLaunch planned = next(protocol::Phase::measure).value();
  LaunchRequest request;
  if (planned.traced) {
    request.trace_file = std::filesystem::path(options_.trace) / (file_name(record_.id) + ".json");
  }
  auto reply = run_phase(protocol::Phase::measure, request,
                         fmt::format("measure {}/{}", planned.repetition, options_.repetitions));
  if (!reply) return std::nullopt;
  auto& measured = std::get<results::Measured>(reply->answer);
  const auto& samples = measured.step_time_s.samples;
  if (samples.size() != 1 || static_cast<int>(samples.front().size()) != options_.steps) {
    fail(fmt::format("measure: the reply holds {} steps, {} were asked for",
                     samples.empty() ? 0 : samples.front().size(), options_.steps),
         protocol::FailureKind::failure);
    return std::nullopt;
  }
  if (!same_ranks(measured, prepared_.forecast->predicted)) {
    fail(fmt::format("measure: the reply holds {} ranks, the plan {}", measured.ranks.size(), record_.parameters.np),
         protocol::FailureKind::failure);
    return std::nullopt;
  }
  auto times = samples.front();
  launches_.push_back(std::move(measured));
  record_.measured = combine(launches_, record_.parameters.batch, step_flops(*prepared_.subject));
  record_.error = results::compare(*record_.predicted, *record_.measured);
  judge_losses(record_.equivalence, launches_.back().losses, options_.warmup + options_.steps);
  if (record_.equivalence.loss_agrees == false) {
    fail("the losses of the measured steps are not the reference's", protocol::FailureKind::failure);
    return std::nullopt;
  }
  return times;
}

}  // namespace parabench::suite
