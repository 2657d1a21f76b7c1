#include "suite/machine/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analytic/calibration/combine.h"
#include "analytic/calibration/disturbance.h"
#include "analytic/calibration/measurements.h"
#include "analytic/calibration/scope.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "suite/machine/staleness.h"

namespace parabench::suite {
namespace {

/// Whether measurements of a layer that tell this are of the sizes of the plan's pieces, or of smaller and larger ones.
bool covers_pieces(std::vector<analytic::LayerTiming> timings, analytic::Measured what, const plan::Plan& plan) {
  std::erase_if(timings, [&](const analytic::LayerTiming& t) { return !tells(t, what); });
  if (timings.empty()) return false;
  for (const auto& replica : plan.pieces) {
    const auto [least, most] = std::ranges::minmax(replica);
    if (least < timings.front().samples || most > timings.back().samples) return false;
  }
  return true;
}

/// Whether the layers were measured at the sizes of the plan's pieces, or at smaller and larger ones, with their
/// backwards split where the plan's are, and what passes hold that add to gradients where the plan's do; the plan's
/// collectives in groups of their own shape, its messages among as many ranks; and how fast samples are read from
/// files.
bool covers(const analytic::Calibration& known, const Subject& subject, const plan::Plan& plan) {
  const auto inputs = models::boundaries(subject.model);
  const analytic::CalibrationScope scope = analytic::calibration_scope(plan);
  for (const GroupShape& shape : scope.groups)
    if (!analytic::find_reduction_curve(known, subject.spec, shape)) return false;
  for (const auto& [collective, shape] : scope.shares)
    if (!analytic::find_share_curve(known, subject.spec, collective, shape)) return false;
  for (const analytic::MessagePair& pair : scope.messages)
    if (!known.point_to_point.contains(analytic::message_key(subject.spec, pair.between_hosts))) return false;
  const int busy = ranks_on_fullest_host(plan.placement, subject.spec.np);
  if (datasets::is_from_files(subject.dataset.source) && analytic::load_rate(known, subject.spec, busy) == 0)
    return false;
  for (std::size_t i = 0; i < subject.model.layers.size(); ++i) {
    const auto has = [&](int busy_ranks, analytic::Measured what) {
      const auto found =
          known.layers.find(analytic::layer_key(subject.model.layers[i], inputs[i], i == 0, subject.spec, busy_ranks));
      return found != known.layers.end() && covers_pieces(found->second, what, plan);
    };
    if (!has(busy, scope.split_backwards ? analytic::Measured::halves : analytic::Measured::pass)) return false;
    // One rank alone tells the bytes of all.
    if (scope.adds_gradients &&
        !has(1, scope.split_backwards ? analytic::Measured::adding_weights : analytic::Measured::adding))
      return false;
  }
  return true;
}

/// Emulated devices take what was measured on others, and of other products nothing is predicted.
bool can_be_measured(const Prepared& one) {
  return one.runs() && !one.finished && !is_emulated(one.chosen.spec) && !plan::is_peer(one.chosen.spec);
}

/// The plan that a calibration launch of the case gets.
Forecast forecast_of(const Prepared& one, const analytic::MachineInfo& machine,
                     const std::optional<analytic::Calibration>& known, const Placements& placements) {
  return make_forecast(*one.subject,
                       {.machine = machine, .calibration = known ? &*known : nullptr, .placements = placements}, 0,
                       protocol::default_steps);
}

void add_launch(std::optional<analytic::Calibration>& known, const analytic::Calibration& launch) {
  if (!known) known.emplace();
  analytic::merge(*known, launch);
}

/// Adds a launch of the case to the file.
AddedLaunch added(const std::string& id, const analytic::Calibration& launch, CalibrationFile& file) {
  AddedLaunch result{.id = id, .layers = {}, .behind = {}, .left_out = {}};
  const bool had = file.content && !file.starts_over;
  result.layers = analytic::remeasured(had ? *file.content : analytic::Calibration{}, launch);
  result.left_out = add_to(file, launch);
  result.behind = analytic::launches_behind(*file.content, result.layers.known);
  return result;
}

/// With replicas=auto, of a case: each may change the plan, which then needs other groups.
constexpr int most_tries = 3;

/// What launches add to.
struct Measuring {
  Workplace& workplace;
  const Placements& placements;
  std::optional<analytic::Calibration>& known;
  CalibrationFile& file;
  MeasureOutcome outcome;

  /// One launch of `--phase calibrate`; whether it succeeded. Throws Interrupted.
  bool launch(const Prepared& one, const plan::Plan& plan);
  /// Launches of a case, whose place in the list is `number`: one, or where the plan that then comes of all that the
  /// file has, these launches and older ones, wants groups that nobody measured, more. Whether one was enough. Throws
  /// Interrupted.
  bool measure(const Prepared& one, int number, Forecast forecast);
};

bool Measuring::launch(const Prepared& one, const plan::Plan& plan) {
  LaunchRequest request;
  request.phase = protocol::Phase::calibrate;
  request.plan = &plan;
  request.timeout_s = patience_seconds(protocol::Phase::calibrate, *one.forecast, 0);
  LaunchResult result = run(workplace, request);
  if (result.interrupted) throw Interrupted{};
  if (!result.reply) {
    outcome.failures.push_back(fmt::format("{}: {}", one.chosen.id, result.reason));
    return false;
  }
  auto& measured = std::get<analytic::Calibration>(result.reply->answer);
  measured.machine = workplace.machine;  // a rank sees its own share of the cores only
  measured.software = software();
  add_launch(known, measured);
  outcome.added.push_back(added(one.chosen.id, measured, file));
  if (const std::string why = analytic::disturbance(*file.content, measured); !why.empty())
    workplace.progress.note(fmt::format(
        "{}: this calibration launch was disturbed, {}; calibrate again on a quiet machine", one.chosen.id, why));
  return true;
}

bool Measuring::measure(const Prepared& one, int number, Forecast forecast) {
  for (int launches = 1;; ++launches) {
    workplace.progress.phase(number, one.chosen.id, "calibrate");
    if (!launch(one, forecast.plan)) return false;
    if (launches == most_tries || !plan::plans_widths(one.chosen.spec)) return launches == 1;
    Forecast next = forecast_of(one, workplace.machine, file.content, placements);
    if (plan::stage_widths(next.plan) == plan::stage_widths(forecast.plan) ||
        is_measured(*one.subject, next, &*file.content))
      return launches == 1;
    workplace.progress.note(
        fmt::format("{}: what was measured changes its plan; measuring what the new one needs besides", one.chosen.id));
    forecast = std::move(next);
  }
}

}  // namespace

bool is_measured(const Subject& subject, const Forecast& forecast, const analytic::Calibration* known) {
  return forecast.cost_source == "calibrated" && covers(*known, subject, forecast.plan);
}

std::vector<std::size_t> measured_first(const std::vector<Prepared>& cases, const Knowledge& knowledge) {
  std::vector<std::size_t> chosen;
  std::optional<analytic::Calibration> known;
  if (knowledge.calibration) known = *knowledge.calibration;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!can_be_measured(cases[i])) continue;
    const Subject& subject = *cases[i].subject;
    const Forecast forecast = forecast_of(cases[i], knowledge.machine, known, knowledge.placements);
    if (is_measured(subject, forecast, known ? &*known : nullptr)) continue;
    chosen.push_back(i);
    const analytic::Calibration promised =
        analytic::promised_calibration(forecast.plan, subject.model, knowledge.machine);
    add_launch(known, promised);
  }
  return chosen;
}

MeasureOutcome measure(Workplace& workplace, const std::vector<Prepared>& cases, const std::vector<std::size_t>& chosen,
                       const Placements& placements, std::optional<analytic::Calibration>& known,
                       CalibrationFile& file) {
  Measuring measuring{workplace, placements, known, file, {}};
  double expected = 0;
  for (const std::size_t i : chosen) expected += expected_seconds(protocol::Phase::calibrate, *cases[i].forecast, 0);
  workplace.progress.begin(static_cast<int>(cases.size()), expected);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Prepared& one = cases[i];
    const bool is_chosen = std::ranges::find(chosen, i) != chosen.end();
    const bool may_lack = !measuring.outcome.failures.empty() || plan::plans_widths(one.chosen.spec);
    if (!is_chosen && (!may_lack || !can_be_measured(one))) continue;
    Forecast forecast = forecast_of(one, workplace.machine, known, placements);
    if (!is_chosen && is_measured(*one.subject, forecast, known ? &*known : nullptr)) continue;
    workplace.progress.begin_case(expected_seconds(protocol::Phase::calibrate, *one.forecast, 0));
    workplace.progress.end_case(measuring.measure(one, static_cast<int>(i) + 1, std::move(forecast)));
  }
  return std::move(measuring.outcome);
}

}  // namespace parabench::suite
