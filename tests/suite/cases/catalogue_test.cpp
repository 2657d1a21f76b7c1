#include "suite/cases/catalogue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/case_id.h"
#include "parallelism/plan/strategies/c10d.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/run/forecast.h"

namespace parabench::suite {
namespace {

TEST(Catalogue, EveryCaseIsPossibleAndListedOnce) {
  std::set<std::string> seen;
  for (const Case& spec : catalogue()) {
    EXPECT_NO_THROW(make_subject(spec)) << to_id(spec);
    EXPECT_TRUE(seen.insert(to_id(spec)).second) << to_id(spec);
  }
  EXPECT_LT(seen.size(), 1100u) << "too many to read: list the synthetic twin alone, or leave cases to their ids";
}

TEST(Catalogue, HoldsModelsDataSetsStrategiesAndRanks) {
  std::set<std::string> models, datasets, strategies;
  std::set<int> ranks;
  for (const Case& spec : catalogue()) {
    models.insert(spec.model.name);
    datasets.insert(spec.dataset.name);
    strategies.insert(spec.strategy.name);
    ranks.insert(spec.np);
  }
  EXPECT_THAT(models, testing::ElementsAre("mlp", "mobilenetv2", "resnet1001", "resnet101", "resnet152", "resnet18",
                                           "resnet34", "resnet50", "transformer", "vgg16"));
  EXPECT_THAT(datasets, testing::ElementsAre("cifar10-synthetic", "highres-synthetic", "imagenet", "imagenet-synthetic",
                                             "mnist-synthetic", "tokens-synthetic"));
  std::vector<std::string> written;
  for (const plan::Strategy& strategy : plan::strategies())
    if (strategy.listed != plan::Listed::nowhere) written.emplace_back(strategy.name);
  EXPECT_THAT(strategies, testing::UnorderedElementsAreArray(written));
  EXPECT_THAT(ranks, testing::ElementsAre(1, 2, 4));
}

TEST(Catalogue, HoldsTheSameGridOnGpusAfterTheOneOnProcessors) {
  const auto cases = catalogue();
  const auto first = std::ranges::find(cases, DeviceKind::cuda, &Case::device);
  for (auto it = first; it != cases.end(); ++it) {
    EXPECT_EQ(it->device, DeviceKind::cuda) << to_id(*it);
    EXPECT_EQ(it->comm, CommKind::nccl) << to_id(*it);
    Case twin = *it;
    twin.device = DeviceKind::cpu;
    twin.comm = CommKind::mpi;
    EXPECT_NE(std::find(cases.begin(), first, twin), first) << to_id(*it);
  }
  // PyTorch's reducer is offered on the processor alone.
  const auto of_four = [](auto begin, auto end) {
    return std::count_if(begin, end, [](const Case& spec) { return spec.np == 4 && !plan::sums_by_reducer(spec); });
  };
  EXPECT_EQ(of_four(first, cases.end()), of_four(cases.begin(), first));
  for (const Case& spec : quick_cases()) EXPECT_EQ(spec.device, DeviceKind::cpu);
}

TEST(Catalogue, HoldsNoServerWithASingleWorkerAndCopiesOnTwoRanks) {
  std::set<std::pair<std::string, int>> rows;
  for (const Case& spec : catalogue()) rows.insert({spec.strategy.name, spec.np});
  EXPECT_FALSE(rows.contains({"parameter-server", 2}));
  EXPECT_TRUE(rows.contains({"parameter-server", 4}));
  for (const int np : {2, 4}) EXPECT_TRUE(rows.contains({"local-sgd", np})) << np;
}

TEST(Catalogue, QuickHasEveryFamilyOnTwoCores) {
  std::set<std::string> strategies;
  for (const Case& spec : quick_cases()) {
    strategies.insert(spec.strategy.name);
    EXPECT_EQ(spec.np * spec.threads, 2) << to_id(spec);
    EXPECT_EQ(spec.model.name, "resnet18");
    EXPECT_EQ(spec.batch, 32);
    EXPECT_THAT(catalogue(), testing::Contains(spec));
  }
  EXPECT_EQ(strategies.size(), 5u);
}

}  // namespace
}  // namespace parabench::suite
