#include "suite/cli/plan_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "analytic/simulate/simulate.h"
#include "analytic/simulate/steady_state.h"
#include "base/units_text.h"
#include "parallelism/plan/formats/print_csv.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/print_svg.h"
#include "parallelism/plan/formats/print_text.h"
#include "parallelism/plan/formats/print_trace.h"
#include "suite/cli/options.h"
#include "suite/machine/knowledge.h"
#include "suite/machine/staleness.h"
#include "suite/run/emulate_option.h"
#include "suite/run/forecast.h"
#include "suite/run/hosts_option.h"

namespace parabench::suite {
namespace {

/// Asynchronous plans have no step of their own: the bubble is the window's.
std::string bubble_line(const plan::Plan& plan, const plan::Timeline& timeline, const analytic::TimeModel& times) {
  // A rounding error below zero would print as -0.0.
  const auto percent = [](double fraction) { return human_share(std::max(0.0, fraction)); };
  const std::string isolated = percent(plan::bubble_fraction(plan, timeline));
  if (plan.asynchronous) return fmt::format("bubble {} ({} costs)\n", isolated, times.source());
  return fmt::format("bubble {} isolated, {} steady ({} costs)\n", isolated,
                     percent(analytic::steady_state(plan, times).bubble_fraction), times.source());
}

nlohmann::json plan_file(const plan::Plan& plan, const plan::Timeline& timeline, const analytic::TimeModel& times) {
  nlohmann::json json = plan::to_json(plan, timeline);
  if (plan.asynchronous) return json;
  const analytic::SteadyState steady = analytic::steady_state(plan, times);
  json["steady_step"] = steady.step_s;
  json["steady_bubble_fraction"] = steady.bubble_fraction;
  return json;
}

}  // namespace

void add_options(CLI::App& app, PlanOptions& options) {
  app.add_option("CASE", options.id, "Case id")->required()->type_name("");
  add_schedule(app, options.schedule);
  add_choice(app, "--format", options.format,
             "How to print it; svg is a drawing, csv torch.distributed.pipelining's format, json the plan file of "
             "parabench-rank");
  add_choice(app, "--cost", options.costs, "Durations of the operations");
  add_integer(app, "--steps", options.steps, 1, "Timed steps of an asynchronous window");
  add_integer(app, "--warmup", options.warmup, 0, "Steps before the timed ones of an asynchronous window");
  add_calibration(app, options.calibration);
  add_emulation(app, options.emulated);
  add_hosts(app, options.hosts, false);
}

ExitCode print_plan(const PlanOptions& options, const Start& start) {
  const auto [machine, file] = target_of("", options.calibration, start.progress);
  if (options.costs == PlanCosts::calibrated) note_doubts(file, start.progress);
  Knowledge knowledge = knowledge_of(machine, file, options.emulated);
  set_hosts(knowledge, options.hosts);
  const Subject subject =
      make_subject(select({{options.id}, std::nullopt, std::nullopt, options.schedule}, {}).front());
  check_emulate_option(subject.spec, options.emulated);
  check_hosts(subject.spec, options.hosts, machine);
  const Forecast forecast = make_forecast(subject, knowledge, options.warmup, options.steps);
  if (options.costs == PlanCosts::calibrated) {
    note_age({calibrated_on(forecast.predicted)}, file, start.progress);
    for (const std::string& what : {forecast.gap, forecast.network})
      if (!what.empty()) start.progress.note(what);
    if (forecast.cost_source == "data-sheet" && forecast.gap.empty())
      start.progress.note("no calibration of this machine for this case: times are from the data sheet");
  }
  const analytic::Costs costs =
      options.costs == PlanCosts::unit ? analytic::unit_costs() : make_costs(subject, knowledge, forecast.cost_source);
  const plan::Timeline timeline = analytic::simulate(forecast.plan, *costs.time);
  switch (options.format) {
    case PlanFormat::grid:
      start.out << plan::to_grid(forecast.plan, timeline);
      start.out << bubble_line(forecast.plan, timeline, *costs.time);
      break;
    case PlanFormat::text: start.out << plan::to_text(forecast.plan); break;
    case PlanFormat::csv: start.out << plan::to_csv(forecast.plan); break;
    case PlanFormat::svg: start.out << plan::to_svg(forecast.plan, timeline); break;
    case PlanFormat::json: {
      nlohmann::json document = plan_file(forecast.plan, timeline, *costs.time);
      if (is_emulated(subject.spec)) plan::add_durations(document, forecast.plan, forecast.durations);
      start.out << document.dump(1) << '\n';
      break;
    }
    case PlanFormat::trace: start.out << plan::to_trace(forecast.plan, timeline).dump() << '\n'; break;
  }
  return ExitCode::ok;
}

}  // namespace parabench::suite
