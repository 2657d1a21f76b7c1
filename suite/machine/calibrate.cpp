#include "suite/machine/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

namespace parabench {
namespace {

/// Whether the layers were measured at the sizes of the plan's pieces, or at smaller and larger ones, with their
/// backwards split where the plan's are.
bool covers(const Calibration& known, const Subject& subject, const Plan& plan) {
  const auto inputs = boundaries(subject.model);
  const bool split = uses(plan, OpKind::backward_input);
  for (std::size_t i = 0; i < subject.model.layers.size(); ++i) {
    const auto found =
        known.layers.find(layer_key(subject.model.layers[i], inputs[i], i == 0, subject.spec, subject.spec.np));
    if (found == known.layers.end()) return false;
    std::vector<LayerTiming> timings = found->second;
    if (split) std::erase_if(timings, [](const LayerTiming& t) { return !t.split; });
    if (timings.empty()) return false;
    for (const auto& replica : plan.pieces) {
      const auto [least, most] = std::ranges::minmax(replica);
      if (least < timings.front().samples || most > timings.back().samples) return false;
    }
  }
  return true;
}

}  // namespace

bool is_measured(const Subject& subject, const Forecast& forecast, const Calibration* known) {
  return forecast.cost_source == "calibrated" && covers(*known, subject, forecast.plan);
}

std::vector<std::string> measure_missing(Workplace& workplace, const std::vector<Prepared>& cases,
                                         std::optional<Calibration>& known, CalibrationFile& file) {
  // Emulated devices take what was measured on others.
  const auto needed = [](const Prepared& one) { return one.runs() && !is_emulated(one.chosen.spec); };
  std::vector<std::string> failures;
  double expected = 0;
  for (const auto& one : cases) {
    if (needed(one)) expected += expected_seconds(Phase::calibrate, *one.forecast, 0);
  }
  const int count = static_cast<int>(cases.size());
  workplace.progress.begin(count, expected);
  for (int i = 0; i < count; ++i) {
    const Prepared& one = cases[i];
    if (!needed(one)) continue;
    const Calibration* so_far = known ? &*known : nullptr;
    const Forecast forecast = make_forecast(*one.subject, {workplace.machine, so_far}, 0, default_steps);
    if (!is_measured(*one.subject, forecast, so_far)) {
      workplace.progress.phase(i + 1, one.chosen.id, "calibrate");
      LaunchRequest request;
      request.phase = Phase::calibrate;
      request.plan = &forecast.plan;
      request.timeout_s = patience_seconds(Phase::calibrate, *one.forecast, 0);
      LaunchResult result = run(workplace, request);
      if (result.interrupted) throw Interrupted{};
      if (result.reply) {
        auto& measured = std::get<Calibration>(result.reply->answer);
        measured.machine = workplace.machine;  // a rank sees its own share of the cores only
        known ? merge(*known, measured) : void(known = measured);
        add_to(file, measured);
      } else {
        failures.push_back(fmt::format("{}: {}", one.chosen.id, result.reason));
      }
    }
    workplace.progress.done(expected_seconds(Phase::calibrate, *one.forecast, 0));
  }
  return failures;
}

}  // namespace parabench
