#include "base/called.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/counted.h"

namespace parabench {
namespace {

TEST(Called, SaysWhatToTypeAsTheProgramWasCalled) {
  setenv(called_variable, "./parabench", 1);
  EXPECT_EQ(to_type("list --sets"), "./parabench list --sets");
  setenv(called_variable, "", 1);
  EXPECT_EQ(to_type("list --sets"), "parabench list --sets");
  unsetenv(called_variable);
  EXPECT_EQ(called(), "parabench");
}

TEST(Counted, AgreesWithTheNumber) {
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(2u, "case"), "2 cases");
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(counted(7, "launch", "launches"), "7 launches");
}

}  // namespace
}  // namespace parabench
