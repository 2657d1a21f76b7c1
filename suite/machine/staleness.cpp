#include "suite/machine/staleness.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytic/calibration/disturbance.h"
#include "base/called.h"
#include "base/counted.h"
#include "base/date.h"
#include "parabench_version.h"

namespace parabench::suite {

std::string software() { return fmt::format("parabench {} with LibTorch {}", program_version, program_libtorch); }

std::string other_software(const CalibrationFile& file) {
  if (!file.content) return "";
  const auto launches = analytic::launches_in(*file.content);
  const auto other = std::ranges::find_if(launches, [](const analytic::Calibration& launch) {
    return !launch.software.empty() && launch.software != software();
  });
  if (other == launches.end()) return "";
  const auto alike = std::ranges::count(launches, other->software, &analytic::Calibration::software);
  return fmt::format("{} of {} of the calibration {} by {}, and this is {}; {} measures anew", alike,
                     counted(launches.size(), "launch", "launches"), alike == 1 ? "is" : "are", other->software,
                     software(), to_calibrate(file, "--fresh"));
}

std::string disturbed_launches(const CalibrationFile& file) {
  if (!file.content) return "";
  std::string first;
  int disturbed = 0;
  const auto launches = analytic::launches_in(*file.content);
  for (const analytic::Calibration& launch : launches) {
    const std::string why = analytic::disturbance(*file.content, launch);
    if (why.empty()) continue;
    if (disturbed == 0) first = fmt::format("of {}: {}", launch.date, why);
    ++disturbed;
  }
  if (disturbed == 0) return "";
  return fmt::format("{} of {} of the calibration {} disturbed ({}{}); {} measures anew", disturbed,
                     counted(launches.size(), "launch", "launches"), disturbed == 1 ? "was" : "were",
                     disturbed == 1 ? "" : "the first ", first, to_calibrate(file, "--fresh"));
}

std::string age_of(const std::vector<std::string>& dates, const CalibrationFile& file, std::chrono::sys_seconds now) {
  const auto is_old = [&](const std::string& date) { return now - parse_utc(date).value_or(now) > calibration_lasts; };
  const auto old = std::ranges::count_if(dates, is_old);
  if (old == 0) return "";
  const std::string& oldest = *std::ranges::min_element(
      dates, {}, [](const std::string& date) { return parse_utc(date).value_or(std::chrono::sys_seconds::max()); });
  return fmt::format(
      "{} of {} {} calibrated last more than {} ago, on {}{}; {} adds a launch, with --fresh in place of the others",
      old, counted(dates.size(), "case"), old == 1 ? "was" : "were", counted(calibration_lasts.count(), "day"), oldest,
      old == 1 ? "" : " or later", to_calibrate(file));
}

void note_doubts(const CalibrationFile& file, Progress& progress) {
  for (const std::string& note : {other_software(file), disturbed_launches(file)})
    if (!note.empty()) progress.note(note);
}

void note_age(const std::vector<std::string>& dates, const CalibrationFile& file, Progress& progress) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (const std::string note = age_of(dates, file, now); !note.empty()) progress.note(note);
}

}  // namespace parabench::suite
