#include "suite/run/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/reference.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "results/summary.h"
#include "suite/run/case_file.h"
#include "suite/run/combine.h"
#include "suite/run/emulate_option.h"
#include "suite/run/pair.h"
#include "suite/run/stopping.h"
#include "suite/run/trace.h"

namespace parabench::suite {
namespace {

/// Another product may have all of them in one process.
bool same_ranks(const results::Measured& measured, const Predicted& predicted, bool one_process) {
  if (one_process) return measured.ranks.size() == 1;
  return std::ranges::equal(measured.ranks, predicted.ranks, {}, &results::RankMeasured::rank, &RankPredicted::rank);
}

/// What the first losses of another product say: of one alone, nothing about its updates.
void judge_peer(results::Equivalence& equivalence) {
  if (*equivalence.loss_agrees == false) {
    equivalence.status = results::EquivalenceStatus::fail;
  } else if (equivalence.steps < 2) {
    equivalence.reason = "its first loss is ours, and rounding decides those after it; try precision:fp64";
  } else {
    equivalence.status = results::EquivalenceStatus::pass;
    equivalence.reason = "";
  }
}

}  // namespace

Attempt::Attempt(const Prepared& prepared, const RunOptions& options, const Knowledge& knowledge, int index,
                 Workplace& workplace)
    : prepared_(prepared),
      options_(options),
      knowledge_(knowledge),
      is_peer_(plan::is_peer(prepared.chosen.spec)),
      index_(index),
      workplace_(workplace),
      work_(workplace.scratch.path() / fmt::format("work-{}", index)),
      planned_(launches_of(prepared.chosen.spec, options)),
      result_{.record = start_record(prepared, options)} {
  result_.record.equivalence.reason = is_emulated(prepared.chosen.spec)
                                          ? "emulated devices wait for modelled times; nothing is trained"
                                      : options.verify == VerifyMode::off ? "switched off by --verify off"
                                                                          : "the case stopped before";
  if (const plan::Window whole = window();
      whole.steps() > options_.warmup + options_.steps && !prepared_.chosen.spec.graph)
    workplace_.progress.note(fmt::format("{}: {} of warm-up and {} measured, whole rounds of {}", result_.record.id,
                                         counted(whole.discarded, "step"), whole.measured, whole.round));
}

void Attempt::fail(std::string reason, protocol::FailureKind kind) {
  result_.record.status = results::Status::failed;
  result_.record.reason = std::move(reason);
  result_.failure = kind;
}

std::optional<protocol::Reply> Attempt::run_phase(protocol::Phase phase, LaunchRequest request,
                                                  const std::string& what) {
  const Forecast& forecast = *prepared_.forecast;
  const int steps = window().steps();
  request.phase = phase;
  request.plan = &forecast.plan;
  if (is_emulated(prepared_.chosen.spec)) request.durations = &forecast.durations;
  const LaunchSteps asked = steps_of(phase, options_);
  request.steps = asked.steps;
  request.warmup = asked.warmup;
  request.timeout_s = patience_seconds(phase, forecast, steps);
  request.longest_operation_s =
      is_peer_ ? forecast.predicted.step_time_s : longest_operation_s(*prepared_.subject, knowledge_, forecast);
  request.finishing = [&] {
    workplace_.progress.note(
        fmt::format("finishing this {}; Ctrl-C again stops at once", options_.interleave ? "launch" : "case"));
  };
  workplace_.progress.phase(index_, result_.record.id, what);
  LaunchResult launched;
  try {
    launched = suite::run(workplace_, request);
  } catch (const std::exception& error) {
    // The launch's own folder, say, on a full disk: this case fails, others may not.
    launched.reason = error.what();
    launched.kind = protocol::FailureKind::environment;
  }
  result_.record.launch = launched.command;
  result_.record.last_operations = launched.last_operations;
  result_.interrupted = launched.interrupted;
  if (!launched.reply) {
    fail(launched.interrupted ? fmt::format("interrupted during {}; measured launches: {}", what, launches_.size())
                              : fmt::format("{}: {}", what, launched.reason),
         launched.kind);
  } else if (const std::string& why = launched.reply->private_arenas_because; !why.empty()) {
    workplace_.progress.note("ranks exchange by copies, not in memory that they share: " + why);
  }
  if (launched.reply && !request.trace_file.empty()) trace_prediction(request.trace_file, launched.lost_trace);
  return std::move(launched.reply);
}

void Attempt::verify() {
  const auto reply = run_phase(protocol::Phase::verify, {}, "verify");
  if (!reply) return;
  results::Equivalence& equivalence = result_.record.equivalence;
  equivalence = std::get<results::Equivalence>(reply->answer);
  if (equivalence.status == results::EquivalenceStatus::fail)
    fail(fmt::format("not equivalent to {} training", equivalence.reference), protocol::FailureKind::failure);
}

/// What the product gets, and the losses that it has to reach.
void Attempt::hand_over() {
  const auto reply = run_phase(protocol::Phase::hand_over, {.keep = work_}, "hand over");
  if (!reply || options_.verify == VerifyMode::off) return;
  results::Equivalence& equivalence = result_.record.equivalence;
  equivalence.reference_losses = std::get<protocol::HandOver>(reply->answer).losses;
  equivalence.steps = static_cast<int>(equivalence.reference_losses.size());
  equivalence.loss_tolerance = results::loss_tolerance(prepared_.chosen.spec.precision);
  equivalence.reference_batch = models::mixes_samples(prepared_.subject->model) ? results::ReferenceBatch::pieces
                                                                                : results::ReferenceBatch::whole;
}

void Attempt::measure(const PlannedLaunch& launch) {
  const int repetition = launch.repetition;
  LaunchRequest request;
  if (is_peer_) {
    request.peer = {std::string(plan::peer_product(prepared_.chosen.spec).name), peer_program(workplace_), work_};
  }
  if (launch.traced)
    request.trace_file = std::filesystem::path(options_.trace) / (file_name(result_.record.id) + ".json");
  const std::string what = options_.stopping.interval
                               ? fmt::format("measure {}", repetition)
                               : fmt::format("measure {}/{}", repetition, options_.stopping.repetitions);
  auto reply = run_phase(protocol::Phase::measure, request, launch.timed ? what : "compare losses");
  if (!reply) return;
  auto& measured = std::get<results::Measured>(reply->answer);
  launch.timed ? take(std::move(measured)) : judge(measured.losses);
}

/// The error of the model alone. The launch measures the model, not the case: what it cannot say is noted.
void Attempt::pair() {
  const auto reply = run_phase(protocol::Phase::paired, {}, "paired");
  if (!reply) return;
  results::Record& record = result_.record;
  try {
    const auto& answer = std::get<protocol::PairedRounds>(reply->answer);
    record.paired = pair_rounds(answer, *prepared_.subject, prepared_.forecast->plan);
    record.paired_canary = answer.canary;
    if (!options_.rounds.empty()) keep_rounds(answer, options_.rounds, record.id);
  } catch (const Error& error) {
    workplace_.progress.note(fmt::format("{}: {}: {}", record.id,
                                         record.paired.empty() ? "nothing is paired" : "the rounds are not kept",
                                         error.what()));
  }
  record.error = results::compare(*record.predicted, *record.measured, record.paired);
}

/// Where a trace cannot be written the case goes on. `trouble`: why there is none, "" for nothing.
void Attempt::trace_prediction(const std::filesystem::path& trace, const std::string& trouble) {
  if (!trouble.empty()) return workplace_.progress.note(fmt::format("the trace is not kept: {}", trouble));
  workplace_.traces.insert(trace.string());
  try {
    add_prediction(trace, *prepared_.subject, *prepared_.forecast, knowledge_, window().steps());
  } catch (const std::exception& error) {
    workplace_.progress.note(fmt::format("the trace has no prediction: {}", error.what()));
  }
}

void Attempt::take(results::Measured measured) {
  results::Record& record = result_.record;
  const auto& samples = measured.step_time_s.samples;
  const int expected = window().samples;
  if (samples.size() != 1 || static_cast<int>(samples.front().size()) != expected) {
    return fail(fmt::format("measure: the reply holds {}, not the {} that were asked for",
                            counted(samples.empty() ? 0 : samples.front().size(), "step"), expected),
                protocol::FailureKind::failure);
  }
  const bool one_process = is_peer_ && plan::peer_product(prepared_.chosen.spec).one_process;
  if (!same_ranks(measured, prepared_.forecast->predicted, one_process)) {
    return fail(fmt::format("measure: the reply holds {}, the plan {}", counted(measured.ranks.size(), "rank"),
                            record.parameters.np),
                protocol::FailureKind::failure);
  }
  launches_.push_back(std::move(measured));
  combine_launches();
  judge(launches_.back().losses);
}

results::Measured Attempt::combined(std::span<const results::Measured> launches) const {
  return combine(launches, plan::trained_samples(prepared_.forecast->plan),
                 models::training_flops(prepared_.subject->model).value);
}

void Attempt::combine_launches() {
  results::Record& record = result_.record;
  record.measured = combined(launches_);
  if (record.predicted) record.error = results::compare(*record.predicted, *record.measured);
}

void Attempt::judge(std::span<const double> losses) {
  results::Equivalence& equivalence = result_.record.equivalence;
  judge_losses(equivalence, losses, is_peer_ ? static_cast<int>(losses.size()) : window().steps());
  if (is_peer_ && equivalence.loss_agrees) judge_peer(equivalence);
  if (equivalence.loss_agrees == false) {
    fail(is_peer_ ? "its first losses are not those of our training"
                  : "the losses of the measured steps are not the reference's",
         protocol::FailureKind::failure);
  }
}

void Attempt::go_on_with(std::span<const results::Record> launches) {
  const auto leave = [&](std::string_view which) {
    workplace_.progress.note(fmt::format("{}: {} {} are measured anew", result_.record.id,
                                         counted(launches.size(), "launch", "launches"), which));
  };
  const std::string& plan = result_.record.plan->hash;
  if (std::ranges::any_of(launches, [&](const auto& one) { return !one.plan || one.plan->hash != plan; }))
    return leave("of another plan, which a newer calibration has changed,");
  const Placement& now = prepared_.forecast->plan.placement;
  if (std::ranges::any_of(launches, [&](const auto& one) { return results::placement_of(*one.measured) != now; }))
    return leave("on other hosts than now");
  for (const results::Record& one : launches) launches_.push_back(*one.measured);
  // What was forecast before they ran stays their prediction.
  result_.record.predicted = launches.front().predicted;
  result_.record.equivalence = launches.back().equivalence;
  result_.record.launch = launches.back().launch;
  int done = measured();
  std::erase_if(planned_, [&](const PlannedLaunch& one) {
    return one.phase == protocol::Phase::verify || (one.phase == protocol::Phase::measure && done-- > 0);
  });
  combine_launches();
  plan_further();
  if (is_done()) finish();
}

double Attempt::next_turn_seconds() const {
  if (is_peer_) return 0;
  double seconds = 0;
  for (std::size_t i = next_; i < planned_.size(); ++i) {
    const PlannedLaunch& one = planned_[i];
    if (one.repetition <= least_launches(options_.stopping))
      seconds += expected_seconds(one.phase, *prepared_.forecast, window().steps());
    if (one.phase == protocol::Phase::measure) break;
  }
  return seconds;
}

void Attempt::take_turn() {
  for (bool measures = false; !measures && !is_done(); ++next_) {
    const PlannedLaunch planned = planned_[next_];
    launch(planned);
    measures = planned.phase == protocol::Phase::measure;
  }
  if (is_sound()) plan_further();
  if (is_done()) finish();
}

void Attempt::cut_short() {
  result_.interrupted = true;
  fail(fmt::format("interrupted; measured launches: {}", measured()), protocol::FailureKind::failure);
  finish();
}

void Attempt::launch(const PlannedLaunch& planned) {
  if (planned.phase == protocol::Phase::verify) verify();
  if (planned.phase == protocol::Phase::hand_over) hand_over();
  if (planned.phase == protocol::Phase::measure) measure(planned);
  if (planned.phase == protocol::Phase::paired) pair();
}

/// Where no launch that measures is left, but the stopping rule wants another.
void Attempt::plan_further() {
  const auto next = planned_.begin() + static_cast<std::ptrdiff_t>(next_);
  const bool measures =
      std::any_of(next, planned_.end(), [](const auto& one) { return one.phase == protocol::Phase::measure; });
  if (measures || !result_.record.measured || stopped_by_) return;
  stopped_by_ = enough(result_.record.measured->step_time_s, options_.stopping);
  if (!stopped_by_) planned_.insert(next, PlannedLaunch{.repetition = measured() + 1});
}

void Attempt::finish() {
  if (!is_sound()) stopped_by_ = result_.interrupted ? results::StopReason::interruption : results::StopReason::failure;
  if (result_.record.measured) result_.record.measured->stopped_by = stopped_by_;
  std::error_code ignored;
  std::filesystem::remove_all(work_, ignored);
}

results::Record Attempt::launch_record() const {
  results::Record record = result_.record;
  record.measured = combined(std::span(launches_).last(1));
  record.error.reset();
  return record;
}

results::Record start_record(const Prepared& prepared, const RunOptions& options) {
  results::Record record;
  record.id = prepared.chosen.id;
  record.parameters = prepared.chosen.spec;
  record.reproduce = repeating_command(prepared.chosen, options);
  if (is_emulated(record.parameters)) record.emulate = emulate_text(options.emulated);
  record.equivalence.reference = to_text(plan::reference_of(record.parameters));
  if (prepared.forecast) {
    const plan::Plan& plan = prepared.forecast->plan;
    record.plan = results::PlanSummary{plan::hash(plan), plan::partition(plan), plan::stage_widths(plan)};
    if (!plan::is_peer(record.parameters)) record.predicted = prepared.forecast->predicted;
  }
  if (!prepared.runs()) {
    record.status = results::Status::skipped;
    record.reason = prepared.skip;
    record.equivalence.reason = "the case did not run";
  }
  return record;
}

}  // namespace parabench::suite
