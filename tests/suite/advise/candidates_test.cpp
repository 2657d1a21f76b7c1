#include "suite/advise/candidates.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/case_id.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/run/forecast.h"

namespace parabench::suite {
namespace {

Candidates candidates(const std::string& id) {
  const Subject subject = look_up(parse_case(id));
  return candidate_cases(subject.spec, subject.model);
}
const std::string question = "resnet18/cifar10-synthetic/sequential/np:4/batch:64";

TEST(Candidates, HoldEveryStrategyThatNeedsNoFileAndIsOurs) {
  std::set<std::string> found;
  for (const Case& spec : candidates(question).cases) found.insert(spec.strategy.name);
  std::set<std::string> expected;
  for (const plan::Strategy& strategy : plan::strategies())
    if (!strategy.from_file && strategy.family != plan::Family::peer) expected.insert(std::string(strategy.name));
  EXPECT_EQ(found, expected);
}

TEST(Candidates, ArePossibleAndDiffer) {
  const models::ModelSpec model = look_up(parse_case(question)).model;
  std::set<std::string> ids;
  for (const Case& spec : candidates(question).cases) {
    EXPECT_NO_THROW(plan::check_case(spec, model)) << to_id(spec);
    EXPECT_TRUE(ids.insert(to_id(spec)).second) << to_id(spec);
  }
}

TEST(Candidates, HaveTheMeshesMicroBatchesAndRecomputationOfAPipeline) {
  std::set<int> copies, micro;
  std::set<Recompute> recompute;
  for (const Case& spec : candidates(question).cases) {
    if (spec.strategy.name != "1f1b") continue;
    copies.insert(spec.dp);
    recompute.insert(spec.recompute);
    if (spec.dp == 1) micro.insert(spec.micro);
  }
  EXPECT_EQ(copies, (std::set{1, 2}));
  EXPECT_EQ(micro, (std::set{2, 4, 8, 16, 32}));
  EXPECT_EQ(recompute, (std::set{Recompute::none, Recompute::all, Recompute::except_last}));
}

TEST(Candidates, ShareStatesOrNotWhereAStageHasSeveralHolders) {
  std::set<std::pair<int, int>> found;  // copies and zero
  int pipelines = 0, shared = 0;
  for (const Case& spec : candidates(question).cases) {
    if (spec.strategy.name == "1f1b") found.insert({spec.dp, spec.zero});
    const bool has_holders =
        spec.dp > 1 || plan::find_strategy(spec.strategy.name).schedule.stages == plan::StageOrder::crossed;
    pipelines += has_holders;
    shared += spec.zero == 1;
    EXPECT_TRUE(spec.zero == 0 || has_holders) << to_id(spec);
  }
  EXPECT_EQ(found, (std::set<std::pair<int, int>>{{1, 0}, {2, 0}, {2, 1}}));
  EXPECT_EQ(pipelines, 2 * shared) << "as many of either kind";
}

TEST(Candidates, ShareStatesAsTheQuestionSays) {
  const auto found = candidates("resnet18/cifar10-synthetic/gpipe/np:4/batch:32/dp:2/zero:2").cases;
  EXPECT_FALSE(found.empty());
  for (const Case& spec : found) EXPECT_EQ(spec.zero, 2) << to_id(spec);
}

TEST(Candidates, OfCompressedGradientsTrainOtherwise) {
  const auto found = candidates(question + "/compress:powersgd").cases;
  EXPECT_FALSE(found.empty());
  for (const Case& spec : found) EXPECT_FALSE(trains_as_sequential(spec)) << to_id(spec);
  EXPECT_FALSE(trains_as_sequential(parse_case("mlp/mnist-synthetic/parameter-server[mode=async]/np:3/batch:8")));
  EXPECT_TRUE(trains_as_sequential(parse_case("mlp/mnist-synthetic/parameter-server/np:3/batch:8")));
}

TEST(Candidates, SpareNoLastMicroBatchWhereThereIsOne) {
  for (const Case& spec : candidates(question).cases) {
    const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
    const bool halves = strategy.schedule.stages == plan::StageOrder::crossed;  // one for each of two holders
    const bool has_several = strategy.uses("micro") && spec.micro > (halves ? 2 : 1);
    EXPECT_TRUE(has_several || spec.recompute != Recompute::except_last) << to_id(spec);
  }
}

TEST(Candidates, KeepTheKeysOfTheQuestion) {
  for (const Case& spec : candidates(question + "/threads:2/optimizer:adam").cases) {
    EXPECT_EQ(spec.threads, 2) << to_id(spec);
    EXPECT_EQ(spec.optimizer.name, "adam") << to_id(spec);
  }
}

TEST(Candidates, AreNoneButOneRankWhereASampleCannotBeShared) {
  for (const Case& spec : candidates("resnet18/cifar10-synthetic/sequential/np:4/batch:1").cases)
    EXPECT_TRUE(spec.np == 1 || plan::find_strategy(spec.strategy.name).family != plan::Family::data_parallel)
        << to_id(spec);
}

}  // namespace
}  // namespace parabench::suite
