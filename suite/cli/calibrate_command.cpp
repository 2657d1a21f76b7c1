#include "suite/cli/calibrate_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "base/case_text.h"
#include "base/counted.h"
#include "base/writable.h"
#include "suite/cases/catalogue.h"
#include "suite/cli/options.h"
#include "suite/machine/calibrate.h"

namespace parabench::suite {

void add_options(CLI::App& app, CalibrateOptions& options) {
  add_selection(app, options.selection, false);
  app.add_option("--device", options.device, "Only cases on this device: cpu, cuda")->type_name("D");
  app.add_option("--out", options.out, "File to add to instead of this machine's own")->type_name("FILE");
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
  // Measured anew, whatever the file holds: an empty knowledge needs everything.
  std::optional<analytic::Calibration> fresh;
  for (const auto& failure : measure(workplace, cases, measured_first(cases, unmeasured), placements, fresh, file)) {
    start.progress.note("failed: " + failure);
    code = ExitCode::case_failed;
  }
  if (fresh) {
    fmt::print(start.out, "{}: {} on {} ({}), measured {}\n", file.path.string(),
               counted(file.content->layers.size(), "layer"), file.content->machine.host, file.content->machine.cpu,
               file.content->date);
  }
  return code;
}

}  // namespace parabench::suite
