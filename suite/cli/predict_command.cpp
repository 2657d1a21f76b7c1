#include "suite/cli/predict_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analytic/hardware/hardware.h"
#include "base/called.h"
#include "base/case_id.h"
#include "base/units_text.h"
#include "suite/cli/options.h"
#include "suite/cli/predictions.h"
#include "suite/cli/unexpected_device.h"
#include "suite/launch/launcher.h"
#include "suite/machine/knowledge.h"
#include "suite/machine/staleness.h"
#include "suite/protocol/command.h"
#include "suite/run/emulate_option.h"
#include "suite/run/hosts_option.h"
#include "suite/run/outlook.h"
#include "suite/run/what_if_option.h"

namespace parabench::suite {
namespace {

std::vector<SelectedCase> chosen_cases(const PredictOptions& options, const std::vector<SweptAxis>& axes) {
  if (axes.empty()) return select({options.cases, std::nullopt, std::nullopt, options.schedule}, {});
  std::vector<std::string> ids;
  for (const std::string& id : options.cases)
    for (const Case& spec : swept_cases(parse_case(id), axes)) ids.push_back(to_id(spec));
  if (ids.size() > most_swept)
    throw usage_error("--sweep", fmt::format("{} cases", ids.size()), fmt::format("at most {}", most_swept),
                      "sweep fewer values, or fewer cases");
  return select({ids, std::nullopt, std::nullopt, options.schedule}, {});
}

Prediction predict_one(const SelectedCase& chosen, const Knowledge& knowledge, const PredictOptions& options,
                       const PredictionSetting& setting) {
  check_emulate_option(chosen.spec, options.emulated);
  check_hosts(chosen.spec, options.hosts, knowledge.machine);
  if (setting.what_if) check_what_if(chosen.spec, *setting.what_if, knowledge.machine);
  return {chosen, make_outlook(chosen, knowledge, setting.what_if), ""};
}

/// Writes predictions as they come.
class Output {
 public:
  Output(PredictFormat format, const PredictionSetting& setting, std::ostream& out)
      : format_(format), setting_(setting), out_(out) {}
  void add(const Prediction& prediction) {
    // What is refused at once prints nothing.
    if (first_ && format_ == PredictFormat::csv) out_ << prediction_csv_header(setting_);
    if (first_ && format_ == PredictFormat::json) out_ << '[';
    switch (format_) {
      case PredictFormat::text: print_prediction(prediction, setting_, out_); break;
      case PredictFormat::csv: out_ << prediction_csv(prediction, setting_); break;
      case PredictFormat::json: out_ << (first_ ? "\n" : ",\n") << prediction_json(prediction, setting_).dump(1); break;
    }
    first_ = false;
  }
  void finish() {
    if (format_ == PredictFormat::json) out_ << "\n]\n";
  }

 private:
  PredictFormat format_;
  const PredictionSetting& setting_;
  std::ostream& out_;
  bool first_ = true;
};

std::string shipped_names() {
  std::vector<std::string_view> names;
  for (const analytic::Hardware& hardware : analytic::shipped_hardware()) names.push_back(hardware.machine.sheet->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// By one kind of GPU, the largest; "" where a rank fits, or where no GPU is known.
std::string too_large_for_gpus(const analytic::MachineInfo& machine, const Case& spec, const Predicted& predicted) {
  const analytic::GpuInfo* gpu = analytic::largest_gpu(machine);
  const std::int64_t needed = largest_peak_bytes(predicted);
  if (spec.device != DeviceKind::cuda || !gpu || needed <= gpu->memory_bytes) return "";
  return fmt::format("a rank is predicted to need {} of GPU memory, {} has {}",
                     human_bytes(static_cast<double>(needed)), gpu->name,
                     human_bytes(static_cast<double>(gpu->memory_bytes)));
}

/// Of a sweep's many cases the first of which something is true.
struct Noted {
  std::string first;
  int cases = 0;
};

}  // namespace

void add_options(CLI::App& app, PredictOptions& options) {
  app.add_option("CASE", options.cases, "Case ids")->required()->type_name("");
  app.add_option("--what-if", options.what_if, what_if_help())
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME=CHANGE,...");
  add_hardware(app, options.hardware,
               fmt::format("Predict for the machine of a data sheet: a file in JSON, or one of {}", shipped_names()));
  app.add_option(
         "--sweep", options.sweep,
         fmt::format("Every combination of these values of keys, model, dataset or strategy, up to {}, each a "
                     "row, impossible ones with their reason; np=2..16 is 2, 4, 8, 16, and np=2..6+2 is 2, 4, 6",
                     most_swept))
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("KEY=VALUES,...");
  app.add_option_function<std::string>(
         "--format",
         [&options](const std::string& text) { options.format = parse_enum<PredictFormat>("--format", text); },
         "Text, a table in CSV (the default of --sweep), or JSON")
      ->type_name(fmt::format("{}", fmt::join(enum_names<PredictFormat>, "|")))
      ->default_str("text");
  app.add_flag_callback(
      "--json",
      [&options] {
        if (options.format && *options.format != PredictFormat::json)
          throw usage_error("--json", "--format " + std::string(to_text(*options.format)), "one format");
        options.format = PredictFormat::json;
      },
      "The same as --format json");
  add_schedule(app, options.schedule);
  add_calibration(app, options.calibration);
  add_emulation(app, options.emulated);
  add_hosts(app, options.hosts, true);
}

void check(const PredictOptions& options) { check_target(options.hardware, options.calibration); }

ExitCode predict_cases(const PredictOptions& options, const Start& start) {
  PredictionSetting setting;
  setting.hosts = options.hosts;
  if (!options.what_if.empty()) setting.what_if = parse_what_if(fmt::format("{}", fmt::join(options.what_if, ",")));
  if (!options.sweep.empty()) setting.axes = parse_sweep(fmt::format("{}", fmt::join(options.sweep, ",")));
  const bool sweeps = !setting.axes.empty();
  const std::vector<SelectedCase> cases = chosen_cases(options, setting.axes);

  const auto [machine, file] = target_of(options.hardware, options.calibration, start.progress);
  if (!options.hardware.empty()) setting.hardware = machine.sheet->name;
  note_doubts(file, start.progress);
  Knowledge knowledge = knowledge_of(machine, file, options.emulated);
  set_hosts(knowledge, options.hosts);

  Output output(options.format.value_or(sweeps ? PredictFormat::csv : PredictFormat::text), setting, start.out);
  std::vector<std::string> guessed, dates;
  std::map<std::string, Noted> of_sweep;
  for (const SelectedCase& chosen : cases) {
    Prediction prediction{.chosen = chosen, .outlook = {}, .reason = ""};
    try {
      prediction = predict_one(chosen, knowledge, options, setting);
      // Nothing measures layers that ranks share.
      const bool is_guessed = prediction.outlook->forecast.cost_source != "calibrated" && chosen.spec.tp == 1;
      if (is_guessed) guessed.push_back(chosen.id);
      dates.push_back(calibrated_on(prediction.outlook->forecast.predicted));
      const Forecast& forecast = prediction.outlook->forecast;
      const auto note_it = [&](const std::string& kind, const std::string& what) {
        if (what.empty()) return;
        const std::string note = fmt::format("{}: {}", chosen.id, what);
        if (!sweeps) return start.progress.note(note);
        ++of_sweep.try_emplace(kind, Noted{note}).first->second.cases;
      };
      // What cases lack is told by kind, before the colon.
      note_it(forecast.gap.substr(0, forecast.gap.find(':')), forecast.gap);
      note_it("network", forecast.network);
      note_it("device", unexpected_device(machine, chosen.spec));
      note_it("memory", too_large_for_gpus(machine, chosen.spec, forecast.predicted));
    } catch (const Error& error) {
      if (!sweeps) throw;
      prediction.reason = error.what();
    }
    output.add(prediction);
  }
  output.finish();
  for (const auto& [kind, noted] : of_sweep)
    start.progress.note(noted.first +
                        (noted.cases > 1 ? fmt::format(" (the first of {} such cases)", noted.cases) : ""));
  note_age(dates, file, start.progress);
  if (!guessed.empty() && setting.hardware.empty())
    start.progress.note(
        fmt::format("costs are from the data sheet where marked; {}",
                    to_type(fmt::format("calibrate {} measures the machine that it runs on",
                                        guessed.size() == 1 ? shell_line({guessed.front()}) : "CASE"))));
  return ExitCode::ok;
}

}  // namespace parabench::suite
