#include "suite/machine/staleness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/called.h"
#include "base/counted.h"
#include "base/date.h"
#include "parabench_version.h"

namespace parabench::suite {
std::string software() { return fmt::format("parabench {} with LibTorch {}", program_version, program_libtorch); }

std::string staleness(const analytic::Calibration& calibration, std::chrono::sys_seconds now) {
  const std::string again = to_type("calibrate CASE --fresh") + " measures anew";
  const auto measured = parse_utc(calibration.date);
  const auto age = std::chrono::floor<std::chrono::days>(now - measured.value_or(now));
  if (age > calibration_lasts)
    return fmt::format("the calibration's newest launch is of {}, {} ago; {}", calibration.date,
                       counted(age.count(), "day"), again);
  const auto launches = analytic::launches_in(calibration);
  const auto other = std::ranges::find_if(launches, [](const analytic::Calibration& launch) {
    return !launch.software.empty() && launch.software != software();
  });
  if (other == launches.end()) return "";
  const auto alike = std::ranges::count(launches, other->software, &analytic::Calibration::software);
  return fmt::format("{} of {} of the calibration {} by {}, and this is {}; {}", alike,
                     counted(launches.size(), "launch", "launches"), alike == 1 ? "is" : "are", other->software,
                     software(), again);
}

void note_staleness(const CalibrationFile& file, Progress& progress) {
  if (!file.content) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (const std::string note = staleness(*file.content, now); !note.empty()) progress.note(note);
}

}  // namespace parabench::suite
