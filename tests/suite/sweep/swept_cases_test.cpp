#include "suite/sweep/swept_cases.h"

#include <gmock/gmock.h>

#include "base/case_id.h"
#include "base/error.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string base = "resnet18/cifar10-synthetic/gpipe/np:2/batch:64/threads:2";

std::vector<std::string> swept(const std::string& text, const std::string& id = base) {
  std::vector<std::string> ids;
  for (const Case& spec : swept_cases(parse_case(id), parse_sweep(text))) ids.push_back(to_id(spec));
  return ids;
}

std::string refusal(const std::string& text) {
  try {
    swept(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << text;
    return error.what();
  }
  return "accepted";
}

std::vector<std::string> values(const std::string& text) { return parse_sweep(text).at(0).values; }

TEST(Sweep, RangesDoubleOrCountInSteps) {
  EXPECT_THAT(values("np=2..16"), ElementsAre("2", "4", "8", "16"));
  EXPECT_THAT(values("np=3..20"), ElementsAre("3", "6", "12"));
  EXPECT_THAT(values("np=5..5"), ElementsAre("5"));
  EXPECT_THAT(values("np=2..9+3"), ElementsAre("2", "5", "8"));
  EXPECT_THAT(values("bucket=1MiB..4MiB"), ElementsAre("1MiB", "2MiB", "4MiB"));
  EXPECT_THAT(values("bucket=1MB..3MB+1MB"), ElementsAre("1MB", "2MB", "3MB"));
  EXPECT_THAT(values("np=1,2..8,12"), ElementsAre("1", "2", "4", "8", "12"));
  EXPECT_EQ(values("np=1..2147483647").size(), 31u);
}

TEST(Sweep, MakesEveryCombinationInTheOrderOfIds) {
  EXPECT_THAT(swept("micro=4,8,np=2,4"),
              ElementsAre("resnet18/cifar10-synthetic/gpipe/np:2/batch:64/threads:2",
                          "resnet18/cifar10-synthetic/gpipe/np:2/batch:64/micro:8/threads:2",
                          "resnet18/cifar10-synthetic/gpipe/np:4/batch:64/threads:2",
                          "resnet18/cifar10-synthetic/gpipe/np:4/batch:64/micro:8/threads:2"))
      << "4 is the default of micro";
  EXPECT_THAT(swept("strategy=gpipe,looped-bfs,model=resnet50", base),
              ElementsAre("resnet50/cifar10-synthetic/gpipe/np:2/batch:64/threads:2",
                          "resnet50/cifar10-synthetic/looped-bfs/np:2/batch:64/threads:2"));
  EXPECT_THAT(swept("model=mlp[layers=4,hidden=64],mlp[layers=8]", base),
              ElementsAre(HasSubstr("mlp[layers=4,hidden=64]/"), HasSubstr("mlp[layers=8]/")));
  EXPECT_EQ(swept("threads=1").front(), "resnet18/cifar10-synthetic/gpipe/np:2/batch:64") << "a default, spelled out";
}

TEST(Sweep, DefaultsFollowWhatIsSwept) {
  EXPECT_THAT(swept("device=cpu,cuda", "resnet18/cifar10-synthetic/gpipe/np:2/batch:64"),
              ElementsAre("resnet18/cifar10-synthetic/gpipe/np:2/batch:64",
                          "resnet18/cifar10-synthetic/gpipe/np:2/batch:64/device:cuda"));
}

TEST(Sweep, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("nq=2,4"), AllOf(HasSubstr("nq"), HasSubstr("'np'")));
  EXPECT_THAT(refusal("nq=2..4"), HasSubstr("nq"));
  EXPECT_THAT(refusal("np=2,np=4"), HasSubstr("np at most once"));
  EXPECT_THAT(refusal("np=0"), AllOf(HasSubstr("--sweep.np[0]"), HasSubstr("an integer from 1")));
  EXPECT_EQ(refusal("np=two"), "--sweep.np[0]: got 'two', expected an integer from 1 to 2147483647");
  EXPECT_EQ(refusal("strategy=1f1b,gpip"),
            "--sweep.strategy[1]: got 'gpip', expected a known strategy; did you mean 'gpipe'?");
  EXPECT_THAT(refusal("2..4"), HasSubstr("KEY=VALUES"));
  EXPECT_THAT(refusal("lr=0.1..0.5"), HasSubstr("only whole numbers and sizes have ranges"));
  EXPECT_THAT(refusal("model=resnet18..resnet50"), HasSubstr("model"));
  for (const char* text : {"", "np=", "np=2,", "np=..4", "np=2..", "np=4..2", "np=0..4", "np=2..4+0", "np=2..x",
                           "np=-2..4", "bucket=1MiB..", "strategy=gpip"})
    EXPECT_NE(refusal(text), "accepted") << text;
}

TEST(Sweep, ThatExplodesIsRefusedBeforeItIsMade) {
  EXPECT_THAT(refusal("np=1..100000+1"), AllOf(HasSubstr("at most 10000 values"), HasSubstr("several sweeps")));
  EXPECT_THAT(refusal("np=1..1000+1,micro=1..1000+1,batch=1..1000+1"),
              AllOf(HasSubstr("1000000000 combinations"), HasSubstr("at most 10000 combinations")));
  EXPECT_THAT(refusal("seed=1..9223372036854775807+1"), HasSubstr("at most 10000 values"));
  EXPECT_EQ(swept("np=1..100+1,micro=1..100+1").size(), most_swept);
}

}  // namespace
}  // namespace parabench::suite
