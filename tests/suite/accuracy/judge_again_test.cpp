// Predictions made again from less than is known.
#include "suite/accuracy/judge_again.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/case_id.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/plan.h"
#include "results/summary.h"
#include "suite/accuracy/repredict.h"
#include "suite/run/forecast.h"
#include "suite/run/pair.h"
#include "tests/suite/promised.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const analytic::MachineInfo machine{
    .id = "0123", .cores = 2, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256};
const std::string net = "mlp[layers=4]/cifar10-synthetic/";

/// What launches for these cases bring, every layer's time being a line over samples, and twice as long with two ranks
/// busy.
analytic::Calibration measured_for(const std::vector<std::string>& ids, const std::string& date,
                                   const std::map<int, Placement>& placements = {}) {
  std::vector<std::string> of_net;
  for (const std::string& id : ids) of_net.push_back(net + id);
  analytic::Calibration calibration = promised_for(of_net, machine, date, placements);
  for (auto& [key, timings] : calibration.layers)
    for (analytic::LayerTiming& one : timings) {
      one.forward_s = key.busy_ranks * (1e-3 + 1e-4 * one.samples);
      one.backward_s = 2 * one.forward_s;
    }
  return calibration;
}

analytic::Calibration slower(analytic::Calibration calibration, int samples, double factor) {
  for (auto& [key, timings] : calibration.layers)
    for (analytic::LayerTiming& one : timings)
      if (samples == 0 || one.samples == samples) {
        one.forward_s *= factor;
        one.backward_s *= factor;
      }
  return calibration;
}

/// A record that took as long as it was predicted.
results::Record record_of(const std::string& id, const analytic::Calibration& calibration,
                          const std::map<int, Placement>& placements = {}) {
  results::Record record;
  record.id = net + id;
  record.parameters = parse_case(net + id);
  const Knowledge knowledge{.machine = machine, .calibration = &calibration, .placements = placements};
  const Forecast forecast = make_forecast(make_subject(record.parameters), knowledge, 5, 20);
  EXPECT_EQ(forecast.cost_source, "calibrated") << forecast.gap;
  record.plan = results::PlanSummary{plan::hash(forecast.plan), plan::partition(forecast.plan)};
  record.predicted = forecast.predicted;
  record.measured.emplace().step_time_s.samples = {{forecast.predicted.step_time_s}};
  results::summarise(record.measured->step_time_s);
  for (const RankPredicted& rank : forecast.predicted.ranks)
    record.measured->ranks.push_back({.rank = rank.rank,
                                      .host = std::to_string(host_of(forecast.plan.placement, rank.rank)),
                                      .peak_memory = rank.peak_memory});
  return record;
}

const std::string two = "data-parallel/np:2/batch:32", four = "data-parallel/np:2/batch:8";
const std::string date = "2026-01-02T12:00:00Z";

TEST(Repredict, FromTheSameCalibrationIsTheForecast) {
  const auto calibration = measured_for({two, four}, date);
  const results::Record record = record_of(two, calibration);
  const auto again = repredict(record, {calibration}, false);
  ASSERT_TRUE(again);
  EXPECT_NEAR(again->whole, 0, 1e-12);
  EXPECT_FALSE(again->stale);
  EXPECT_FALSE(again->paired);
  EXPECT_FALSE(again->ablated.terms.front());
}

TEST(Repredict, KnowsTheHostsThatTheRecordRanOn) {
  const std::map<int, Placement> two_hosts = {{2, in_blocks(2, 2)}};
  const auto calibration = measured_for({two, four}, date, two_hosts);
  results::Record record = record_of(two, calibration, two_hosts);
  const auto again = repredict(record, {calibration}, false);
  ASSERT_TRUE(again);
  EXPECT_NEAR(again->whole, 0, 1e-12);
  EXPECT_TRUE(again->held_out);
  for (results::RankMeasured& rank : record.measured->ranks) rank.host = "one";
  EXPECT_FALSE(repredict(record, {calibration}, false)) << "never measured on one host";
}

// Pieces of 16 are predicted from 8, 4 and 2.
TEST(Repredict, HeldOutKnowsNothingOfTheCasesOwnSamples) {
  const auto calibration = measured_for({two, four}, date);
  const results::Record record = record_of(two, calibration);
  EXPECT_NEAR(*repredict(record, {calibration}, false)->held_out, 0, 1e-9);
  const auto again = repredict(record, {slower(calibration, 16, 1.5)}, false);
  EXPECT_GT(again->whole, 0.2);
  EXPECT_NEAR(*again->held_out, 0, 1e-9);
}

TEST(Repredict, HeldOutIsNothingWhereTooLittleIsLeft) {
  const auto calibration = measured_for({two}, date);
  EXPECT_FALSE(repredict(record_of(two, calibration), {calibration}, false)->held_out);
}

TEST(Repredict, StaleIsFromTheOlderCalibrationAndNothingWhereThatLacksSomething) {
  const auto calibration = measured_for({two, four}, date);
  const results::Record record = record_of(two, calibration);
  const auto older = slower(calibration, 0, 2);
  EXPECT_GT(*repredict(record, {calibration, &older}, false)->stale, 0.5);
  const auto lacking = measured_for({"sequential/np:1/batch:32"}, date);
  EXPECT_FALSE(repredict(record, {calibration, &lacking}, false)->stale);
}

TEST(Repredict, EveryAblationIsFasterAndThatOfSharingByAsMuchAsRanksSlowEachOther) {
  const auto calibration = measured_for({two, four}, date);
  const results::Record record = record_of(two, calibration);
  const auto again = repredict(record, {calibration}, true);
  for (const auto& ablated : again->ablated.terms) EXPECT_LE(*ablated, again->whole + 1e-9);
  EXPECT_LT(*again->ablated.terms[static_cast<std::size_t>(analytic::AblatedTerm::sharing)], -0.25);
  EXPECT_LE(*again->ablated.waiting, again->whole);
}

// Rounds on a machine that is slower in all of one, and in what it calibrates in the last.
protocol::PairedRounds rounds_of(const results::Record& record, const analytic::Calibration& calibration) {
  const double step_s = record.predicted->step_time_s;
  return {.rounds = {{calibration, {step_s}},
                     {slower(calibration, 0, 2), {2 * step_s}},
                     {slower(calibration, 0, 2), {step_s}}},
          .canary = {}};
}

TEST(Repredict, PairedIsTheMedianOverRoundsEachFromWhatItCalibratedItself) {
  const auto calibration = measured_for({two, four}, date);
  const results::Record record = record_of(two, calibration);
  const protocol::PairedRounds rounds = rounds_of(record, calibration);
  const auto again = repredict(record, {.calibration = calibration, .rounds = &rounds}, true);
  EXPECT_NEAR(*again->paired, 0, 0.1) << "sums did not become slower";
  EXPECT_LT(*again->ablated_paired.terms[static_cast<std::size_t>(analytic::AblatedTerm::sharing)], -0.25);
  EXPECT_LE(*again->ablated_paired.waiting, *again->paired);
  EXPECT_EQ(again->ablated_paired.rehearsal, again->paired) << "nothing was rehearsed";
}

TEST(Repredict, AnotherPlanThanTheOneThatRanIsNotJudged) {
  const auto calibration = measured_for({"gpipe/np:2/batch:32"}, date);
  results::Record record = record_of("gpipe/np:2/batch:32", calibration);
  EXPECT_TRUE(repredict(record, {calibration}, false));
  record.plan->partition.front() += 1;
  record.plan->partition.back() -= 1;
  EXPECT_FALSE(repredict(record, {calibration}, false));
}

TEST(PairAgain, RoundsAndTheirErrorAreThoseOfTheProgramThatJudges) {
  const auto calibration = measured_for({two, four}, date);
  results::Record record = record_of(two, calibration);
  record.paired = {{.predicted_step_time_s = 9, .measured_step_time_s = 1}};
  record.error = results::compare(*record.predicted, *record.measured, record.paired);
  const protocol::PairedRounds rounds = rounds_of(record, calibration);
  const Sources sources{.calibration = calibration, .rounds = &rounds};
  pair_again(record, sources);
  ASSERT_EQ(record.paired.size(), 3u);
  EXPECT_NEAR(record.error->paired_step_time_relative.value(), *repredict(record, sources, false)->paired, 1e-12);
  record.plan->partition.front() += 1;
  record.paired.front().predicted_step_time_s = 9;
  pair_again(record, sources);
  EXPECT_EQ(record.paired.front().predicted_step_time_s, 9) << "of another plan than the one that ran";
}

TEST(PairAgain, OperationsTakeWhatTheyTookInTheRehearsal) {
  const std::string pipeline = "gpipe/np:2/batch:32";
  const auto calibration = measured_for({pipeline}, date);
  results::Record record = record_of(pipeline, calibration);
  record.paired = {{.predicted_step_time_s = 9, .measured_step_time_s = 1}};
  record.error = results::compare(*record.predicted, *record.measured, record.paired);
  protocol::PairedRounds rounds{.rounds = {{calibration, {1}}, {calibration, {1}}}, .canary = {}};
  const double seconds = 10;
  const Knowledge knowledge{.machine = machine, .calibration = &calibration};
  const plan::Plan steps = plan::unroll(make_forecast(make_subject(record.parameters), knowledge, 5, 20).plan,
                                        protocol::paired_warmup + protocol::paired_steps);
  for (const plan::RankProgram& rank : steps.ranks)
    rounds.rounds[1].rehearsed_s.emplace_back(rank.compute().size(), seconds);
  const Sources sources{.calibration = calibration, .rounds = &rounds};
  pair_again(record, sources);
  EXPECT_LT(record.paired[0].predicted_step_time_s, seconds);
  // Forwards and backwards of all micro-batches on one rank, one of each on the other, and an update; beside each other
  // they lose less or more than in the rehearsal.
  const double step_s = (2 * (record.parameters.micro + 1) + 1) * seconds;
  EXPECT_NEAR(record.paired[1].predicted_step_time_s, step_s, 0.1 * step_s);
  const auto again = repredict(record, sources, true);
  EXPECT_NEAR(*again->paired, *record.error->paired_step_time_relative, 1e-9);
  EXPECT_NEAR(*again->ablated_paired.rehearsal, record.paired[0].predicted_step_time_s - 1, 1e-9) << "chains alone";
  EXPECT_GT(*again->ablated_paired.terms[static_cast<std::size_t>(analytic::AblatedTerm::messages)], 1);
  rounds.rounds[1].rehearsed_s.front().pop_back();
  record.paired.front().predicted_step_time_s = 9;
  pair_again(record, sources);
  EXPECT_EQ(record.paired.front().predicted_step_time_s, 9) << "rehearsed another plan than the one that ran";
}

TEST(PairAgain, TakesTheRoundsThatAPassKept) {
  const fs::path folder = fs::path(testing::TempDir()) / "rounds-of-pass";
  Pass pass{.calibration = measured_for({two, four}, date), .rounds = folder};
  results::Record record = record_of(two, *pass.calibration);
  record.paired = {{.predicted_step_time_s = 9, .measured_step_time_s = 1}};
  record.error = results::compare(*record.predicted, *record.measured, record.paired);
  keep_rounds(rounds_of(record, *pass.calibration), folder, record.id);
  pass.results.records = {record};
  pair_again(std::span(&pass, 1));
  EXPECT_EQ(pass.results.records[0].paired.size(), 3u);
  fs::remove_all(folder);
  pass.results.records = {record};
  pair_again(std::span(&pass, 1));
  EXPECT_EQ(pass.results.records[0].paired.size(), 1u) << "as it ran";
}

Pass pass_of(const std::string& calibrated, double factor = 1) {
  Pass pass;
  pass.calibration = measured_for({two, four}, calibrated);
  pass.results.records = {record_of(two, *pass.calibration)};
  *pass.calibration = slower(*pass.calibration, 0, factor);
  return pass;
}

TEST(JudgeAgain, StaleIsTheLatestThatIsOlderByTwoHours) {
  const std::vector<Pass> passes = {pass_of("2026-01-01T23:00:00Z"), pass_of("2026-01-02T09:30:00Z"),
                                    pass_of("2026-01-02T10:00:01Z"), pass_of(date), Pass{}};
  EXPECT_EQ(stale_calibration(passes, passes[3]), &*passes[1].calibration);
  EXPECT_EQ(stale_calibration(passes, passes[1]), &*passes[0].calibration) << "over midnight";
  EXPECT_EQ(stale_calibration(passes, passes[0]), nullptr);
  EXPECT_EQ(stale_calibration(passes, passes[4]), nullptr);
}

TEST(JudgeAgain, StaleIsOfTheSameFolder) {
  std::vector<Pass> passes = {pass_of("2026-01-01T23:00:00Z"), pass_of("2026-01-02T09:30:00Z"), pass_of(date)};
  passes[1].folder = "another";
  EXPECT_EQ(stale_calibration(passes, passes[2]), &*passes[0].calibration);
  EXPECT_EQ(stale_calibration(passes, passes[1]), nullptr);
}

TEST(JudgeAgain, DdlbenchsEquationsAreThoseOfTheProgramThatJudges) {
  std::vector<Pass> passes = {pass_of(date)};
  results::Record& record = passes[0].results.records[0];
  const double step_s = results::ddlbench_step_time(*record.predicted).value();
  record.predicted->second_opinion_step_time_s.clear();
  std::vector<results::JudgedCase> cases = results::judged_cases(std::vector{passes[0].results});
  ASSERT_FALSE(cases[0].ddlbench);
  judge_again(cases, passes, false);
  EXPECT_NEAR(cases[0].ddlbench.value(), step_s / record.measured->step_time_s.median - 1, 1e-9);
}

TEST(JudgeAgain, SetsMediansOverPassesAndAblatesWhereAsked) {
  const std::vector<Pass> passes = {pass_of("2026-01-01T00:00:00Z"), pass_of(date)};
  std::vector<results::ResultsFile> files;
  for (const Pass& pass : passes) files.push_back(pass.results);
  std::vector<results::JudgedCase> cases = results::judged_cases(files);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_TRUE(judge_again(cases, passes, false).empty());
  EXPECT_NEAR(*cases[0].held_out, 0, 1e-9);
  EXPECT_NEAR(*cases[0].stale, 0, 1e-9) << "the machine has not changed";
  const auto ablations = judge_again(cases, passes, true);
  ASSERT_EQ(ablations.size(), enum_values<analytic::AblatedTerm>.size() + 3) << "nothing, rehearsals, waiting";
  EXPECT_EQ(ablations[0].without, "nothing");
  EXPECT_NEAR(ablations[0].figures.mean, 0, 1e-9);
  EXPECT_EQ(ablations[1].without, "sharing");
  EXPECT_GT(ablations[1].figures.mean, 0.25);
  const Ablation& of_chains = ablations[ablations.size() - 2];
  EXPECT_EQ(of_chains.without, "rehearsal");
  EXPECT_EQ(of_chains.figures.mean, ablations[0].figures.mean) << "forecasts have none";
  EXPECT_THAT(ablations_text(ablations), HasSubstr("forecast without"));
  EXPECT_EQ(ablations_json(ablations).size(), ablations.size());
  EXPECT_TRUE(ablations_json(ablations)[0]["paired"].is_null()) << "no rounds were kept";
  EXPECT_EQ(ablations_text({}), "");
}

TEST(JudgeAgain, AblatesTheCasesThatAreJudgedAlone) {
  const std::vector<Pass> passes = {pass_of(date)};
  std::vector<results::JudgedCase> none;
  EXPECT_EQ(judge_again(none, passes, true).front().figures.cases, 0);
}

TEST(JudgeAgain, WithoutCalibrationsThereIsNothing) {
  std::vector<Pass> passes = {pass_of(date)};
  std::vector<results::JudgedCase> cases = results::judged_cases(std::vector{passes[0].results});
  passes[0].calibration.reset();
  judge_again(cases, passes, true);
  EXPECT_FALSE(cases[0].held_out);
  EXPECT_EQ(ablations_text(judge_again(cases, passes, true)), "");
}

}  // namespace
}  // namespace parabench::suite
