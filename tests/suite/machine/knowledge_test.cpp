#include "suite/machine/knowledge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "analytic/calibration/combine.h"
#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const analytic::MachineInfo machine{.id = "m", .cores = 2};

analytic::Calibration launch(const std::string& date) {
  analytic::Calibration one;
  one.machine = machine;
  one.date = date;
  one.layers[{.layer = "linear"}] = {{.samples = 4, .forward_s = 0.25}};
  return one;
}

std::vector<std::string> dates(const CalibrationFile& file) {
  std::vector<std::string> all;
  for (const auto& one : analytic::launches_of(analytic::read_calibration(file.path))) all.push_back(one.date);
  return all;
}

class CalibrationFileTest : public testing::Test {
 protected:
  CalibrationFile open() { return open_calibration((scratch_.path() / "c.json").string(), machine, false); }
  ScratchFolder scratch_;
};

TEST_F(CalibrationFileTest, ALaunchThatAnotherProgramAddedMeanwhileStays) {
  CalibrationFile mine = open(), other = open();
  EXPECT_THAT(add_to(mine, launch("a")), IsEmpty());
  add_to(other, launch("b"));
  add_to(mine, launch("c"));
  EXPECT_THAT(dates(mine), ElementsAre("a", "b", "c"));
  EXPECT_EQ(mine.content->launches.size(), 3u);
}

TEST_F(CalibrationFileTest, StartingOverHoldsForOneLaunch) {
  CalibrationFile file = open();
  add_to(file, launch("a"));
  file.starts_over = true;
  add_to(file, launch("b"));
  EXPECT_THAT(dates(file), ElementsAre("b"));
  add_to(file, launch("c"));
  EXPECT_THAT(dates(file), ElementsAre("b", "c"));
}

TEST_F(CalibrationFileTest, WhatCannotBeWrittenServesThisProgram) {
  CalibrationFile file{"/proc/none/c.json", std::nullopt, /*must_be_kept=*/false};
  add_to(file, launch("a"));
  add_to(file, launch("b"));
  EXPECT_FALSE(file.unkept.empty());
  EXPECT_EQ(file.content->launches.size(), 2u);
  file.must_be_kept = true;
  EXPECT_THROW(add_to(file, launch("c")), Error);
}

TEST_F(CalibrationFileTest, AFileThatIsDamagedMeanwhileIsWrittenAnewFromWhatWasRead) {
  CalibrationFile file = open();
  add_to(file, launch("a"));
  std::ofstream(file.path) << "{";
  add_to(file, launch("b"));
  EXPECT_THAT(dates(file), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace parabench::suite
