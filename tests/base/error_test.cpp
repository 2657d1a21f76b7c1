#include "base/error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace parabench {
namespace {

const std::vector<std::string> models = {"resnet18", "resnet34", "resnet50", "mobilenetv2", "transformer"};

TEST(Error, JoinsValueExpectationAndHint) {
  const Error error = usage_error("micro", "0", "an integer >= 1", "try micro:4");
  EXPECT_STREQ(error.what(), "micro: got '0', expected an integer >= 1; try micro:4");
  EXPECT_EQ(error.code(), ExitCode::usage);
}

TEST(Error, LeavesAnEmptyHintOut) {
  const Error error = environment_error("mpirun", "", "a launcher");
  EXPECT_STREQ(error.what(), "mpirun: got '', expected a launcher");
  EXPECT_EQ(error.code(), ExitCode::environment);
}

TEST(NearestHint, FindsSlipsOfEveryKind) {
  for (const char* slip : {"resnet-18", "resnt18", "renset18", "ResNet18", "resnet19", "resnet"}) {
    EXPECT_EQ(nearest_hint(slip, models), "did you mean 'resnet18'?") << slip;
  }
  EXPECT_EQ(nearest_hint("resent34", models), "did you mean 'resnet34'?");
  EXPECT_EQ(nearest_hint("transfromer", models), "did you mean 'transformer'?");
}

TEST(NearestHint, ListsTheKnownNamesWhereNothingIsNear) {
  EXPECT_EQ(nearest_hint("lenet", models), "known: resnet18, resnet34, resnet50, mobilenetv2, transformer");
  EXPECT_EQ(nearest_hint("", models), "known: resnet18, resnet34, resnet50, mobilenetv2, transformer");
}

TEST(NearestHint, CountsASwapOfNeighboursOnce) {
  const std::vector<std::string> short_names = {"dp"};
  EXPECT_EQ(nearest_hint("pd", short_names), "did you mean 'dp'?");
}

}  // namespace
}  // namespace parabench
