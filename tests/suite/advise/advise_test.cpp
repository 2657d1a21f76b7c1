#include "suite/advise/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "analytic/hardware/hardware.h"
#include "base/case_id.h"
#include "base/error.h"
#include "suite/advise/candidates.h"
#include "suite/advise/divisions.h"
#include "tests/suite/promised.h"

namespace parabench::suite {
namespace {

const Knowledge nothing_measured{{.cores = 4, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256},
                                 nullptr};

Question ask(const std::string& id, std::optional<Bytes> memory = {}) { return {parse_case(id), memory}; }
const std::string small = "mlp[layers=8]/cifar10-synthetic/sequential/np:4/batch:32";
const std::string resnet = "resnet18/cifar10-synthetic/sequential/np:2/batch:32";

/// The least step time of all candidates that train as sequential training does.
double least_of_all(const Question& question) {
  const Subject subject = look_up(question.spec);
  double least = 1e300;
  for (const Case& spec : candidate_cases(question.spec, subject.model).cases) {
    if (!trains_as_sequential(spec)) continue;
    const Outlook outlook = make_outlook({.spec = spec, .id = to_id(spec)}, nothing_measured);
    least = std::min(least, outlook.forecast.predicted.step_time_s);
  }
  return least;
}

analytic::Calibration measured_for(const std::vector<std::string>& ids) {
  return promised_for(ids, nothing_measured.machine, "2026-01-01T00:00:00Z");
}

class AdviseOf : public testing::TestWithParam<std::string> {};

TEST_P(AdviseOf, SimulatesTheBestOfAllCandidates) {
  const Question question = ask(GetParam());
  const Advice advice = advise(question, nothing_measured);
  const auto best = std::ranges::find_if(advice.fitting, &Candidate::is_sequential);
  ASSERT_NE(best, advice.fitting.end());
  EXPECT_LE(best->step_time_s, 1.02 * least_of_all(question));
}

INSTANTIATE_TEST_SUITE_P(Questions, AdviseOf,
                         testing::Values(small, resnet, small + "/device:emulated",
                                         "mlp[layers=6]/cifar10-synthetic/sequential/np:6/batch:24"));

TEST(Advise, WhatTheCalibrationLacksSomethingOfIsLeftOut) {
  const std::string on_two = "mlp[layers=4]/cifar10-synthetic/";
  const analytic::Calibration calibration =
      measured_for({on_two + "1f1b/np:2/batch:32", on_two + "data-parallel/np:2/batch:32"});
  const Knowledge knowledge{nothing_measured.machine, &calibration};
  const Advice advice = advise(ask(on_two + "sequential/np:2/batch:32"), knowledge);
  EXPECT_EQ(advice.gap, "");
  EXPECT_THAT(advice.left_out, testing::Each(testing::HasSubstr("/c10d/"))) << "sums of its own kind";
  EXPECT_FALSE(advice.left_out.empty());
  std::set<std::string> strategies;
  for (const Candidate& one : advice.fitting) {
    EXPECT_EQ(one.cost_source, "calibrated") << one.chosen.id;
    strategies.insert(one.chosen.spec.strategy.name);
  }
  EXPECT_GT(strategies.size(), 15U);
}

TEST(Advise, TheDataSheetPredictsAllWhereMessagesAreNotCalibrated) {
  const std::string on_two = "mlp[layers=4]/cifar10-synthetic/";
  analytic::Calibration calibration = measured_for({on_two + "1f1b/np:2/batch:32"});
  calibration.point_to_point.clear();
  const Knowledge knowledge{nothing_measured.machine, &calibration};
  const Advice advice = advise(ask(on_two + "sequential/np:2/batch:32"), knowledge);
  EXPECT_THAT(advice.gap, testing::HasSubstr("calibrate CASE"));
  EXPECT_TRUE(advice.left_out.empty());
  for (const Candidate& one : advice.fitting) EXPECT_EQ(one.cost_source, "data-sheet") << one.chosen.id;
}

TEST(Advise, OfAPipelineAloneTheCalibrationRanksPipelines) {
  const std::string on_two = "mlp[layers=4]/cifar10-synthetic/";
  const analytic::Calibration calibration = measured_for({on_two + "1f1b/np:2/batch:32"});
  const Knowledge knowledge{nothing_measured.machine, &calibration};
  const Advice advice = advise(ask(on_two + "sequential/np:2/batch:32"), knowledge);
  EXPECT_EQ(advice.gap, "");
  EXPECT_THAT(advice.left_out, testing::Contains(testing::HasSubstr("/data-parallel/"))) << "nobody timed a sum";
  EXPECT_FALSE(advice.fitting.empty());
  for (const Candidate& one : advice.fitting) EXPECT_EQ(one.cost_source, "calibrated") << one.chosen.id;
}

TEST(Advise, UnitCostsAreNoGapInACalibration) {
  const std::string on_two = "mlp[layers=4]/cifar10-synthetic/";
  const analytic::Calibration calibration = measured_for({on_two + "sequential/np:1/batch:32"});
  Knowledge knowledge{nothing_measured.machine, &calibration};
  knowledge.emulated = analytic::EmulatedCosts{.unit_s = 1e-3};
  const Advice advice = advise(ask(on_two + "sequential/np:2/batch:32/device:emulated"), knowledge);
  EXPECT_EQ(advice.gap, "");
  EXPECT_TRUE(advice.left_out.empty());
  for (const Candidate& one : advice.fitting) EXPECT_EQ(one.cost_source, "unit") << one.chosen.id;
}

TEST(Advise, TheFastestStandFirstAndNothingBeatsTheFront) {
  const Advice advice = advise(ask(resnet), nothing_measured);
  EXPECT_TRUE(std::ranges::is_sorted(advice.fitting, {}, &Candidate::step_time_s));
  int on_front = 0;
  for (const Candidate& one : advice.fitting) {
    if (!one.is_on_front) continue;
    ++on_front;
    for (const Candidate& other : advice.fitting)
      EXPECT_FALSE(other.is_sequential == one.is_sequential && other.step_time_s < one.step_time_s &&
                   other.peak_bytes < one.peak_bytes)
          << other.chosen.id << " beats " << one.chosen.id;
  }
  EXPECT_GE(on_front, 2);
}

TEST(Advise, AMemoryLimitIsKeptAndCostsTime) {
  const Advice free = advise(ask(resnet), nothing_measured);
  std::int64_t smallest = free.fitting.front().peak_bytes;
  for (const Candidate& one : free.fitting) smallest = std::min(smallest, one.peak_bytes);
  const Bytes limit{smallest + smallest / 50};
  const Advice bound = advise(ask(resnet, limit), nothing_measured);
  ASSERT_FALSE(bound.fitting.empty());
  for (const Candidate& one : bound.fitting) EXPECT_LE(one.peak_bytes, limit.value) << one.chosen.id;
  EXPECT_GT(bound.fitting.front().step_time_s, free.fitting.front().step_time_s);
}

TEST(Advise, WithAMemoryLimitTheSmallestAreSimulatedToo) {
  const std::string many = "mlp[layers=16]/cifar10-synthetic/sequential/np:16/batch:64";
  const auto smallest = [](const Advice& advice) {
    return std::ranges::min_element(advice.fitting, {}, [](const Candidate& one) { return one.form.peak_bytes; })
        ->form.peak_bytes;
  };
  const Advice free = advise(ask(many), nothing_measured),
               bound = advise(ask(many, Bytes{1LL << 40}), nothing_measured);
  EXPECT_LT(smallest(bound), smallest(free)) << "a limit that everything keeps adds those that need least";
  EXPECT_GE(bound.fitting.size(), free.fitting.size() + 8);
}

TEST(Advise, ALimitThatNothingKeepsIsRefusedWithTheSmallestNeed) {
  try {
    advise(ask(resnet, Bytes{1000}), nothing_measured);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("--memory: got '1kB'"), testing::HasSubstr("is predicted to need")));
  }
}

TEST(Advise, AnswersForAThousandRanks) {
  const Advice advice =
      advise(ask("mlp[layers=64]/cifar10-synthetic/sequential/np:1024/batch:2048/device:cuda"), nothing_measured);
  EXPECT_GT(advice.possible, 100);
  EXPECT_GT(advice.fitting.front().chosen.spec.np, 1);
}

TEST(Advise, SimulatesPipelinesOfManyStagesOnGpusSideBySideAsOneByOne) {
  const Advice advice =
      advise(ask("mlp[layers=128]/cifar10-synthetic/sequential/np:256/batch:512/device:cuda"), nothing_measured);
  int long_ones = 0;
  for (const Candidate& one : advice.fitting) {
    if (!one.is_simulated || one.chosen.spec.np / one.chosen.spec.dp < 64) continue;
    if (++long_ones > 2) break;
    EXPECT_EQ(one.step_time_s, quick_outlook(one.chosen, nothing_measured)->forecast.predicted.step_time_s);
  }
  EXPECT_GT(long_ones, 0);
}

TEST(Advise, AQuestionThatNoStrategyTrainsIsRefusedForItsOwnReason) {
  const auto refusal = [](const std::string& keys) -> std::string {
    try {
      advise(ask("mlp[layers=8]/cifar10-synthetic/sequential/np:64/batch:4/" + keys), nothing_measured);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(refusal("executor:futurized/device:cuda"), testing::StartsWith("executor: got 'futurized'"));
  EXPECT_THAT(refusal("prefetch:2"), testing::StartsWith("batch: got '4'")) << "zero3 reads the key";
}

const std::string blocks = "transformer[layers=8,hidden=1024,heads=16]/tokens-synthetic/sequential/np:16/batch:64";
const std::string on_gpus = "/device:cuda/precision:bf16";

/// How many ranks divide layers in candidates that were simulated.
std::set<int> divisions(const Advice& advice) {
  std::set<int> found;
  for (const Candidate& one : advice.fitting)
    if (one.is_simulated) found.insert(one.chosen.spec.tp);
  return found;
}

TEST(Advise, GpusOfAHostMayDivideTheBlocksOfATransformer) {
  const Knowledge h100{analytic::find_hardware("h100-sxm").machine};
  const Advice advice = advise(ask(blocks + on_gpus), h100);
  const std::set<int> found = divisions(advice);
  EXPECT_TRUE(found.contains(2));
  EXPECT_LE(*found.rbegin(), 8) << "a host has eight GPUs";
  for (const Candidate& one : advice.fitting) {
    EXPECT_EQ(one.has_executor(), one.chosen.spec.tp == 1);
    if (!one.is_simulated || one.has_executor()) continue;
    const Outlook outlook = make_outlook(one.chosen, h100);
    EXPECT_NEAR(one.step_time_s, outlook.forecast.predicted.step_time_s, 1e-9)
        << one.chosen.id << ", as predict has it";
    EXPECT_EQ(one.peak_bytes, largest_peak_bytes(outlook.forecast.predicted)) << one.chosen.id;
    EXPECT_NEAR(one.form.step_time_s / one.step_time_s, 1, 0.6) << one.chosen.id;
  }
  for (const SelectedCase& one : best_to_run(advice, 1000)) EXPECT_EQ(one.spec.tp, 1) << one.id;
  EXPECT_EQ(best_to_run(advice, 2).size(), 2U);
  std::set<std::string> run;
  for (const Candidate& one : advice.fitting)
    if (one.has_executor()) run.insert(one.chosen.spec.strategy.name);
  for (const Case& spec :
       candidate_cases(look_up(parse_case(blocks + on_gpus)).spec, look_up(parse_case(blocks)).model).cases)
    EXPECT_TRUE(run.contains(spec.strategy.name)) << "of every strategy the best that can run is among them";
  EXPECT_EQ(divisions(advise(ask("mlp[layers=8]/cifar10-synthetic/sequential/np:16/batch:64" + on_gpus), h100)),
            std::set{1});
  EXPECT_EQ(divisions(advise(ask(blocks), nothing_measured)), std::set{1}) << "ranks share the cores of a CPU";
}

TEST(Divisions, AreOfGpusThatAHostIsKnownToHave) {
  const auto of = [](const std::string& keys, const Knowledge& knowledge) {
    std::vector<int> ranks;
    for (const Subject& one : divisions_of(look_up(parse_case(blocks + keys)), knowledge)) ranks.push_back(one.tensor);
    return ranks;
  };
  Knowledge known{analytic::find_hardware("h100-sxm").machine};
  EXPECT_EQ(of("/device:cuda", known), (std::vector{1, 2, 4, 8}));
  known.machine.gpus.front().count = 6;
  EXPECT_EQ(of("/device:cuda", known), (std::vector{1, 2})) << "four of six would lie on two hosts";
  known.machine.gpus.front().count = 8;
  known.hosts = 2;
  EXPECT_EQ(of("/device:cuda", known), (std::vector{1})) << "predict refuses tp with --hosts";
  known.hosts = 1;
  known.machine.sheet.reset();
  EXPECT_EQ(of("/device:cuda", known), (std::vector{1})) << "16 ranks share eight GPUs";
  known.machine.gpus.front().count = 16;
  EXPECT_EQ(of("/device:cuda", known), (std::vector{1, 2, 4, 8, 16}));
  known.machine.gpus.clear();
  EXPECT_EQ(of("/device:cuda", known), (std::vector{1}));
}

TEST(Advise, ARankHasTheMemoryOfAGpu) {
  Knowledge small_gpu{analytic::find_hardware("v100-sxm-32gb").machine};
  const Question question = ask(blocks + "/device:cuda");
  EXPECT_EQ(advise(question, small_gpu).memory, Bytes{32LL << 30});
  EXPECT_EQ(advise(ask(blocks + "/device:cuda", Bytes{40LL << 30}), small_gpu).memory, Bytes{40LL << 30});
  EXPECT_FALSE(advise(ask(blocks), small_gpu).memory);
  small_gpu.machine.gpus.front().memory_bytes = 5LL << 30;
  for (const Candidate& one : advise(question, small_gpu).fitting) EXPECT_LE(one.peak_bytes, 5LL << 30);
  small_gpu.machine.gpus.front().memory_bytes = 1LL << 20;
  try {
    advise(question, small_gpu);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::StartsWith("memory of a GPU: got '1048576 bytes', expected "),
                               testing::HasSubstr("is predicted to need"), testing::HasSubstr("--memory")));
  }
}

TEST(Advise, CasesThatDifferInWhoHoldsStatesAreSimulatedTogether) {
  const Advice advice = advise(ask("mlp[layers=8]/cifar10-synthetic/sequential/np:4/batch:32"), nothing_measured);
  std::map<std::string, int> pairs;
  for (const Candidate& one : advice.fitting) {
    if (!one.is_simulated || one.chosen.spec.strategy.name != "gpipe" || one.chosen.spec.dp == 1) continue;
    Case spec = one.chosen.spec;
    spec.zero = 0;
    ++pairs[to_id(spec)];
  }
  ASSERT_FALSE(pairs.empty());
  for (const auto& [id, cases] : pairs) EXPECT_EQ(cases, 2) << id;
}

TEST(Advise, WhatIsTooLargeForItsSharedStatesAloneDiffersFromItsTwinAsTheirClosedFormsDo) {
  const Advice advice = advise(ask("mlp[layers=8]/cifar10-synthetic/sequential/np:256/batch:1024"), nothing_measured);
  std::map<std::string, const Candidate*> simulated;
  for (const Candidate& one : advice.fitting)
    if (one.is_simulated) simulated[one.chosen.id] = &one;
  int compared = 0;
  for (const Candidate& one : advice.fitting) {
    if (one.is_simulated || one.chosen.spec.zero == 0) continue;
    Case spec = one.chosen.spec;
    spec.zero = 0;
    const auto twin = simulated.find(to_id(spec));
    if (twin == simulated.end()) continue;
    ++compared;
    EXPECT_NEAR(one.step_time_s - twin->second->step_time_s, one.form.step_time_s - twin->second->form.step_time_s,
                1e-9 * one.step_time_s)
        << one.chosen.id;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace parabench::suite
