// Times on a machine that differs from a known one in some figures.
#include "analytic/costs/what_if.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr MicroBatchId m0{0};

/// Every part of every operation is there, and a rank's deviations are a tenth of it.
class AllParts final : public TimeModel {
 public:
  explicit AllParts(int cores, std::string source = "calibrated") : cores_(cores), source_(std::move(source)) {}
  TimeParts parts(const plan::Plan&, Rank, const plan::Op&, int) const override {
    return {.compute = 16, .launch = 8, .memory = 4, .latency = 2, .transfer = 1};
  }
  double deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const override { return 3.1; }
  Link link(const plan::Plan&) const override { return {.latency_s = 5, .bytes_per_s = 7}; }
  int cores() const override { return cores_; }
  std::string source() const override { return source_; }

 private:
  int cores_;
  std::string source_;
};

std::unique_ptr<const TimeModel> changed(const WhatIf& what_if, int cores = 2) {
  return changed_times(std::make_unique<AllParts>(cores), what_if, Sizes(chain(4)));
}

const plan::Op forward = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
const plan::Op sum = plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0));

TEST(WhatIf, FactorsChangeThePartsThatAreNamed) {
  const plan::Plan plan = data_parallel(4, 4);
  const WhatIf what_if{.bandwidth = {.factor = 4}, .latency = {.factor = .5}, .device = {.flops = 2, .memory = 8}};
  const auto time = changed(what_if);
  EXPECT_EQ(time->parts(plan, Rank(0), forward, 1),
            (TimeParts{.compute = 8, .launch = 8, .memory = .5, .latency = 2, .transfer = 1}));
  EXPECT_EQ(time->parts(plan, Rank(0), sum, 1),
            (TimeParts{.compute = 16, .launch = 8, .memory = .5, .latency = 1, .transfer = .25}));
  EXPECT_EQ(time->link(plan), (Link{.latency_s = 2.5, .bytes_per_s = 28}));
  EXPECT_EQ(time->source(), "calibrated");
}

TEST(WhatIf, ChangesNothingThatIsNotNamed) {
  const plan::Plan plan = data_parallel(4, 4);
  const AllParts base(2);
  const auto time = changed({});
  for (const plan::Op& op : {forward, sum}) {
    EXPECT_EQ(time->parts(plan, Rank(0), op, 4), base.parts(plan, Rank(0), op, 4));
    EXPECT_EQ(time->deviation_s(plan, Rank(0), op, 4), 3.1);
  }
  EXPECT_EQ(time->cores(), 2);
}

TEST(WhatIf, ValuesStandForLinksAsEmulatedOnesAre) {
  const models::ModelSpec model = chain(4);
  const Link link{.latency_s = 1e-3, .bytes_per_s = 1e5};
  const WhatIf what_if{.bandwidth = {.value = 1e5}, .latency = {.value = 1e-3}};
  const auto emulated = over_link(unit_costs(1).time, link, Sizes(model));
  const auto time = changed_times(unit_costs(1).time, what_if, Sizes(model));
  plan::Plan replicas = data_parallel(4, 4);
  replicas.spec.reduce = ReduceKind::ring;
  const plan::Plan pipe = gpipe(4, 4);
  for (const plan::Op& op : {sum, plan::reduce_scatter(SegmentId(0), 4, StepId(0), GroupId(0))})
    EXPECT_DOUBLE_EQ(time->seconds(replicas, Rank(0), op, 1), emulated->seconds(replicas, Rank(0), op, 1));
  const plan::Op message = plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1));
  EXPECT_DOUBLE_EQ(time->seconds(pipe, Rank(0), message, 1), emulated->seconds(pipe, Rank(0), message, 1));
  EXPECT_EQ(time->link(pipe), link);
}

TEST(WhatIf, RanksTakeTurnsOnTheCoresThatThereAre) {
  const plan::Plan plan = data_parallel(4, 4);
  const auto seconds = [&](const Change& cores, int busy) {
    return changed({.cores = cores})->seconds(plan, Rank(0), forward, busy);
  };
  EXPECT_DOUBLE_EQ(seconds({.value = 64}, 4), 31.0 / 2) << "four ranks on two cores took turns";
  EXPECT_DOUBLE_EQ(seconds({.value = 64}, 2), 31 / (1 + 1.0 / 3)) << "two of them did where one was beside the other";
  const auto of_data_sheet =
      changed_times(std::make_unique<AllParts>(2, "data-sheet"), {.cores = {.value = 64}}, Sizes(chain(4)));
  EXPECT_DOUBLE_EQ(of_data_sheet->seconds(plan, Rank(0), forward, 2), 31) << "which knows of no such turns";
  EXPECT_DOUBLE_EQ(seconds({.value = 1}, 4), 2 * 31);
  const plan::Op update = plan::update(SegmentId(0), 1, StepId(0), VersionId(0));
  EXPECT_DOUBLE_EQ(changed({.cores = {.value = 1}})->seconds(plan, Rank(0), update, 4), 31) << "it waits for memory";
  EXPECT_DOUBLE_EQ(seconds({.factor = 1.5}, 4), 31 * (4.0 / 3) / 2);
  EXPECT_EQ(changed({.cores = {.factor = 1.5}})->cores(), 3);
  EXPECT_EQ(changed({.cores = {.factor = .01}})->cores(), 1);
  EXPECT_EQ(changed({.cores = {.value = 64}}, 0)->cores(), 0) << "devices that share none";
  plan::Plan wide = plan;
  wide.spec.threads = 2;
  EXPECT_DOUBLE_EQ(changed({.cores = {.value = 4}})->seconds(wide, Rank(0), forward, 4), 31.0 / 2);
}

TEST(WhatIf, NoiseKeepsItsShare) {
  const plan::Plan plan = data_parallel(4, 4);
  const auto time = changed({.device = {.flops = 2}});
  EXPECT_DOUBLE_EQ(time->deviation_s(plan, Rank(0), forward, 1), 3.1 * 23 / 31);
}

TEST(WhatIf, ARooflineIsTakenOfTheChangedRates) {
  const models::ModelSpec model = models::make_model({"resnet18", {}}, {3, 224, 224}, 1000, false);
  const MachineInfo machine{.cores = 2, .frequency_hz = 2e9, .vector_bits = 256};
  const plan::Plan plan =
      plan::make_plan(case_of("model-parallel", 1, 8), model, std::vector<double>(model.layers.size(), 1.0), 1);
  const auto parts = [&](const RateFactors& faster) {
    TimeParts all;
    const Costs costs = data_sheet_costs(machine, model, faster);
    for (const plan::Op& op : plan.ranks[0].compute()) all += costs.time->parts(plan, Rank(0), op, 1);
    return all;
  };
  const TimeParts base = parts({}), both = parts({.flops = 2, .memory = 2}), arithmetic = parts({.flops = 1e6});
  EXPECT_DOUBLE_EQ(both.compute + both.memory, (base.compute + base.memory) / 2);
  EXPECT_DOUBLE_EQ(both.launch, base.launch);
  // Layers that arithmetic held up are held up by memory then: more of it than before.
  EXPECT_GT(arithmetic.memory, 2 * base.memory);
  EXPECT_LT(arithmetic.total(), base.total());
}

}  // namespace
}  // namespace parabench::analytic
