#include "parallelism/plan/strategies/pipeline_outline.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

Profile equal_layers(int layers) { return Profile(std::vector<double>(layers, 1.0)); }

/// Visits cases of every pipeline that an outline tells, with the model that they train.
template <class Visit>
void for_each_pipeline(Visit visit) {
  for (const Strategy& strategy : strategies()) {
    for (int devices = 2; devices <= 5; ++devices) {
      for (const int pieces : {1, 2, 3, 5, 8, 11}) {
        for (const Recompute recompute : {Recompute::none, Recompute::all, Recompute::except_last}) {
          Case spec = case_of(std::string(strategy.name), devices, 2 * pieces + pieces / 2);
          if (strategy.uses("micro")) spec.micro = pieces;
          spec.recompute = recompute;
          if (!has_outline(spec) || (strategy.refuse && strategy.refuse(strategy.pipe(spec)))) continue;
          visit(spec, chain_model(strategy.stages(spec) + 2));
        }
      }
    }
  }
}

TEST(PipelineOutline, WritesForEachRankWhatThePlanHas) {
  int compared = 0;
  for_each_pipeline([&](const Case& spec, const models::ModelSpec& model) {
    const Profile profile = equal_layers(static_cast<int>(model.layers.size()));
    const Plan plan = make_plan(spec, model, profile, 1);
    const auto outline = outline_of(spec, model, profile);
    ASSERT_TRUE(outline) << spec.strategy.name;
    for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
      EXPECT_EQ(written_program(*outline, r), plan.ranks[r.value])
          << spec.strategy.name << " P " << spec.np << " M " << spec.micro << " rank " << r.value;
    }
    ++compared;
  });
  EXPECT_GT(compared, 300);
}

void keep_first_of_each_kind(std::vector<Op>& ops) {
  std::set<std::pair<OpKind, SegmentId>> seen;
  std::erase_if(ops, [&](const Op& op) { return !seen.emplace(op.kind, op.segment).second; });
}

TEST(PipelineOutline, HasOfThePlanTheFirstPassOfEachKindAndStage) {
  for_each_pipeline([&](const Case& spec, const models::ModelSpec& model) {
    const Profile profile = equal_layers(static_cast<int>(model.layers.size()));
    Plan plan = make_plan(spec, model, profile, 1);
    Plan outlined = outline_of(spec, model, profile)->plan;
    for (int r = 0; r < spec.np; ++r) {
      for (Plan* one : {&plan, &outlined}) keep_first_of_each_kind(one->ranks[r].compute());
      for (std::size_t l = 0; l < plan.ranks[r].lanes.size(); ++l) {
        const Lane &all = plan.ranks[r].lanes[l], &first = outlined.ranks[r].lanes.at(l);
        EXPECT_EQ(first.key, all.key) << spec.strategy.name;
        EXPECT_EQ(l == 0 ? first.ops : std::vector{first.ops.front()}, l == 0 ? all.ops : std::vector{all.ops.front()})
            << spec.strategy.name << " M " << spec.micro << " rank " << r << ' ' << name(all.key);
      }
    }
  });
}

TEST(PipelineOutline, IsOfNoCaseWhosePlanHasMoreThanPassesAndTheirMessages) {
  const auto has = [](const std::string& strategy, auto change) {
    Case spec = case_of(strategy, 4, 8, 4);
    change(spec);
    return has_outline(spec);
  };
  EXPECT_TRUE(has("1f1b", [](Case&) {}));
  EXPECT_FALSE(has("1f1b", [](Case& spec) { spec.np = 1; }));
  EXPECT_FALSE(has("1f1b", [](Case& spec) { spec.dp = 2; }));
  EXPECT_FALSE(has("1f1b", [](Case& spec) { spec.recompute = Recompute::automatic; }));
  EXPECT_FALSE(has("1f1b", [](Case& spec) { spec.executor = ExecutorKind::futurized; }));
  for (const char* strategy : {"chimera", "pipedream", "pipedream-2bw", "data-parallel", "zero3"})
    EXPECT_FALSE(has(strategy, [](Case&) {})) << strategy;
  EXPECT_FALSE(outline_of(case_of("1f1b", 2, 8, 4), chain_model(4, {{0, 3}}), equal_layers(4)));
}

}  // namespace
}  // namespace parabench::plan
