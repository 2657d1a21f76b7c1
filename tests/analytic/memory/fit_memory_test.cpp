// What plans are cut and recomputed by: profiles, and recompute:auto against all choices.
#include "analytic/memory/fit_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "analytic/calibration/profile.h"
#include "analytic/costs/costs.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/simulate.h"
#include "base/error.h"
#include "models/spec/cost.h"
#include "parallelism/plan/passes/passes.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Layers with seconds and saved bytes of their own.
class LayerCosts final : public TimeModel, public MemoryModel {
 public:
  LayerCosts(std::vector<double> seconds, std::vector<std::int64_t> saved)
      : seconds_(std::move(seconds)), saved_(std::move(saved)) {}
  TimeParts parts(const plan::Plan&, Rank, const plan::Op& op, int) const override {
    return {.compute = plan::is_pass(op.kind) ? seconds_[op.segment.value] : 0};
  }
  std::int64_t saved_bytes(const plan::Plan&, Rank, const plan::Op& op) const override {
    return saved_[op.segment.value];
  }
  std::int64_t peak_bytes(const plan::Plan&, Rank, const plan::Op&) const override { return 0; }
  DeviceOverhead device_overhead(const plan::Plan&) const override { return {}; }
  std::int64_t process_bytes(const plan::Plan&) const override { return 0; }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }

 private:
  std::vector<double> seconds_;
  std::vector<std::int64_t> saved_;
};

plan::Plan pipeline(int layers) {
  Case spec = case_of("gpipe", 2, 4, 4);
  spec.recompute = Recompute::automatic;
  spec.memory = Bytes(1);
  return test_plan(spec, layers);
}

std::int64_t largest_peak(const plan::Plan& plan, const models::ModelSpec& model, const TimeModel& time,
                          const MemoryModel& memory) {
  const plan::Timeline timeline = simulate(plan, time);
  std::int64_t most = 0;
  for (Rank r(0); r.value < std::ssize(plan.ranks); ++r) {
    most = std::max(most, limited_bytes(peak_memory(plan, model, memory, timeline, r)));
  }
  return most;
}

std::vector<bool> chosen(const plan::Plan& plan) {
  std::vector<bool> result(plan.segments.size());
  for (const plan::RankProgram& rank : plan.ranks) {
    for (const plan::Op& op : rank.compute()) {
      if (op.kind == plan::OpKind::recompute) result[op.segment.value] = true;
    }
  }
  return result;
}

double seconds_of(const std::vector<bool>& segments, const std::vector<double>& seconds) {
  double sum = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) sum += segments[s] ? seconds[s] : 0;
  return sum;
}

TEST(RecomputeToFit, IsTheCheapestOfAllChoicesWhereEveryLayerFreesAlike) {
  constexpr int layers = 6;
  const models::ModelSpec model = chain(layers);
  const plan::Plan plan = pipeline(layers);
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    std::vector<double> seconds(layers);
    for (double& s : seconds) s = 1 + static_cast<int>(random() % 8);
    const LayerCosts cost(seconds, std::vector<std::int64_t>(layers, 4096));
    const std::int64_t none = largest_peak(plan, model, cost, cost);
    const std::int64_t all =
        largest_peak(plan::add_recompute(plan, std::vector<bool>(layers, true)), model, cost, cost);
    ASSERT_LT(all, none);
    const Bytes limit(all + (none - all) * static_cast<std::int64_t>(random() % 5) / 4);
    double least = std::numeric_limits<double>::infinity();
    for (int choice = 0; choice < 1 << layers; ++choice) {
      std::vector<bool> segments(layers);
      for (int s = 0; s < layers; ++s) segments[s] = (choice >> s & 1) != 0;
      if (largest_peak(plan::add_recompute(plan, segments), model, cost, cost) > limit.value) continue;
      least = std::min(least, seconds_of(segments, seconds));
    }
    const plan::Plan fitted = recompute_to_fit(plan, model, cost, cost, limit, 1);
    EXPECT_LE(largest_peak(fitted, model, cost, cost), limit.value);
    EXPECT_EQ(seconds_of(chosen(fitted), seconds), least) << "round " << round;
  }
}

TEST(RecomputeToFit, FitsAndKeepsWhateverItCan) {
  constexpr int layers = 6;
  const models::ModelSpec model = chain(layers);
  const plan::Plan plan = pipeline(layers);
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> seconds(layers);
    std::vector<std::int64_t> saved(layers);
    for (double& s : seconds) s = 1 + static_cast<int>(random() % 8);
    for (std::int64_t& s : saved) s = 256 * (1 + static_cast<int>(random() % 16));
    const LayerCosts cost(seconds, saved);
    const std::int64_t none = largest_peak(plan, model, cost, cost);
    const Bytes limit(none - none / 4);
    try {
      const plan::Plan fitted = recompute_to_fit(plan, model, cost, cost, limit, 1);
      EXPECT_LE(largest_peak(fitted, model, cost, cost), limit.value);
      for (int s = 0; s < layers; ++s) {
        std::vector<bool> fewer = chosen(fitted);
        if (!fewer[s]) continue;
        fewer[s] = false;
        EXPECT_GT(largest_peak(plan::add_recompute(plan, fewer), model, cost, cost), limit.value) << "segment " << s;
      }
    } catch (const Error&) {
      const plan::Plan everything = plan::add_recompute(plan, std::vector<bool>(layers, true));
      EXPECT_GT(largest_peak(everything, model, cost, cost), limit.value);
    }
  }
}

// A rank that has updated begins the next step while others still drain, and keeps what they have not fetched yet.
TEST(RecomputeToFit, FitsStepsThatFollowEachOtherWithoutABarrier) {
  constexpr int steps = 8;
  for (const std::string& strategy : schedules_serving(4, 4)) {
    for (const double message : {0., .4, 2.}) {
      HandCosts cost(KindSeconds{.message = message, .update = 1});
      cost.saved = 256;
      const plan::Plan plan = analytic::pipeline(strategy, 4, 4);
      const models::ModelSpec model = chain(static_cast<int>(plan.segments.size()));
      const std::int64_t none = largest_peak(plan::unroll(plan, steps), model, cost, cost);
      const plan::Plan everything = plan::add_recompute(plan, std::vector<bool>(plan.segments.size(), true));
      const std::int64_t all = largest_peak(plan::unroll(everything, steps), model, cost, cost);
      for (int part = 0; part < 8; ++part) {
        const Bytes limit(all + (none - all) * part / 8);
        const plan::Plan fitted = recompute_to_fit(plan, model, cost, cost, limit, steps);
        EXPECT_LE(largest_peak(plan::unroll(fitted, steps), model, cost, cost), limit.value)
            << strategy << message << part;
      }
    }
  }
}

TEST(RecomputeToFit, LeavesAlonePlansThatFit) {
  const models::ModelSpec model = chain(4);
  const plan::Plan plan = pipeline(4);
  const LayerCosts cost({1, 1, 1, 1}, {4096, 4096, 4096, 4096});
  EXPECT_EQ(recompute_to_fit(plan, model, cost, cost, Bytes(1 << 20), 1), plan);
}

TEST(RecomputeToFit, NamesTheRankThatNeedsTooMuch) {
  const models::ModelSpec model = chain(4);
  const LayerCosts cost({1, 1, 1, 1}, {64, 64, 4096, 4096});
  try {
    recompute_to_fit(pipeline(4), model, cost, cost, Bytes(3000), 1);
    ADD_FAILURE() << "it cannot fit";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("memory"), HasSubstr("'3kB'"), HasSubstr("rank 1"),
                                    HasSubstr("everything recomputed")));
  }
}

TEST(Profile, TellsWhatEachLayerKeeps) {
  const models::ModelSpec model = chain(3);
  Case spec = case_of("gpipe", 2, 8, 4);  // pieces of 2 samples, maps of 128 bytes
  const plan::Profile profile = make_profile(nullptr, MachineInfo{.cores = 2}, model, spec);
  EXPECT_EQ(profile.seconds, layer_seconds(nullptr, MachineInfo{.cores = 2}, model, spec, 2));
  ASSERT_EQ(profile.sizes.size(), 3u);
  EXPECT_EQ(profile.sizes[1].weights, 64);
  EXPECT_EQ(profile.sizes[1].states, 128);
  EXPECT_EQ(profile.sizes[0].input, 0);
  EXPECT_EQ(profile.sizes[1].input, 128);
  EXPECT_EQ(profile.sizes[1].output, 128);
  EXPECT_GE(profile.sizes[1].saved, 128);
  EXPECT_GT(profile.link_bytes_per_s, 0);

  const std::int64_t saved = profile.sizes[1].saved;
  spec.recompute = Recompute::all;
  const plan::Profile again = make_profile(nullptr, MachineInfo{.cores = 2}, model, spec);
  EXPECT_EQ(again.sizes[1].saved, 0);
  EXPECT_EQ(again.sizes[1].states, 128 + saved);
  EXPECT_EQ(again.sizes[0].saved, 128);  // the images
  spec.strategy.name = split_schedules().front();
  spec.partition = PartitionRule::memory;
  spec.memory = Bytes(1);
  EXPECT_GT(make_profile(nullptr, MachineInfo{.cores = 2}, model, spec).sizes[1].saved, 0);
}

TEST(Profile, TellsWhatInputTakesOnAGpu) {
  const models::ModelSpec model = chain(3);
  Case spec = case_of("gpipe", 2, 8, 4);  // pieces of 2 samples, images of 64 bytes each
  spec.recompute = Recompute::all;
  const auto first = [&] { return make_profile(nullptr, MachineInfo{.cores = 2}, model, spec).sizes[0]; };
  const plan::LayerSizes on_processor = first();
  spec.device = DeviceKind::cuda;
  const plan::LayerSizes from_host = first();
  EXPECT_EQ(from_host.states, on_processor.states + 2 * 2 * 64) << "two slots";
  EXPECT_EQ(from_host.saved, 2 * 64) << "the images of a piece in flight";
  spec.input = InputKind::resident;
  // A micro-batch's images are not brought back by its forward.
  EXPECT_EQ(first().states, on_processor.states - 2 * 64 + 8 * 64) << "all of a step";
  EXPECT_EQ(first().saved, 0);
}

/// The cut's own account of memory against what peak_memory() finds of the plan: where maps are nearly all there is,
/// gradients that wait for a busy rank make up to a quarter.
TEST(Profile, IsCloseToThePeaksOfTheStagesThatItCuts) {
  const models::ModelSpec model = chain(8);
  const MachineInfo machine{.cores = 2};
  const Costs costs = data_sheet_costs(machine, model);
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.ranks != plan::RankUse::stages || strategy.fixed_chunks > 1 || strategy.uses("chunks") ||
        strategy.from_file)
      continue;
    for (const Recompute recompute : {Recompute::none, Recompute::all, Recompute::except_last}) {
      Case spec = case_of(std::string(strategy.name), 4, 16, strategy.uses("micro") ? 8 : Case{}.micro);
      spec.recompute = recompute;
      spec.partition = PartitionRule::memory;
      const plan::Profile profile = make_profile(nullptr, machine, model, spec);
      // The least limit that has a cut.
      std::int64_t low = 0, high = 1 << 20;
      while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        spec.memory = Bytes(middle);
        try {
          plan::make_plan(spec, model, profile, 8);
          high = middle;
        } catch (const Error&) {
          low = middle;
        }
      }
      spec.memory = Bytes(high);
      const plan::Plan plan = plan::make_plan(spec, model, profile, 8);
      const std::int64_t peak = largest_peak(plan::unroll(plan, plan.steps), model, *costs.time, *costs.memory);
      EXPECT_LE(peak, high + high / 4) << strategy.name << ' ' << static_cast<int>(recompute);
      EXPECT_GE(peak, high / 2) << strategy.name << ' ' << static_cast<int>(recompute);
    }
  }
}

}  // namespace
}  // namespace parabench::analytic
