// What is said of a calibration that may no longer hold.
#include "suite/machine/staleness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parabench::suite {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::sys_seconds noon = std::chrono::sys_days{2026y / 3 / 1} + 12h;

analytic::Calibration launch(const std::string& date, const std::string& by = software()) {
  analytic::Calibration one;
  one.date = date;
  one.software = by;
  return one;
}

TEST(Staleness, SpeaksOfCasesThatWereCalibratedLongAgo) {
  const std::string today = "2026-03-01T11:59:00Z", old = "2026-01-29T11:00:00Z", older = "2025-01-29T11:00:00Z";
  EXPECT_THAT(age_of({today}, {}, noon), IsEmpty());
  EXPECT_THAT(age_of({"2026-01-30T13:00:00Z"}, {}, noon), IsEmpty()) << "29 days and 23 hours";
  EXPECT_THAT(age_of({today, old}, {}, noon),
              AllOf(HasSubstr("1 of 2 cases was calibrated last more than 30 days ago, on 2026-01-29T11:00:00Z;"),
                    HasSubstr("calibrate CASE adds a launch, with --fresh")));
  EXPECT_THAT(age_of({old, "", today, older}, {}, noon),
              HasSubstr("2 of 4 cases were calibrated last more than 30 days ago, on 2025-01-29T11:00:00Z or later;"));
  EXPECT_THAT(age_of({"2026-03-02T11:59:00Z"}, {}, noon), IsEmpty()) << "of another clock";
  EXPECT_THAT(age_of({"once", ""}, {}, noon), IsEmpty()) << "no date";
  EXPECT_THAT(age_of({}, {}, noon), IsEmpty());
}

TEST(Staleness, SpeaksOfOtherSoftware) {
  const std::string today = "2026-03-01T11:00:00Z";
  EXPECT_THAT(other_software({.path = "c.json", .content = launch(today, "")}), IsEmpty())
      << "of a file that does not say";
  analytic::Calibration two = launch(today, "");
  two.launches = {launch(today), launch(today, "parabench 0.0.1 with LibTorch 1.0")};
  EXPECT_THAT(
      other_software({.path = "c.json", .content = two, .is_given = true}),
      AllOf(HasSubstr("1 of 2 launches of the calibration is by parabench 0.0.1 with LibTorch 1.0"),
            HasSubstr("this is " + software()), HasSubstr("calibrate CASE --fresh --out c.json measures anew")));
  two.launches.push_back(launch(today, "parabench 0.0.2 with LibTorch 1.0"));
  two.launches.push_back(launch(today, "parabench 0.0.1 with LibTorch 1.0"));
  EXPECT_THAT(other_software({.path = "c.json", .content = two, .is_given = true}),
              HasSubstr("2 of 4 launches of the calibration are by parabench 0.0.1 with"));
}

}  // namespace
}  // namespace parabench::suite
