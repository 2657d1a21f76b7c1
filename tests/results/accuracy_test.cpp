#include "results/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "results/accuracy_figures.h"
#include "results/accuracy_markdown.h"
#include "results/accuracy_text.h"
#include "results/summary.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

using testing::HasSubstr;

const std::string gpipe = "resnet18/cifar10-synthetic/gpipe/np:2/batch:64";
const std::string alone = "resnet18/cifar10-synthetic/sequential/np:1/batch:64";

/// A pass in which each case took so many seconds and was predicted to take one.
ResultsFile pass(const std::vector<std::pair<std::string, double>>& cases) {
  ResultsFile file = sample_files()[0];
  file.records.clear();
  for (const auto& [id, seconds] : cases) {
    Record& record = file.records.emplace_back(ok_record(id, 400));
    record.measured->step_time_s.median = seconds;
    record.measured->step_time_s.samples = {{seconds}};
    record.predicted->step_time_s = 1;
    record.error = compare(*record.predicted, *record.measured, record.paired);
  }
  return file;
}

TEST(Accuracy, OfACaseIsTheMedianOverItsPasses) {
  const std::vector<ResultsFile> passes = {pass({{gpipe, 1.25}}), pass({{gpipe, 2}}), pass({{gpipe, 1}})};
  const auto judged = judged_cases(passes);
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].passes, 3);
  EXPECT_DOUBLE_EQ(judged[0].measured_s, 1.25);
  EXPECT_DOUBLE_EQ(judged[0].forecast, -0.2);
  EXPECT_NEAR(*judged[0].noise, (0.2 + 0.4375 + 0.625) / 3, 1e-12) << "each pass predicted by the median of the others";
}

TEST(Accuracy, PassesOfTwoPlacementsOfACaseAreNotJudgedTogether) {
  std::vector<ResultsFile> passes = {pass({{gpipe, 1.25}}), pass({{gpipe, 2}})};
  EXPECT_EQ(judged_cases(passes).size(), 1U);
  for (ResultsFile& each : passes)
    for (RankMeasured& rank : each.records[0].measured->ranks) rank.host = "a";
  passes[1].records[0].measured->ranks.back().host = "b";
  try {
    judged_cases(passes);
    FAIL() << "two hosts are another case";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(gpipe), HasSubstr("on 1 host, not on 2 hosts")));
  }
}

TEST(Accuracy, SequentialTrainingDividedAmongRanksIsABaseline) {
  const std::vector<ResultsFile> passes = {pass({{gpipe, 0.8}, {alone, 1}})};
  const auto judged = judged_cases(passes);
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_DOUBLE_EQ(*judged[0].per_rank, 0.5 / 0.8 - 1) << judged[0].id;
  EXPECT_FALSE(judged[1].per_rank) << "of itself it says nothing";
}

TEST(Accuracy, TheBaselineIsOfTheSameTrainingInTheSamePass) {
  const std::string bf16 = "/precision:bf16";
  const auto per_rank = [](const std::vector<ResultsFile>& passes) { return judged_cases(passes).front().per_rank; };
  EXPECT_FALSE(per_rank({pass({{gpipe + bf16, 0.8}, {alone, 1}})}));
  EXPECT_DOUBLE_EQ(*per_rank({pass({{gpipe + bf16, 0.8}, {alone, 1}, {alone + bf16, 1}})}), 0.5 / 0.8 - 1);
  std::vector<ResultsFile> passes = {pass({{gpipe, 0.8}, {alone, 1}}), pass({{gpipe, 0.5}, {alone, 1}})};
  for (Record& record : passes[1].records) record.predicted->step_time_s = 2;
  EXPECT_DOUBLE_EQ(*per_rank(passes), (0.5 / 0.8 - 1 + 1 / 0.5 - 1) / 2) << "the median of what each pass tells";
}

TEST(Accuracy, TellsWhatAHypervisorTookWhileACaseRan) {
  ResultsFile file = pass({{alone, 1}, {gpipe, 1}});
  for (Record& record : file.records) {
    record.paired = {{.predicted_step_time_s = 1.5, .measured_step_time_s = 1}};
    record.error = compare(*record.predicted, *record.measured, record.paired);
    record.measured->canaries = {{.steal_share = 0.01}, {.steal_share = std::nullopt}};
  }
  const auto undisturbed = std::ranges::find(error_kinds(), "paired undisturbed", &ErrorKind::name);
  const auto cases_of = [&](std::optional<double> while_paired) {
    for (Record& record : file.records) {
      const bool is_pipe = record.id == gpipe;
      record.paired_canary = Canary{.steal_share = is_pipe ? while_paired : std::optional(0.02)};
    }
    return judged_cases(std::vector{file});
  };
  for (const JudgedCase& one : cases_of(0.3)) {
    EXPECT_EQ(one.disturbance.steal_share, one.id == gpipe ? 0.3 : 0.02);
    EXPECT_EQ(undisturbed->of(one), one.id == gpipe ? std::nullopt : one.paired) << one.id;
  }
  EXPECT_THAT(accuracy_text(cases_of(0.3)), HasSubstr("; 30.0 % of the cores' time stolen\n"));
  EXPECT_THAT(accuracy_text(cases_of(0.04)), testing::Not(HasSubstr("stolen")));
  EXPECT_EQ(cases_of(std::nullopt)[0].disturbance.steal_share, 0.01) << "of the launch that tells";
  for (Record& record : file.records) record.measured->canaries.clear();
  const JudgedCase untold = cases_of(std::nullopt)[0];
  EXPECT_EQ(untold.id, gpipe);
  EXPECT_FALSE(untold.disturbance.steal_share);
  EXPECT_FALSE(undisturbed->of(untold)) << "nobody knows";
}

TEST(Accuracy, TellsWhenCoresWereSlowerAtTimes) {
  ResultsFile file = pass({{alone, 1}, {gpipe, 1}});
  for (Record& record : file.records) {
    record.paired = {{.predicted_step_time_s = 1.5, .measured_step_time_s = 1}};
    record.error = compare(*record.predicted, *record.measured, record.paired);
    record.measured->canaries = {{.matrix_product_spread = 1.125}};
    record.paired_canary = Canary{.matrix_product_spread = record.id == gpipe ? 1.75 : 1.0625};
  }
  const auto undisturbed = std::ranges::find(error_kinds(), "paired undisturbed", &ErrorKind::name);
  const std::vector<JudgedCase> cases = judged_cases(std::vector{file});
  for (const JudgedCase& one : cases) {
    EXPECT_EQ(one.disturbance.core_spread, one.id == gpipe ? 1.75 : 1.125);
    EXPECT_EQ(undisturbed->of(one), one.id == gpipe ? std::nullopt : one.paired)
        << one.id << ": nothing is known stolen";
  }
  EXPECT_THAT(accuracy_text(cases), HasSubstr("; cores 1.75 times as slow at times\n"));
}

TEST(Accuracy, ClosureIsThePairedErrorOfOneRank) {
  ResultsFile file = pass({{gpipe, 1}, {alone, 1}});
  for (Record& record : file.records) {
    record.paired = {{.predicted_step_time_s = 1.5, .measured_step_time_s = 1}};
    record.error = compare(*record.predicted, *record.measured, record.paired);
  }
  const std::vector<ResultsFile> passes = {file};
  const auto closure = std::ranges::find(error_kinds(), "closure", &ErrorKind::name);
  for (const JudgedCase& one : judged_cases(passes)) {
    EXPECT_DOUBLE_EQ(one.paired.value_or(0), 0.5);
    EXPECT_EQ(closure->of(one), one.id == alone ? one.paired : std::nullopt);
  }
  EXPECT_THAT(accuracy_text(judged_cases(passes)), HasSubstr("  paired +50.0 %  " + gpipe));
  file.records = pass({{gpipe, 1.25}}).records;
  file.records[0].paired.clear();
  file.records[0].error = compare(*file.records[0].predicted, *file.records[0].measured, {});
  EXPECT_THAT(accuracy_text(judged_cases(std::vector{file})), HasSubstr("  forecast -20.0 %  noise ~0.3 %  " + gpipe));
}

TEST(Accuracy, TheTermThatPairedRoundsMissMostIsTheirsNotTheForecasts) {
  ResultsFile file = pass({{gpipe, 1.25}});
  Record& record = file.records[0];
  const auto round = [](double update_s, double bubble_s) {
    return PairedRound{2, 1, {{Breakdown{.update = update_s}, Breakdown{.bubble = bubble_s}}}};
  };
  record.paired = {round(0.25, 0.5), round(0.75, 9), round(0.5, 0.125)};
  EXPECT_EQ(judged_cases(std::vector{file})[0].largest_term, "update +500 ms");
  ResultsFile other = file;
  other.records[0].paired = {round(0.25, 2)};
  EXPECT_EQ(judged_cases(std::vector{file, other})[0].largest_term, "bubble -1.25 s") << "in the median over passes";
  record.paired[1].breakdown_s.reset();
  EXPECT_EQ(judged_cases(std::vector{file})[0].largest_term, "") << "rounds of schema 1.14";
  record.paired.clear();
  EXPECT_THAT(judged_cases(std::vector{file})[0].largest_term, testing::StartsWith("communication_exposed +"));
}

TEST(Accuracy, NoiseOfPairedRoundsIsTheStandardErrorOfTheirMedianOverPasses) {
  ResultsFile file = pass({{gpipe, 1}});
  Record& record = file.records[0];
  record.paired.clear();
  for (const double predicted : {1.2, 1.1, 0.9, 1.0}) record.paired.push_back({predicted, 1});
  record.error = compare(*record.predicted, *record.measured, record.paired);
  const double standard_error = 1.2533 * 1.4826 * 0.1 / 2;  // their median is 1.05, and half of them are 0.1 from it
  EXPECT_NEAR(*judged_cases(std::vector{file})[0].paired_noise, standard_error, 1e-9);
  EXPECT_NEAR(*judged_cases(std::vector{file, file, file, file})[0].paired_noise, standard_error / 2, 1e-9);
  EXPECT_THAT(accuracy_text(judged_cases(std::vector{file})),
              HasSubstr("  paired +5.0 %  noise 9.3 %, within  " + gpipe));
  file.records[0].paired.resize(2);
  EXPECT_FALSE(judged_cases(std::vector{file})[0].paired_noise) << "two rounds tell too little";
}

TEST(Accuracy, NoiseOfPairedRoundsIsThatOfPassesWhereTheseAreFurtherApart) {
  std::vector<ResultsFile> files;
  for (const double predicted : {1.25, 1.0, 1.125}) {
    Record& record = files.emplace_back(pass({{gpipe, 1}})).records[0];
    record.paired = {{predicted, 1}, {predicted, 1}, {predicted, 1}};
    record.error = compare(*record.predicted, *record.measured, record.paired);
  }
  EXPECT_NEAR(*judged_cases(files)[0].paired_noise, 1.2533 * 0.125 / std::sqrt(3), 1e-9);
  files.pop_back();
  EXPECT_NEAR(*judged_cases(files)[0].paired_noise, 0.125, 1e-9) << "of the mean of two, 0.25 apart";
  files.pop_back();
  EXPECT_EQ(judged_cases(files)[0].paired_noise, 0) << "what launches differ by one does not tell";
}

TEST(Accuracy, CasesThatDoNotCountAreLeftOut) {
  ResultsFile file = pass({{gpipe, 1}, {alone, 1}});
  file.records[0].equivalence.status = EquivalenceStatus::fail;
  const std::vector<ResultsFile> passes = {file};
  ASSERT_EQ(judged_cases(passes).size(), 1u);
  EXPECT_EQ(judged_cases(passes)[0].id, alone);
}

TEST(Accuracy, ResidentMemoryIsThatOfTheRankThatNeedsMost) {
  std::vector<ResultsFile> passes = {pass({{gpipe, 1}})};
  EXPECT_FALSE(judged_cases(passes)[0].resident) << "it was not predicted";
  Record& record = passes[0].records[0];
  record.measured->ranks[0].peak_memory.resident = 400;
  record.measured->ranks[1].peak_memory.resident = 200;
  record.predicted->ranks[0].peak_memory.resident = 250;
  record.predicted->ranks[1].peak_memory.resident = 300;
  EXPECT_DOUBLE_EQ(judged_cases(passes)[0].resident.value(), -0.25);
  EXPECT_THAT(accuracy_text(judged_cases(passes)), HasSubstr("resident memory"));
}

TEST(Accuracy, PassesOfAnotherMachineAreRefused) {
  std::vector<ResultsFile> passes = {pass({{gpipe, 1}}), pass({{gpipe, 1}})};
  ASSERT_TRUE(passes[1].calibration);
  passes[1].calibration->machine_id = "another";
  EXPECT_THROW(judged_cases(passes), Error);
}

TEST(Accuracy, FiguresAreOfAbsoluteErrorsButForTheRatio) {
  const ErrorFigures f = figures_of(std::vector{-0.1, 0.3, -0.2});
  EXPECT_EQ(f.cases, 3);
  EXPECT_NEAR(f.mean, 0.2, 1e-12);
  EXPECT_NEAR(f.median, 0.2, 1e-12);
  EXPECT_NEAR(f.max, 0.3, 1e-12);
  EXPECT_NEAR(f.median_ratio, 0.9, 1e-12);
  EXPECT_EQ(figures_of({}).cases, 0);
}

TEST(Accuracy, IntervalsAreThoseOfSamplesOfTheCases) {
  EXPECT_FALSE(mean_interval(std::vector{0.1, 0.2, 0.3, 0.4})) << "too few";
  EXPECT_FALSE(median_interval({1, 2, 3, 4}));
  EXPECT_EQ(mean_interval(std::vector(5, 0.5)), Interval(0.5, 0.5));
  EXPECT_EQ(median_interval(std::vector(5, 0.5)), Interval(0.5, 0.5));
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) values.push_back(i);
  const Interval mean = mean_interval(values).value(), median = median_interval(values).value();
  const double half_width = 1.96 * 29.2 / std::sqrt(101.0);  // of the mean, by its standard error
  EXPECT_NEAR(mean.first, 50 - half_width, 0.6);
  EXPECT_NEAR(mean.second, 50 + half_width, 0.6);
  EXPECT_NEAR(median.first, 40, 2) << "the binomial interval of order statistics";
  EXPECT_NEAR(median.second, 60, 2);
}

/// Six cases that took 2, 3, ... 7 s, and were predicted to take one.
std::vector<JudgedCase> six_cases() {
  std::vector<std::pair<std::string, double>> cases;
  for (int i = 1; i <= 6; ++i)
    cases.emplace_back("resnet18/cifar10-synthetic/gpipe/np:2/batch:" + std::to_string(32 * i), 1 + i);
  return judged_cases(std::vector{pass(cases)});
}

TEST(Accuracy, FiguresHaveIntervalsWhereThereAreEnoughCases) {
  std::vector<JudgedCase> cases = six_cases();
  for (JudgedCase& one : cases) one.resident = 0.25;
  cases[0].memory = cases[1].memory = std::nullopt;
  const nlohmann::json figures = accuracy_json(cases)["figures"];
  const nlohmann::json& forecast = figures["forecast"];
  for (const auto& [figure, ends] : {std::pair("mean", "mean_ci95"), {"median_ratio", "median_ratio_ci95"}}) {
    EXPECT_LT(forecast[ends][0].get<double>(), forecast[figure].get<double>()) << figure;
    EXPECT_GT(forecast[ends][1].get<double>(), forecast[figure].get<double>()) << figure;
  }
  EXPECT_EQ(figures["resident memory"]["mean_ci95"], nlohmann::json::array({0.25, 0.25}));
  EXPECT_EQ(figures["peak memory"]["mean_ci95"], nullptr) << "of four cases";
  EXPECT_GT(figures["noise"]["mean"], 0);
  EXPECT_EQ(figures["noise"]["median_ratio"], nullptr) << "no prediction of anything";
  EXPECT_EQ(figures["noise"]["median_ratio_ci95"], nullptr);
  const std::string text = accuracy_text(cases);
  EXPECT_THAT(text, HasSubstr("                        cases     mean        95 %   median "
                              "     p90      max   ratio        95 %\n"));
  EXPECT_THAT(text, HasSubstr("\nresident memory             6   25.0 %   25.0-25.0   25.0 % "
                              "  25.0 %   25.0 %   1.250 1.250-1.250\n"));
  EXPECT_EQ(accuracy_text(six_cases()), accuracy_text(six_cases()));
}

TEST(Accuracy, AnErrorWithinTheNoiseBesideItIsMarked) {
  JudgedCase one = six_cases()[0];
  one.forecast = -0.04;
  one.noise = 0.05;
  one.paired = 0.03;
  one.paired_noise = 0.01;
  EXPECT_EQ(noise_text(one), "~5.0 %, within") << "of one launch it is the calibration's";
  EXPECT_EQ(paired_noise_text(one), "1.0 %");
  one.passes = 2;
  one.paired_noise = 0.03;
  EXPECT_EQ(noise_text(one), "5.0 %, within");
  EXPECT_EQ(paired_noise_text(one), "3.0 %, within");
  one.noise = one.paired_noise = std::nullopt;
  EXPECT_EQ(noise_text(one), "-");
  EXPECT_EQ(paired_noise_text(one), "-");
}

TEST(AccuracyMarkdown, HasFiguresAndEveryCaseUnderWhatIdsShareWithSignsAndNoise) {
  std::vector<JudgedCase> cases = six_cases();
  cases.resize(2);
  for (JudgedCase& one : cases) {
    one.passes = 2;
    one.measured_s = 0.125;
    one.forecast = -0.04;
    one.noise = 0.05;
    one.paired = std::nullopt;
    one.memory = 0.001;
  }
  cases[0].paired = 0.03;
  cases[0].paired_noise = 0.01;
  cases[1].noise = 0.03;
  const std::string text = accuracy_markdown(cases);
  EXPECT_THAT(text, testing::StartsWith("2 cases in up to 2 passes; "));
  EXPECT_THAT(text, HasSubstr("\n\n|  | cases | mean | 95 % | median | p90 | max | ratio | 95 % |\n"
                              "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
                              "| forecast | 2 | 4.0 % | - | 4.0 % | 4.0 % | 4.0 % | 0.960 | - |\n"));
  EXPECT_THAT(text,
              testing::EndsWith("\n\n| case | measured, ms | forecast | noise | paired | paired noise | peak memory |\n"
                                "|---|---:|---:|---:|---:|---:|---:|\n"
                                "| **`resnet18/cifar10-synthetic/`** |\n"
                                "| `gpipe/np:2/batch:128` | 125 | -4.0 % | 5.0 %, within | +3.0 % | 1.0 % | +0.1 % |\n"
                                "| `gpipe/np:2/batch:160` | 125 | -4.0 % | 3.0 % | - | - | +0.1 % |\n"))
      << "by id, without columns of nothing";
  EXPECT_EQ(accuracy_markdown({}), accuracy_text({}));
}

TEST(Accuracy, TextTableAndJsonHoldEveryCase) {
  const std::vector<ResultsFile> passes = {pass({{gpipe, 1.25}, {alone, 1}})};
  const auto judged = judged_cases(passes);
  const std::string text = accuracy_text(judged);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("2 cases in up to 1 pass"), HasSubstr("forecast"), HasSubstr("gpipe"),
                                   HasSubstr("furthest off"), HasSubstr(gpipe)));
  EXPECT_THAT(text, HasSubstr("; most in bubble +10.0 ms"));
  const std::string csv = accuracy_csv(judged);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
  EXPECT_THAT(csv, testing::StartsWith("id,passes,measured_s,predicted_s,forecast,held_out,stale,paired,paired_noise,"
                                       "adjusted,noise,stolen,core_spread,peak_memory,resident_memory,time_over_ranks,"
                                       "ddlbench,choice,largest_term\n"));
  const nlohmann::json cases = accuracy_json(judged)["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].size(), 19u);
  EXPECT_THAT(csv, HasSubstr("\n" + cases[1]["id"].get<std::string>() + ",1,"));
  EXPECT_EQ(cases[1]["measured_s"], judged[1].measured_s);
  EXPECT_EQ(cases[1]["time_over_ranks"], nullptr);
  EXPECT_EQ(accuracy_json(judged)["figures"]["forecast"]["cases"], 2);
  EXPECT_THAT(accuracy_text({}), HasSubstr("no case counts"));
}

}  // namespace
}  // namespace parabench::results
