#include "suite/calibrate.h"

#include <fmt/format.h>

namespace parabench {

std::vector<std::string> measure_missing(Workplace& workplace, const std::vector<Prepared>& cases,
                                         std::optional<Calibration>& known, CalibrationFile& file) {
  std::vector<std::string> failures;
  double expected = 0;
  for (const auto& one : cases) {
    if (one.runs()) expected += expected_seconds(Phase::calibrate, *one.forecast, 0);
  }
  const int count = static_cast<int>(cases.size());
  workplace.progress.begin(count, expected);
  for (int i = 0; i < count; ++i) {
    const Prepared& one = cases[i];
    if (!one.runs()) continue;
    const Forecast forecast = make_forecast(*one.subject, {workplace.machine, known ? &*known : nullptr}, 0, default_steps);
    if (forecast.cost_source != "calibrated") {
      workplace.progress.phase(i + 1, one.chosen.id, "calibrate");
      LaunchRequest request;
      request.phase = Phase::calibrate;
      request.plan = &forecast.plan;
      request.timeout_s = patience_seconds(Phase::calibrate, *one.forecast, 0);
      LaunchResult result = run(workplace, request);
      if (result.interrupted) throw Interrupted{};
      if (result.reply) {
        const Calibration& measured = *result.reply->calibration;
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
