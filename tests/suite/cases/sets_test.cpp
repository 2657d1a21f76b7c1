#include "suite/cases/sets.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/case_id.h"
#include "base/error.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/cases/catalogue.h"
#include "suite/cases/selection.h"
#include "suite/machine/calibrate.h"
#include "suite/run/prepare.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;

std::set<std::string> ids_of(std::string_view name) {
  std::set<std::string> ids;
  for (const Case& spec : find_set(name).cases()) ids.insert(to_id(spec));
  return ids;
}

TEST(Sets, HoldPossibleCasesEachOnce) {
  for (const CaseSet& set : case_sets()) {
    const std::vector<Case> cases = set.cases();
    EXPECT_EQ(ids_of(set.name).size(), cases.size()) << set.name;
    for (const Case& spec : cases) EXPECT_NO_THROW(make_subject(spec)) << to_id(spec);
  }
}

TEST(Sets, DdlbenchIsItsMatrixWithItsBatches) {
  const auto ids = ids_of("ddlbench");
  EXPECT_EQ(ids.size(), 2u * 6 * 4 * 4);
  EXPECT_TRUE(ids.contains("vgg16/mnist-synthetic/gpipe/np:4/batch:3072/micro:24/recompute:except-last"));
  EXPECT_TRUE(ids.contains("resnet152/highres-synthetic/pipedream/np:4/batch:64/device:cuda"));
  EXPECT_TRUE(ids.contains("mobilenetv2/imagenet-synthetic/horovod/np:4/batch:128"));
}

TEST(Sets, ScalingSweepsOneFactorAndHasABaselineForEveryCase) {
  for (const bool weak : {false, true}) {
    const std::vector<Case> cases = find_set(weak ? "weak" : "strong").cases();
    for (const Case& spec : cases) {
      if (spec.strategy.name == "sequential") continue;
      const auto has = [&](int batch, int threads) {
        return std::ranges::any_of(cases, [&](const Case& base) {
          return base.strategy.name == "sequential" && base.batch == batch && base.threads == threads;
        });
      };
      EXPECT_TRUE(has(spec.batch, spec.np)) << to_id(spec) << ": on as many cores";
      EXPECT_TRUE(has(weak ? spec.batch / spec.np : spec.batch, 1)) << to_id(spec) << ": on one";
      Case one = spec;  // of its line: what is left when the swept factors are taken out
      one.np = spec.strategy.name == "parameter-server" ? 4 : 2;
      one.batch = weak ? one.np * spec.batch / spec.np : spec.batch;
      EXPECT_NE(std::ranges::find(cases, one), cases.end()) << to_id(one);
    }
  }
}

TEST(Sets, ScalingHoldsEveryKindOfDataParallelismWithAtLeastTwoWorkers) {
  for (const char* set : {"strong", "weak"}) {
    std::set<std::pair<std::string, int>> rows;
    for (const Case& spec : find_set(set).cases()) rows.insert({spec.strategy.name, spec.np});
    for (const int np : {2, 4, 8}) {
      for (const char* strategy : {"data-parallel", "local-sgd", "zero1", "zero3"})
        EXPECT_TRUE(rows.contains({strategy, np})) << set << ' ' << strategy << ' ' << np;
      EXPECT_EQ(rows.contains({"parameter-server", np}), np > 2) << set << ' ' << np;
    }
  }
}

TEST(Sets, SchedulesHoldEveryPipelineThatNeedsNoFile) {
  const auto ids = ids_of("schedules");
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.ranks != plan::RankUse::stages || strategy.from_file) continue;
    const std::string part = std::string(strategy.name) + "/np:4/";
    EXPECT_TRUE(std::ranges::any_of(ids, [&](const std::string& id) { return id.find(part) != id.npos; })) << part;
  }
}

// What is not measured first is predicted from what others' chains took.
TEST(Sets, AccuracyPredictsResnet34And101FromTheLayersOfOthers) {
  std::vector<SelectedCase> chosen;
  std::map<std::string, int> cases, calibrated;
  for (const Case& spec : find_set("accuracy").cases()) {
    if (!spec.model.name.starts_with("resnet")) continue;
    chosen.push_back({.spec = spec, .id = to_id(spec)});
    ++cases[spec.model.name];
  }
  const PrepareOptions options{.capabilities = {{DeviceKind::cpu}, {CommKind::mpi}}};
  const Knowledge nothing{{.cores = 2, .memory_bytes = 64LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256}, nullptr};
  const std::vector<Prepared> prepared = prepare(chosen, options, nothing);
  for (const std::size_t i : measured_first(prepared, nothing)) ++calibrated[chosen[i].spec.model.name];
  EXPECT_GE(cases["resnet34"], 8);
  EXPECT_GE(cases["resnet101"], 3);
  EXPECT_EQ(calibrated["resnet34"], 0);
  EXPECT_EQ(calibrated["resnet101"], 0);
  EXPECT_GT(calibrated["resnet18"], 0);
  EXPECT_GT(calibrated["resnet50"], 0);
}

TEST(Sets, AreChosenByNameAndFiltered) {
  const auto chosen = select({.where = "np=1", .set = "quick"}, catalogue());
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_THAT(chosen[0].id, HasSubstr("/sequential/np:1/"));
  EXPECT_FALSE(chosen[0].named);
  EXPECT_THROW(select({.cases = {chosen[0].id}, .set = "quick"}, {}), Error);
  EXPECT_THROW(find_set("quik"), Error);
}

}  // namespace
}  // namespace parabench::suite
