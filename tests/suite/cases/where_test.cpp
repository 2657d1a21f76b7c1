#include "suite/cases/where.h"

#include <gmock/gmock.h>

#include "base/case_id.h"
#include "base/error.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;

const Case gpipe =
    parse_case("resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:4/batch:32/micro:8/bucket:1MiB");

bool all_hold(std::string_view expression, const Case& spec = gpipe) {
  for (const auto& condition : parse_where(expression)) {
    if (!holds(condition, spec)) return false;
  }
  return true;
}

std::string message_of(std::string_view expression) {
  try {
    parse_where(expression);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Where, ComparesNumbersAsNumbers) {
  EXPECT_TRUE(all_hold("np<=4,np>=4,np=4,np==4,micro>4,micro<10,np!=2"));
  EXPECT_FALSE(all_hold("np<4"));
  EXPECT_FALSE(all_hold("np>4"));
  EXPECT_FALSE(all_hold("micro=10"));
}

TEST(Where, BlanksAroundWordsDoNotMatter) { EXPECT_TRUE(all_hold(" np <= 4 , micro > 4 ")); }

TEST(Where, AllConditionsMustHold) { EXPECT_FALSE(all_hold("np=4,micro=4")); }

TEST(Where, ComparesSizesWithUnits) {
  EXPECT_TRUE(all_hold("bucket<=1024kib"));
  EXPECT_TRUE(all_hold("bucket<1.5MB"));
}

TEST(Where, ComparesNamesAndWholeChoices) {
  EXPECT_TRUE(all_hold("model=resnet18,dataset=imagenet-synthetic,strategy!=sequential"));
  EXPECT_TRUE(all_hold("dataset=imagenet-synthetic[pixels=32,classes=10],np=4"));
  EXPECT_FALSE(all_hold("dataset=imagenet-synthetic[pixels=64,classes=10]"));
  EXPECT_TRUE(all_hold("dataset=imagenet-synthetic[classes=10,pixels=32]")) << "parameters in another order";
  EXPECT_TRUE(all_hold("model=resnet18[channels=64],optimizer=sgd[nesterov=off]")) << "defaults spelled out";
}

TEST(Where, AScheduleWithItsOwnWarmupHasNone) {
  EXPECT_TRUE(all_hold("warmup="));
  EXPECT_FALSE(all_hold("warmup>=0"));
  EXPECT_FALSE(all_hold("warmup=1"));
}

TEST(Where, RefusesWhatItCannotCompare) {
  EXPECT_THAT(message_of("nq<=4"), HasSubstr("did you mean 'np'?"));
  EXPECT_THAT(message_of("np"), HasSubstr("np<=4,micro=8"));
  EXPECT_THAT(message_of("np<<2"), HasSubstr("--where: got 'np<<2'"));
  EXPECT_EQ(message_of("np<=four"), "--where np: got 'four', expected an integer from 1 to 2147483647; try np=1");
  EXPECT_EQ(message_of("strategy=gpip"),
            "--where strategy: got 'gpip', expected a known strategy; did you mean 'gpipe'?");
  EXPECT_THAT(message_of("model!=resnt18"), HasSubstr("did you mean 'resnet18'?"));
  EXPECT_THAT(message_of("dataset=cifar[pixels=3]"), HasSubstr("--where dataset: got 'cifar'"));
  EXPECT_THAT(message_of("model=mlp[hiden=4]"), HasSubstr("did you mean 'hidden'?"));
  EXPECT_THAT(message_of("model=resnet18[x"), HasSubstr("close the bracket"));
  EXPECT_THAT(message_of("optimizer=sdg"), HasSubstr("--where optimizer: got 'sdg'"));
  EXPECT_THAT(message_of("order=forward"), HasSubstr("--where order: got 'forward'"));
  EXPECT_THAT(message_of("np=2,"), HasSubstr("'np=2,'"));
  EXPECT_THAT(message_of("precision<bf16"), HasSubstr("no order"));
  EXPECT_THAT(message_of("model>a"), HasSubstr("no order"));
  EXPECT_THAT(message_of("device=gpu"), HasSubstr("'gpu'"));
  EXPECT_THAT(message_of(""), HasSubstr("comparisons"));
}

}  // namespace
}  // namespace parabench::suite
