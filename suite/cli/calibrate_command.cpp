#include "suite/cli/calibrate_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <ostream>
#include <utility>

#include "analytic/calibration/combine.h"
#include "base/case_text.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "base/writable.h"
#include "suite/cases/catalogue.h"
#include "suite/cli/options.h"
#include "suite/machine/calibrate.h"

namespace parabench::suite {
namespace {

/// "launch 3 of these layers (84 layer times), 1.3 % longer than their medians before; spread between launches 2.1 %".
std::string text_of(const AddedLaunch& added) {
  const auto& [known, unknown, relative] = added.layers;
  std::string text;
  if (added.behind) {
    const auto& spread = added.behind->spread;
    text = fmt::format("launch {} of these layers ({}), {} {} than their medians before; spread between launches {}",
                       added.behind->launches, counted(known.size(), "layer time"), human_share(std::abs(relative)),
                       relative < 0 ? "shorter" : "longer", spread ? human_share(*spread) : "unknown");
  }
  if (!unknown.empty())
    text +=
        fmt::format("{}first launch of {} ({}): {}", text.empty() ? "" : "; ",
                    known.empty() ? "these layers" : "others", counted(unknown.size(), "layer time"), unknown_spread);
  for (const std::string& date : added.left_out)
    text += fmt::format("; the launch of {} is left out, newer ones have measured all that it did {} times", date,
                        analytic::most_launches);
  return text;
}

void wait_between_rounds(double pause_s, Workplace& workplace) {
  using Clock = Signals::Clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause_s));
  while (Clock::now() < end)
    if (workplace.signals.wait(end) == Signals::Event::interrupt) throw Interrupted{};
}

}  // namespace

void add_options(CLI::App& app, CalibrateOptions& options) {
  add_selection(app, options.selection, false);
  app.add_option("--device", options.device, "Only cases on this device: cpu, cuda")->type_name("D");
  app.add_option("--out", options.out, "File to add to instead of this machine's own")->type_name("FILE");
  add_integer(app, "--launches", options.rounds, 1,
              "Rounds: all of it is measured so many times, in launches of its own");
  app.add_option_function<std::string>(
         "--pause", [&options](const std::string& text) { options.pause_s = parse_seconds("--pause", text).value; },
         "Pause between two rounds (90, 5min): only launches that lie apart show how the machine drifts")
      ->type_name("S")
      ->default_str("0");
  app.add_flag("--fresh", options.fresh, "Start the file over: what it holds goes with the first new launch");
  add_launches(app, options.launches, &RunOption::of_calibrate);
}

ExitCode calibrate_machine(const CalibrateOptions& options, const Start& start) {
  auto chosen = select(options.selection, options.selection.empty() ? quick_cases() : catalogue());
  if (!options.device.empty()) {
    const DeviceKind device = parse_enum<DeviceKind>("--device", options.device);
    if (device == DeviceKind::emulated) {
      throw usage_error("--device", options.device, "a device that computes: emulated ones take the processor's costs",
                        "try --device cpu");
    }
    std::erase_if(chosen, [&](const SelectedCase& one) { return one.spec.device != device; });
    if (chosen.empty()) {
      throw Error(ExitCode::nothing_matched, "--device", options.device, "to match at least one of the cases",
                  fmt::format("name a case with device:{}", options.device));
    }
  }
  for (const auto& one : chosen) {
    if (!is_emulated(one.spec)) continue;
    throw usage_error("case", one.id, "a device that computes: emulated ones take the processor's costs",
                      "calibrate the case with device:cpu");
  }
  require_writable_file("--out", options.out);
  Workplace workplace(options.launches, start.progress);
  const protocol::Offer capabilities = find_capabilities(workplace);
  check_launches(chosen, workplace.options.launcher, capabilities);
  CalibrationFile file = open_calibration(options.out, workplace.machine, false);
  const PrepareOptions prepare_options{.capabilities = capabilities,
                                       .one_host = stays_on_this_host(workplace.options.launcher),
                                       .has_data = !options.launches.data.empty(),
                                       .force = true,
                                       .warmup = protocol::default_warmup,
                                       .steps = protocol::default_steps};
  const Placements placements = find_placements(unknown_placements(chosen, workplace.options.launcher), workplace);
  const Knowledge unmeasured{.machine = workplace.machine, .placements = placements};
  const auto cases = prepare(chosen, prepare_options, unmeasured);
  ExitCode code = ExitCode::ok;
  for (const auto& one : cases) {
    if (one.runs()) continue;
    start.progress.note(fmt::format("{} skipped: {}", one.chosen.id, one.skip));
    if (one.chosen.named) code = ExitCode::environment;
  }
  file.starts_over = options.fresh;
  std::vector<AddedLaunch> added;
  for (int round = 0; round < options.rounds; ++round) {
    if (round > 0) wait_between_rounds(options.pause_s, workplace);
    // Whatever the file holds: an empty knowledge needs everything.
    std::optional<analytic::Calibration> known;
    MeasureOutcome outcome = measure(workplace, cases, measured_first(cases, unmeasured), placements, known, file);
    for (const auto& failure : outcome.failures) {
      start.progress.note("failed: " + failure);
      code = ExitCode::case_failed;
    }
    std::ranges::move(outcome.added, std::back_inserter(added));
  }
  if (!added.empty()) {
    fmt::print(start.out, "{}: {} on {} ({}), {}, the last of {}\n", file.path.string(),
               counted(file.content->layers.size(), "layer"), file.content->machine.host, file.content->machine.cpu,
               counted(analytic::launches_of(*file.content).size(), "launch", "launches"), file.content->date);
    for (const AddedLaunch& launch : added) fmt::print(start.out, "  {}: {}\n", launch.id, text_of(launch));
  }
  return code;
}

}  // namespace parabench::suite
