// Whatever goes wrong with a good plan, validate() tells.
#include <gmock/gmock.h>

#include "parallelism/plan/formats/print_text.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/pick.h"
#include "tests/parallelism/plan/rules/mutations.h"

namespace parabench::plan {
namespace {

using testing::IsEmpty;
using testing::Not;

TEST(Mutations, AreCaughtInPlansOfAllStrategies) {
  std::mt19937 random(7);
  for (const auto& [name, mutate] : harmful_mutations()) {
    int tried = 0;
    for (int round = 0; round < 12000 && tried < 150; ++round) {
      std::vector<LayerSkip> skips;
      const Plan good = random_plan(random, &skips);
      Plan bad = good;
      if (!mutate(bad, random) || bad == good) continue;
      ++tried;
      ASSERT_THAT(validate(bad), Not(IsEmpty()))
          << name << " in " << good.spec.strategy.name << " on " << good.ranks.size() << " ranks\n"
          << to_text(good) << to_text(bad);
    }
    EXPECT_GE(tried, 100) << name;
  }
}

// What validate() lets pass must train the same parameters.
TEST(Mutations, ThatPassHaveChangedNothingThatIsComputed) {
  std::mt19937 random(11);
  for (const auto& [name, mutate] : doubtful_mutations()) {
    int passed = 0, caught = 0;
    for (int round = 0; round < 4000; ++round) {
      std::vector<LayerSkip> skips;
      const Plan good = random_plan(random, &skips);
      Plan changed = good;
      if (!mutate(changed, random) || changed == good) continue;
      const bool passes = validate(changed).empty();
      ++(passes ? passed : caught);
      if (!passes) continue;
      ASSERT_EQ(meaning_of(changed, skips), meaning_of(good, skips))
          << name << " in " << good.spec.strategy.name << '\n'
          << to_text(good) << to_text(changed);
    }
    EXPECT_GT(passed, 0) << name;
    EXPECT_GT(caught, 10) << name;
  }
}

// Permissions and upper bounds alone: a plan that uses less than it may is as good.
TEST(Mutations, HarmlessByConstruction) {
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    std::vector<LayerSkip> skips;
    Plan plan = random_plan(random, &skips);
    RankProgram& rank = plan.ranks[below(random, plan.ranks.size())];
    ++rank.weight_versions;
    rank.in_flight = 0;
    plan.in_order = false;
    Op& op = pick(plan, random, is_of<OpKind::forward>).op();
    op.overlaps_next = !op.overlaps_next;
    EXPECT_THAT(validate(plan), IsEmpty()) << to_text(plan);
  }
}

}  // namespace
}  // namespace parabench::plan
