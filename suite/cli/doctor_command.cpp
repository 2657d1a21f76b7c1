#include "suite/cli/doctor_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "analytic/calibration/combine.h"
#include "base/called.h"
#include "base/case_text.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json_null.h"
#include "base/units_text.h"
#include "results/context_json.h"
#include "suite/cli/options.h"
#include "suite/launch/process.h"
#include "suite/launch/workplace.h"
#include "suite/machine/doctor.h"
#include "suite/machine/knowledge.h"
#include "suite/machine/noise.h"
#include "suite/machine/run_time.h"
#include "suite/machine/small_step.h"
#include "suite/machine/surroundings.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

constexpr double patience_s = 120;  ///< a cold disk

/// What a program prints on stdout; "" where it is not there or fails.
std::string output_of(Workplace& workplace, std::vector<std::string> command) {
  if (find_program(command.front()).empty()) return "";
  const auto folder = workplace.scratch.path() / fmt::format("output-{}", ++workplace.launches);
  std::filesystem::create_directory(folder);
  ProcessRequest request;
  request.command = std::move(command);
  request.output = folder / "stdout.txt";
  request.errors = folder / "stderr.txt";
  request.mark = folder;
  request.timeout_s = patience_s;
  const ProcessEnd end = run_process(request, workplace.signals);
  if (end.how == ProcessEnd::How::interrupted) throw Interrupted{};
  return end.how == ProcessEnd::How::exited && end.code == 0 ? read_text(request.output) : "";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// A check that is "missing" where `look` throws, with its message.
template <class Look>
Check guarded(const std::string& name, Look look) {
  try {
    return look();
  } catch (const Error& error) {
    return {name, CheckStatus::missing, error.what(), ""};
  }
}

Check calibration_check(const analytic::MachineInfo& machine) {
  return guarded("calibration", [&]() -> Check {
    const CalibrationFile file = open_calibration("", machine, false);
    if (!file.content) {
      return {"calibration", CheckStatus::warning, "none of this machine yet; run and quick measure what they need",
              to_type("calibrate")};
    }
    return {
        "calibration", CheckStatus::ok,
        fmt::format("{}: {} of {}, the last of {}", file.path.string(), counted(file.content->layers.size(), "layer"),
                    counted(analytic::launches_of(*file.content).size(), "launch", "launches"), file.content->date),
        ""};
  });
}

Check rank_program_check(Workplace& workplace, std::optional<protocol::Offer>& capabilities) {
  return guarded("rank program", [&]() -> Check {
    const auto program = find_rank_program();
    if (!program) {
      return {
          "rank program", CheckStatus::missing,
          "parabench-rank is not built here: what starts no ranks works (list, predict, plan, compare, report, ...)",
          std::string(build_rank_program)};
    }
    capabilities = probe_capabilities(workplace);
    return {"rank program", CheckStatus::ok,
            fmt::format("{}: LibTorch {}; devices {}; communicators {}", program->string(), capabilities->libtorch,
                        fmt::join(to_texts(capabilities->devices), ", "),
                        fmt::join(to_texts(capabilities->communicators), ", ")),
            ""};
  });
}

/// `processes`: ranks are processes, else threads of one.
Check launcher_check(Workplace& workplace, bool processes) {
  return guarded("launcher", [&]() -> Check {
    const Launcher& launcher = workplace.options.launcher;
    require_launcher(processes ? launcher : parse_launcher("local"));
    if (!processes) return {"launcher", CheckStatus::ok, "none: ranks are threads of one process", ""};
    const std::string& program = launcher.words.front();
    const bool preset = launcher.name == program;
    const std::string version = preset ? first_line(output_of(workplace, {program, "--version"})) : "";
    const std::string added = additions(launcher, 2, workplace.host);
    return {"launcher", CheckStatus::ok,
            fmt::format("{}{}{}{}{}", find_program(program), version.empty() ? "" : ": ", version,
                        added.empty() ? "" : "; ", added),
            ""};
  });
}

/// Two ranks train one step together: they must start, be one world, and reduce.
Check world_check(Workplace& workplace, bool processes, const std::string& mpi) {
  return guarded("two ranks", [&]() -> Check {
    const Forecast forecast = small_step(workplace.machine, processes, 0, 1);
    LaunchRequest request;
    request.phase = protocol::Phase::measure;
    request.plan = &forecast.plan;
    request.steps = 1;
    request.timeout_s = patience_s;
    workplace.progress.note("starting two ranks");
    const LaunchResult result = run(workplace, request);
    if (result.interrupted) throw Interrupted{};
    if (result.reply) {
      return {"two ranks", CheckStatus::ok,
              fmt::format("trained a step together, as {}, start-up included in {}",
                          processes ? mpi.substr(0, mpi.find(',')) + " processes" : "threads",
                          human_seconds(result.seconds)),
              ""};
    }
    const bool srun = workplace.options.launcher.name == "srun";
    return {"two ranks", CheckStatus::missing, result.reason,
            srun ? "srun --mpi=list shows what Slurm offers; --launcher mpirun inside the allocation needs none of it"
                 : "a template, such as --launcher 'mpirun -np {np} --bind-to none {program}'; "
                   "--launcher local runs cases with comm:threads"};
  });
}

Check time_check(Workplace& workplace, const protocol::Offer& capabilities) {
  return guarded("run time", [&] {
    const CalibrationFile file = open_calibration("", workplace.machine, false);
    RunOptions usual;
    usual.launches = workplace.options;
    return run_time_check(options_of_run(usual, capabilities, workplace.options.launcher),
                          knowledge_of(workplace.machine, file));
  });
}

GpuSurroundings look_around(Workplace& workplace) {
  const std::string nvcc = find_program("nvcc").empty() ? "/usr/local/cuda/bin/nvcc" : "nvcc";
  return {nvidia_driver(), output_of(workplace, {nvcc, "--version"}),
          output_of(workplace, {"ompi_info", "--parsable", "--all"})};
}

struct Diagnosis {
  std::vector<Check> checks;
  std::optional<protocol::Offer> capabilities;  ///< nullopt where parabench-rank does not answer
  bool cpu = false, cuda = false;               ///< cases on that device can run
};

Diagnosis examine(Workplace& workplace, double noise_s) {
  Diagnosis result;
  const auto add = [&](Check check) {
    result.checks.push_back(std::move(check));
    return result.checks.back().status != CheckStatus::missing;
  };
  for (Check& check : host_checks(workplace.machine)) add(std::move(check));
  for (Check& check : surroundings_checks(look_around_host())) add(std::move(check));
  add(calibration_check(workplace.machine));
  const bool answers = add(rank_program_check(workplace, result.capabilities));
  const bool processes =
      workplace.options.launcher.name != "local" && (!answers || protocol::offers(*result.capabilities, CommKind::mpi));
  const bool launches = add(launcher_check(workplace, processes));
  if (answers && launches) result.cpu = add(world_check(workplace, processes, result.capabilities->mpi));
  if (result.cpu && noise_s > 0)
    for (Check& check : noise_checks(measure_noise(workplace, processes, noise_s))) add(std::move(check));
  const protocol::GpuProbe* probe =
      result.capabilities && result.capabilities->gpu ? &*result.capabilities->gpu : nullptr;
  for (Check& check : gpu_checks(probe, look_around(workplace))) add(std::move(check));
  if (result.cpu) add(time_check(workplace, *result.capabilities));
  result.cuda = result.cpu && protocol::offers(*result.capabilities, DeviceKind::cuda);
  return result;
}

json to_json(const Diagnosis& diagnosis) {
  json checks = json::array(), gpus = json::array();
  for (const Check& check : diagnosis.checks) {
    checks.push_back({{"name", check.name},
                      {"status", to_text(check.status)},
                      {"found", check.found},
                      {"advice", null_if_empty(check.advice)}});
  }
  if (diagnosis.capabilities && diagnosis.capabilities->gpu) {
    for (const results::HostGpu& gpu : diagnosis.capabilities->gpu->gpus) gpus.push_back(results::to_json(gpu));
  }
  return {{"checks", std::move(checks)},
          {"gpus", std::move(gpus)},
          {"runs", {{"cpu", diagnosis.cpu}, {"cuda", diagnosis.cuda}}}};
}

/// Lines after the first are indented to the column of the first.
std::string indented(std::string text, std::size_t column) {
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, column, ' ');
  }
  return text;
}

void print(const Diagnosis& diagnosis, std::ostream& out) {
  constexpr std::size_t column = 25;
  for (const Check& check : diagnosis.checks) {
    fmt::print(out, "{:<8} {:<15} {}\n", to_text(check.status), check.name, indented(check.found, column));
    if (!check.advice.empty()) fmt::print(out, "{:{}}try: {}\n", "", column, check.advice);
  }
  fmt::print(out, "\ncases on cpu: {}; cases on cuda: {}\n", diagnosis.cpu ? "run here" : "do not run here",
             diagnosis.cuda ? "run here" : "are skipped here (--where device=cpu leaves them out)");
}

}  // namespace

void add_options(CLI::App& app, DoctorOptions& options) {
  app.add_option_function<std::string>(
         "--noise", [&](const std::string& text) { options.noise_s = parse_seconds("--noise", text).value; },
         "Launch small steps for this long to see how noisy the machine is; 0 leaves it out")
      ->type_name("TIME")
      ->default_str("30s");
  app.add_flag("--json", options.json, "As JSON");
  add_launches(app, options.launches, &RunOption::of_doctor);
}

ExitCode examine_machine(const DoctorOptions& options, const Start& start) {
  Workplace workplace(options.launches, start.progress);
  const Diagnosis diagnosis = examine(workplace, options.noise_s);
  if (options.json) {
    start.out << to_json(diagnosis).dump(1) << '\n';
  } else {
    print(diagnosis, start.out);
  }
  return diagnosis.cpu ? ExitCode::ok : ExitCode::environment;
}

}  // namespace parabench::suite
