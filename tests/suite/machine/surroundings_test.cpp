#include "suite/machine/surroundings.h"

#include <gmock/gmock.h>

#include "suite/machine/noise.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Surroundings roomy() {
  return {.online_cores = 8,
          .allowed_cores = 8,
          .physical_cores = 4,
          .cpuset = "0-7",
          .disks = {{"results (this folder)", "/home/me", true, 10LL << 30}}};
}

TEST(Surroundings, AWholeHostWithRoomIsFine) {
  for (const Check& check : surroundings_checks(roomy())) EXPECT_EQ(check.status, CheckStatus::ok) << check.found;
}

TEST(Surroundings, AProcessorQuotaIsToldInCores) {
  Surroundings s = roomy();
  s.quota_cores = 1.5;
  const Check check = surroundings_checks(s).at(0);
  EXPECT_EQ(check.status, CheckStatus::warning);
  EXPECT_THAT(check.found, HasSubstr("1.5 of them"));
  s.quota_cores = 8;
  EXPECT_EQ(surroundings_checks(s).at(0).status, CheckStatus::ok);
}

TEST(Surroundings, APartOfTheHostIsTold) {
  Surroundings s = roomy();
  s.allowed_cores = 2;
  s.cpuset = "3,5";
  const Check check = surroundings_checks(s).at(0);
  EXPECT_EQ(check.status, CheckStatus::warning);
  EXPECT_THAT(check.found, AllOf(HasSubstr("2 of 8"), HasSubstr("(3,5)")));
}

TEST(Surroundings, ABusyHostIsTold) {
  Surroundings s = roomy();
  s.load = 10;
  EXPECT_EQ(surroundings_checks(s).at(1).status, CheckStatus::ok);
  s.load = 10.1;
  s.allowed_cores = 2;  // the load is that of the whole host
  EXPECT_EQ(surroundings_checks(s).at(1).status, CheckStatus::warning);
  EXPECT_THAT(surroundings_checks(s).at(1).found, HasSubstr("load average 10.1, 8 cores"));
}

TEST(Surroundings, FullAndReadOnlyDisksAreTold) {
  Surroundings s = roomy();
  s.disks = {{"results", "/full", true, 1 << 20}, {"temporary files", "/read-only", false, 10LL << 30}};
  EXPECT_THAT(surroundings_checks(s).at(2).found, AllOf(HasSubstr("/full"), HasSubstr("little room")));
  EXPECT_THAT(surroundings_checks(s).at(3).found, HasSubstr("cannot be written"));
}

TEST(Surroundings, AJobIsToldWithItsHosts) {
  Surroundings s = roomy();
  s.job = {.job = "Slurm job 12", .hosts = {"n1", "n2"}, .slots = 4, .cpus = 8};
  const Check inside = surroundings_checks(s).at(0);
  EXPECT_EQ(inside.status, CheckStatus::ok);
  EXPECT_EQ(inside.found, "Slurm job 12: 2 hosts (n1, n2), 4 slots, 8 processors");
  s.in_job = false;
  const Check outside = surroundings_checks(s).at(0);
  EXPECT_EQ(outside.status, CheckStatus::warning);
  EXPECT_THAT(outside.found, HasSubstr("none of them"));
}

TEST(Surroundings, HostsOfAJobHaveToShareTheirFolders) {
  Surroundings s = roomy();
  s.disks = {{"temporary files", "/tmp", true, 10LL << 30, "tmpfs"}, {"results", "/home/me", true, 10LL << 30}};
  EXPECT_EQ(surroundings_checks(s).at(2).status, CheckStatus::ok);
  s.job = {.job = "PBS job 7", .hosts = {"n1", "n2"}};
  EXPECT_EQ(surroundings_checks(s).at(3).status, CheckStatus::warning);
  EXPECT_THAT(surroundings_checks(s).at(3).found, HasSubstr("tmpfs of this host alone"));
  EXPECT_EQ(surroundings_checks(s).at(4).status, CheckStatus::ok);
}

TEST(Surroundings, ThisHostCanBeLookedAt) {
  const Surroundings here = look_around_host();
  EXPECT_GE(here.online_cores, here.allowed_cores);
  EXPECT_GE(here.allowed_cores, here.physical_cores);
  EXPECT_FALSE(here.cpuset.empty());
  EXPECT_EQ(here.disks.size(), 2u);
}

/// Launches whose medians are these.
NoiseMeasurement launches(const std::vector<double>& medians, double stolen = 0) {
  NoiseMeasurement measurement{.stolen_share = stolen};
  for (const double median : medians) measurement.step_times_s.push_back({median, median, median});
  return measurement;
}

TEST(Noise, QuietLaunchesAreFineAndSayWhatShows) {
  const auto checks = noise_checks(launches({1.00, 1.01, 0.99, 1.00, 1.01, 0.99}));
  EXPECT_EQ(checks.at(0).status, CheckStatus::ok);
  EXPECT_THAT(checks.at(0).found, AllOf(HasSubstr("over 6 launches"), HasSubstr("with 10")));
  EXPECT_EQ(checks.at(1).status, CheckStatus::ok);
}

TEST(Noise, UnsteadyLaunchesAndStolenTimeAreWarnings) {
  const auto checks = noise_checks(launches({1.0, 1.2, 0.9, 1.1, 1.3}, 0.05));
  EXPECT_EQ(checks.at(0).status, CheckStatus::warning);
  EXPECT_THAT(checks.at(1).found, AllOf(HasSubstr("5.0 %"), HasSubstr("other virtual machines")));
}

TEST(Noise, CoresThatAreSlowerAtTimesAreAWarning) {
  NoiseMeasurement measurement = launches({1.0, 1.0, 1.0, 1.0});
  EXPECT_THAT(noise_checks(measurement).at(2).found, HasSubstr("not told"));
  measurement.core_spread = 1.0625;
  EXPECT_EQ(noise_checks(measurement).at(2).status, CheckStatus::ok);
  measurement.core_spread = 1.875;
  EXPECT_EQ(noise_checks(measurement).at(2).status, CheckStatus::warning);
  EXPECT_THAT(noise_checks(measurement).at(2).found, HasSubstr("1.88 times as long"));
}

TEST(Noise, FailedLaunchesAreNoNoise) {
  const auto checks = noise_checks({});
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_THAT(checks[0].found, HasSubstr("not measured"));
}

}  // namespace
}  // namespace parabench::suite
