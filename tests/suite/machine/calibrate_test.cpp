// Which cases need a calibration launch.
#include "suite/machine/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "analytic/calibration/combine.h"
#include "analytic/calibration/scope.h"
#include "base/case_id.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;
using testing::Not;

const analytic::MachineInfo machine{
    .id = "m", .cores = 4, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256};

Subject subject_of(const std::string& rest) {
  return make_subject(parse_case("mlp[layers=8]/cifar10-synthetic/" + rest));
}

Forecast forecast_of(const Subject& subject, const std::optional<analytic::Calibration>& known, int hosts) {
  const Knowledge knowledge{.machine = machine, .calibration = known ? &*known : nullptr, .hosts = hosts};
  return make_forecast(subject, knowledge, 5, 20);
}

/// What a launch of the case's plan brings, as it is by what is known.
analytic::Calibration launch_of(const Subject& subject, const std::optional<analytic::Calibration>& known, int hosts) {
  return analytic::promised_calibration(forecast_of(subject, known, hosts).plan, subject.model, machine);
}

/// Launches of the case after which it counts as measured; 0: not after three.
int launches_needed(const std::string& rest, int hosts) {
  const Subject subject = subject_of(rest);
  std::optional<analytic::Calibration> known;
  for (int launches = 1; launches <= 3; ++launches) {
    const analytic::Calibration launch = launch_of(subject, known, hosts);
    if (!known) known.emplace();
    analytic::merge(*known, launch);
    if (is_measured(subject, forecast_of(subject, known, hosts), &*known)) return launches;
  }
  return 0;
}

TEST(Calibrate, OneLaunchBringsAllThatACaseNeeds) {
  for (const int hosts : {1, 2})
    for (const char* rest : {"gpipe/np:4/batch:16/micro:4", "zb-h1/np:4/batch:32/micro:8", "pipedream/np:4/batch:16",
                             "zero3/np:4/batch:16", "parameter-server/np:4/batch:30"})
      EXPECT_EQ(launches_needed(rest, hosts), 1) << rest << " on " << hosts << " hosts";
  EXPECT_GT(launches_needed("pipedream[replicas=auto]/np:4/batch:12", 1), 0) << "each may change its plan";
}

TEST(Calibrate, MessagesAmongOtherNumbersOfRanksStandInUntilTheirOwnAreMeasured) {
  const Subject subject = subject_of("gpipe/np:4/batch:16/micro:4");
  std::optional<analytic::Calibration> known = launch_of(subject, std::nullopt, 1);
  const auto own = std::exchange(known->point_to_point, {});
  ASSERT_EQ(own.size(), 1u);
  Case two = subject.spec;
  two.np = 2;
  known->point_to_point[analytic::message_key(two, false)] = own.begin()->second;
  const Forecast borrowed = forecast_of(subject, known, 1);
  EXPECT_EQ(borrowed.cost_source, "calibrated");
  EXPECT_THAT(borrowed.gap, HasSubstr("messages within a host among 4 ranks were not measured"));
  EXPECT_FALSE(is_measured(subject, borrowed, &*known));

  known->point_to_point = own;
  const Forecast measured = forecast_of(subject, known, 1);
  EXPECT_THAT(measured.gap, Not(HasSubstr("messages")));
  EXPECT_TRUE(is_measured(subject, measured, &*known));
}

}  // namespace
}  // namespace parabench::suite
