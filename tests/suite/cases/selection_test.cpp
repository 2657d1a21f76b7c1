#include "suite/cases/selection.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "suite/cases/catalogue.h"

namespace parabench::suite {
namespace {

const std::string quick_gpipe = "resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:2/batch:32";

std::vector<std::string> ids(const Selection& selection) {
  std::vector<std::string> result;
  for (const auto& one : select(selection, catalogue())) result.push_back(one.id);
  return result;
}

TEST(Selection, NamedCasesNeedNoCatalogueAndComeCanonical) {
  const auto chosen = select({{"resnet18/cifar10-synthetic/gpipe/batch:17/np:3/micro:4"}, {}, {}}, catalogue());
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].id, "resnet18/cifar10-synthetic/gpipe/np:3/batch:17");
  EXPECT_TRUE(chosen[0].named);
}

TEST(Selection, AFilterThatIsAnIdMeansThatCaseAlone) {
  EXPECT_THAT(ids({{}, quick_gpipe, {}}), testing::ElementsAre(quick_gpipe));
}

TEST(Selection, FilterAndWhereNarrow) {
  for (const auto& id : ids({{}, "resnet18/.*/gpipe", "np=2"})) {
    EXPECT_THAT(id, testing::AllOf(testing::HasSubstr("resnet18/"), testing::HasSubstr("/gpipe/np:2/")));
  }
  EXPECT_THAT(ids({{quick_gpipe, "resnet18/cifar10-synthetic/sequential/np:1/batch:4"}, "gpipe", {}}),
              testing::ElementsAre(quick_gpipe));
}

TEST(Selection, NamesACaseOnce) { EXPECT_EQ(ids({{quick_gpipe, quick_gpipe + "/micro:4"}, {}, {}}).size(), 1u); }

TEST(Selection, ParametersOfAStrategyHaveOneText) {
  const std::string work = "mlp/cifar10-synthetic/";
  EXPECT_THAT(
      ids({{work + "horovod[fusion=65536KiB,cycle=1000us]/np:2/batch:8", work + "horovod/np:2/batch:8"}, {}, {}}),
      testing::ElementsAre(work + "horovod/np:2/batch:8"));
  EXPECT_THAT(ids({{work + "local-sgd[every=2]/np:2/batch:8", work + "local-sgd/np:2/batch:8"},
                   work + "local-sgd[outer=none,every=4]/np:2/batch:8",
                   {}}),
              testing::ElementsAre(work + "local-sgd/np:2/batch:8"));
}

TEST(Selection, NothingMatchedHasACodeOfItsOwn) {
  try {
    ids({{}, "no-such-case", {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::nothing_matched);
    EXPECT_THAT(error.what(), testing::HasSubstr("--filter: got 'no-such-case'"));
  }
}

TEST(Selection, AnIdThatTheCatalogueDoesNotHoldIsToBeNamed) {
  EXPECT_THAT(
      [] {
        ids({{}, "mlp[layers=3]/cifar10-synthetic/gpipe/np:2/batch:64", {}});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("name it without --filter")));
}

TEST(Selection, ConditionsWithoutACaseAreNamed) {
  EXPECT_THAT(
      [] {
        ids({{}, {}, "np=1024"});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("--where: got 'np=1024'")));
  EXPECT_THAT(
      [] {
        ids({{}, "gpipe", "np=1024"});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("--filter: got 'gpipe --where np=1024'")));
}

}  // namespace
}  // namespace parabench::suite
