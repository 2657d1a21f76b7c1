#include "suite/machine/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/counted.h"
#include "base/processor_ticks.h"
#include "base/units_text.h"
#include "results/disturbance.h"
#include "results/summary.h"
#include "suite/machine/small_step.h"

namespace parabench::suite {
namespace {

constexpr double alpha = 0.05;
constexpr double much_stolen = 0.01;
/// Above this, a difference of 5 % takes more launches than most people make.
constexpr double noisy = 0.03;

}  // namespace

NoiseMeasurement measure_noise(Workplace& workplace, bool processes, double seconds) {
  constexpr int warmup = 5, steps = 20;
  const Forecast forecast = small_step(workplace.machine, processes, warmup, steps);
  LaunchRequest request;
  request.phase = protocol::Phase::measure;
  request.plan = &forecast.plan;
  request.steps = steps;
  request.warmup = warmup;
  request.timeout_s = patience_seconds(protocol::Phase::measure, forecast, warmup + steps);
  request.longest_operation_s = forecast.predicted.step_time_s;
  workplace.progress.note(
      fmt::format("launching the same small steps for {:.0f} s: how noisy is this machine?", seconds));
  NoiseMeasurement measurement;
  const auto before = processor_ticks();
  const double end = now_s() + seconds;
  while (now_s() < end || measurement.step_times_s.size() < results::fewest_launches) {
    LaunchResult result = run(workplace, request);
    if (result.interrupted) throw Interrupted{};
    if (!result.reply) return {};
    const auto& measured = std::get<results::Measured>(result.reply->answer);
    measurement.step_times_s.push_back(measured.step_time_s.samples.at(0));
    for (const Canary& canary : measured.canaries)
      measurement.core_spread = std::max(measurement.core_spread, canary.matrix_product_spread);
  }
  measurement.stolen_share = stolen_share(before, processor_ticks());
  return measurement;
}

std::vector<Check> noise_checks(const NoiseMeasurement& measurement) {
  results::Record record;
  record.measured.emplace().step_time_s.samples = measurement.step_times_s;
  const auto noise = results::launch_noise({&record, 1}, DeviceKind::cpu);
  if (!noise) return {{"noise", CheckStatus::warning, "not measured: the small steps failed", ""}};
  const auto shown = [&](std::size_t launches) {
    return human_share(std::expm1(results::smallest_difference(*noise, launches, launches, alpha)));
  };
  Check check{"noise", CheckStatus::ok,
              fmt::format("launches of the same steps differ by {} (standard deviation over {}); compare can "
                          "show differences from {} on with 5 launches a side, {} with 10, {} with 20; no prediction "
                          "can be known to be better than {}",
                          human_share(std::expm1(noise->sigma)), counted(noise->launches, "launch", "launches"),
                          shown(5), shown(10), shown(20), human_share(std::expm1(noise->sigma))),
              ""};
  if (noise->sigma > noisy) {
    check.status = CheckStatus::warning;
    check.advice =
        "a quiet machine, a fixed clock; else --until-interval 2%, --shuffle, and calibrate close to the run";
  }
  Check stolen{"stolen time", CheckStatus::ok,
               measurement.stolen_share ? human_share(*measurement.stolen_share) + " of the processors' time meanwhile"
                                        : "not told by the kernel",
               ""};
  if (measurement.stolen_share > much_stolen) {
    stolen.status = CheckStatus::warning;
    stolen.found += ": other virtual machines take it";
    stolen.advice = "dedicated cores, or another hour";
  }
  Check cores{"core speed", CheckStatus::ok, "not told by the launches", ""};
  if (measurement.core_spread) {
    cores.found =
        fmt::format("within a launch a product in the cache took up to {:.2f} times as long at one time as at another",
                    *measurement.core_spread);
    if (*measurement.core_spread > results::disturbing_core_spread) {
      cores.status = CheckStatus::warning;
      cores.found += ": something shares the cores, or their clock changes";
      cores.advice = "whole cores (a neighbour on the second thread of a core shows in no stolen time), a fixed clock";
    }
  }
  return {check, stolen, cores};
}

}  // namespace parabench::suite
