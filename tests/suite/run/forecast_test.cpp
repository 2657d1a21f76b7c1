// One prediction per case.
#include "suite/run/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analytic/calibration/combine.h"
#include "analytic/calibration/scope.h"
#include "analytic/simulate/predict.h"
#include "base/case_id.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "suite/cases/catalogue.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

const Knowledge nothing_measured{{.cores = 2, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256},
                                 nullptr};

/// The catalogue's first case of each strategy and device with so many ranks.
std::vector<Case> one_of_each(int ranks) {
  std::vector<Case> cases;
  std::set<std::pair<std::string, DeviceKind>> seen;
  for (const Case& spec : catalogue()) {
    if ((spec.np == ranks || spec.np == 1) && seen.emplace(spec.strategy.name, spec.device).second)
      cases.push_back(spec);
  }
  return cases;
}

TEST(Forecast, IsTheSameWhateverWindowIsAskedFor) {
  for (const Case& spec : one_of_each(4)) {
    const Subject subject = make_subject(spec);
    const Predicted usual =
        make_forecast(subject, nothing_measured, protocol::default_warmup, protocol::default_steps).predicted;
    for (const auto& [warmup, steps] : {std::pair{3, 2}, {0, 1}, {0, 60}}) {
      const Predicted other = make_forecast(subject, nothing_measured, warmup, steps).predicted;
      EXPECT_EQ(other.step_time_s, usual.step_time_s) << to_id(spec) << " of " << steps << " steps";
      EXPECT_EQ(total_bytes(other), total_bytes(usual)) << to_id(spec) << " of " << steps << " steps";
    }
  }
}

TEST(Forecast, AnAsynchronousPlanHasTheWindowThatWasAskedFor) {
  const Subject subject = make_subject(parse_case("resnet18/cifar10-synthetic/pipedream/np:4/batch:64"));
  EXPECT_EQ(make_forecast(subject, nothing_measured, 10, 50).plan.steps, 60);
  const plan::Plan shortest = make_forecast(subject, nothing_measured, 0, 1).plan;
  EXPECT_EQ(shortest.steps, plan::equivalence_steps(shortest));
}

TEST(Forecast, OfACaseOnSeveralHostsTakesNothingFromOneHostsCurves) {
  const Subject subject = make_subject(parse_case("mlp[layers=2]/mnist-synthetic/data-parallel/np:2/batch:8"));
  const analytic::MachineInfo& machine = nothing_measured.machine;
  const plan::Plan plan = make_forecast(subject, nothing_measured, 5, 20).plan;
  analytic::Calibration known = analytic::promised_calibration(plan, subject.model, machine);
  known.date = "2026-01-01T00:00:00Z";
  Knowledge knowledge{.machine = machine, .calibration = &known};
  EXPECT_EQ(make_forecast(subject, knowledge, 5, 20).cost_source, "calibrated");
  knowledge.placements[2] = in_blocks(2, 2);
  const Forecast guessed = make_forecast(subject, knowledge, 5, 20);
  EXPECT_EQ(guessed.cost_source, "data-sheet");
  EXPECT_NE(guessed.gap.find("no all-reduce curve of 2 ranks on 2 hosts"), std::string::npos) << guessed.gap;

  plan::Plan placed = plan;
  placed.placement = knowledge.placements[2];
  analytic::Calibration between = analytic::promised_calibration(placed, subject.model, machine);
  for (auto& [key, curve] : between.all_reduce)
    for (analytic::CurvePoint& point : curve) point.seconds *= 100;
  analytic::merge(known, between);
  const Forecast forecast = make_forecast(subject, knowledge, 5, 20);
  EXPECT_EQ(forecast.cost_source, "calibrated");
  EXPECT_TRUE(std::ranges::any_of(forecast.predicted.terms, [](const Term& term) {
    return term.formula.find("2 ranks on 2 hosts") != std::string::npos;
  }));
  knowledge.placements.clear();
  const double on_one = make_forecast(subject, knowledge, 5, 20).predicted.step_time_s;
  EXPECT_GT(forecast.predicted.step_time_s, 2 * on_one);
  knowledge.hosts = 2;
  EXPECT_EQ(make_forecast(subject, knowledge, 5, 20).predicted.step_time_s, forecast.predicted.step_time_s);
  const Subject threads =
      make_subject(parse_case("mlp[layers=2]/mnist-synthetic/data-parallel/np:2/batch:8/comm:threads"));
  EXPECT_EQ(placement_of(knowledge, threads.spec), Placement{}) << "threads are of one process";
}

TEST(Forecast, TermsAreAsOldAsTheNewestLaunchBehindTheCase) {
  const auto subject_of = [](const std::string& rest) {
    return make_subject(parse_case("mlp[layers=2]/mnist-synthetic/sequential/np:1/" + rest));
  };
  const auto launch_of = [&](const std::string& rest, const std::string& date) {
    const Subject subject = subject_of(rest);
    const plan::Plan plan = make_forecast(subject, nothing_measured, 5, 20).plan;
    analytic::Calibration launch = analytic::promised_calibration(plan, subject.model, nothing_measured.machine);
    launch.date = date;
    return launch;
  };
  const std::string old = "2026-01-01T00:00:00Z", today = "2026-03-01T00:00:00Z";
  analytic::Calibration known = launch_of("batch:8", old);
  analytic::merge(known, launch_of("batch:32", today));
  ASSERT_EQ(known.date, today);
  const Knowledge knowledge{.machine = nothing_measured.machine, .calibration = &known};
  const auto date_of = [&](const std::string& rest) {
    const Predicted predicted = make_forecast(subject_of(rest), knowledge, 5, 20).predicted;
    for (const Term& term : predicted.terms) EXPECT_EQ(term.date, calibrated_on(predicted)) << rest << ' ' << term.name;
    return calibrated_on(predicted);
  };
  EXPECT_EQ(date_of("batch:8"), old);
  EXPECT_EQ(date_of("batch:32"), today);
  EXPECT_EQ(date_of("batch:8/device:emulated"), old);
  EXPECT_EQ(date_of("batch:8/threads:2"), "") << "nobody measured it";
}

// The first steps fill an asynchronous pipeline and the last ones drain it; the median is not theirs.
TEST(Forecast, OfAsynchronousPipelinesIsTheSteadyState) {
  for (const char* id :
       {"resnet18/cifar10-synthetic/pipedream/np:2/batch:64", "resnet18/cifar10-synthetic/pipedream/np:4/batch:64",
        "resnet18/cifar10-synthetic/pipedream[replicas=2-1-1]/np:4/batch:64",
        "resnet50/cifar10-synthetic/pipedream/np:8/batch:64", "resnet18/cifar10-synthetic/pipedream-2bw/np:4/batch:64",
        "resnet18/cifar10-synthetic/pipedream/np:4/batch:64/device:cuda"}) {
    const Subject subject = make_subject(parse_case(id));
    const Forecast forecast = make_forecast(subject, nothing_measured, 0, 200);
    const analytic::Costs costs = make_costs(subject, nothing_measured, forecast.cost_source);
    const double endless =
        analytic::predict(forecast.plan, subject.model, *costs.time, *costs.memory, 50, 150).step_time_s;
    EXPECT_NEAR(forecast.predicted.step_time_s, endless, 1e-3 * endless) << id;
  }
}

}  // namespace
}  // namespace parabench::suite
