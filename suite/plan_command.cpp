#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/case_id.h"
#include "parallelism/plan/print.h"
#include "suite/commands.h"
#include "suite/forecast.h"
#include "suite/knowledge.h"

namespace parabench {

ExitCode print_plan(const PlanOptions& options, Progress& progress, std::ostream& out) {
  const MachineInfo machine = known_machine();
  const CalibrationFile file = open_calibration(options.calibration, machine, true);
  const Knowledge knowledge{machine, file.content ? &*file.content : nullptr};
  const Subject subject = make_subject(parse_case(options.id));
  const Forecast forecast = make_forecast(subject, knowledge, options.warmup, options.steps);
  if (options.costs == PlanCosts::calibrated) {
    if (!forecast.gap.empty()) {
      progress.note(forecast.gap);
    } else if (forecast.cost_source != "calibrated") {
      progress.note("no calibration of this machine for this case: times are from the data sheet");
    }
  }
  const auto costs =
      options.costs == PlanCosts::unit ? unit_costs() : make_costs(subject, knowledge, forecast.cost_source);
  const Timeline timeline = simulate(forecast.plan, *costs);
  switch (options.format) {
    case PlanFormat::grid:
      out << to_grid(forecast.plan, timeline);
      fmt::print(out, "bubble {:.1f} % ({} costs)\n", 100 * bubble_fraction(forecast.plan, timeline), costs->source());
      break;
    case PlanFormat::text: out << to_text(forecast.plan); break;
    case PlanFormat::csv: out << to_csv(forecast.plan); break;
    case PlanFormat::json: out << to_json(forecast.plan, timeline).dump(1) << '\n'; break;
    case PlanFormat::trace: out << to_trace(forecast.plan, timeline).dump() << '\n'; break;
  }
  return ExitCode::ok;
}

}  // namespace parabench
