// Bytes of passes from measurements.
#include "analytic/costs/calibrated_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analytic/costs/costs.h"
#include "analytic/memory/sizes.h"
#include "tests/analytic/costs/measured_chain.h"

namespace parabench::analytic {
namespace {

TEST(CalibratedMemory, MeasuredBytesReplaceTheFormula) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = measured(model);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 2), 2);
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)),
                 b = plan::backward(SegmentId(0), m0, StepId(0), VersionId(0));
  {
    const Costs cost = calibrated_costs(calibration, model);
    EXPECT_EQ(cost.memory->saved_bytes(whole, Rank(0), f), Sizes(model).saved_bytes(whole, Rank(0), f));
    EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), b), Sizes(model).temporary_bytes(whole, Rank(0), b));
  }
  for (auto& [key, timings] : calibration.layers) {
    const bool first = key.layer.ends_with("+first");
    timings.front().saved_bytes = first ? 100 : 70;
    timings.front().forward_peak_bytes = first ? 250 : 90;
    timings.front().backward_peak_bytes = first ? 200 : 60;
    timings.resize(1);
  }
  const Costs cost = calibrated_costs(calibration, model);
  EXPECT_EQ(cost.memory->saved_bytes(whole, Rank(0), f), 170);
  // Forward: max(250, 100 + 90) - 170. Backward: the second layer 60, handed a scalar; then the first, 200 with 70
  // released and the gradients of its output (2 samples of 64 bytes) and of the second layer's weights alive. Where
  // another micro-batch has started the gradients, the second layer's were added and are gone.
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), f), 80);
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), b), 200 - 70 + 128 + 64);
  plan::Op adds = b;
  adds.accumulates = true;
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), adds), 200 - 70 + 128);
}

/// Every layer measured once, with these bytes.
Calibration with_bytes(const models::ModelSpec& model, std::int64_t saved, std::int64_t backward_peak) {
  Calibration calibration = measured(model);
  for (auto& [key, timings] : calibration.layers) {
    timings.resize(1);
    timings.front().saved_bytes = saved;
    timings.front().backward_peak_bytes = backward_peak;
  }
  return calibration;
}

TEST(CalibratedMemory, PassesThatAddAndHalvesOfBackwardsHoldWhatWasMeasuredOfThem) {
  const models::ModelSpec model = chain(1);
  Calibration calibration = with_bytes(model, 100, 200);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 2), 1);
  const auto peak = [&](plan::OpKind kind, bool adds) {
    plan::Op op = plan::pass(kind, SegmentId(0), m0, StepId(0), VersionId(0));
    op.accumulates = adds;
    return calibrated_costs(calibration, model).memory->peak_bytes(whole, Rank(0), op);
  };
  EXPECT_EQ(peak(plan::OpKind::backward, false), 200);
  EXPECT_EQ(peak(plan::OpKind::backward, true), 200) << "of a file of before 3.4 what is no less";
  EXPECT_EQ(peak(plan::OpKind::backward_input, false), 200);
  for (const bool adds : {false, true}) EXPECT_EQ(peak(plan::OpKind::backward_weight, adds), 200);
  for (auto& [key, timings] : calibration.layers) {
    timings.front().adding_peak_bytes = 150;
    timings.front().split = SplitTiming{
        .input_s = 1, .weight_s = 1, .input_peak_bytes = 0, .weight_peak_bytes = 130, .adding_weight_peak_bytes = 120};
  }
  EXPECT_EQ(peak(plan::OpKind::backward, false), 200);
  EXPECT_EQ(peak(plan::OpKind::backward, true), 150);
  EXPECT_EQ(peak(plan::OpKind::backward_input, false), 0) << "measured, and nothing";
  EXPECT_EQ(peak(plan::OpKind::backward_weight, false), 130);
  EXPECT_EQ(peak(plan::OpKind::backward_weight, true), 120);
}

TEST(CalibratedMemory, HalvesOfABackwardOverLayersKeepWhatTheOtherNeeds) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_bytes(model, 1000, 10'000);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 2), 2);
  for (auto& [key, timings] : calibration.layers)
    timings.front().split = SplitTiming{.input_s = 1,
                                        .weight_s = 1,
                                        .input_peak_bytes = 300,
                                        .weight_peak_bytes = 500,
                                        .adding_weight_peak_bytes = 400};
  const Costs cost = calibrated_costs(calibration, model);
  const plan::Op input = plan::pass(plan::OpKind::backward_input, SegmentId(0), m0, StepId(0), VersionId(0));
  plan::Op weight = plan::pass(plan::OpKind::backward_weight, SegmentId(0), m0, StepId(0), VersionId(0));
  const Sizes sizes(model);
  const std::int64_t kept = sizes.kept_for_weights(whole, Rank(0), input, 1);
  const std::int64_t passed = sizes.input(1).bytes(2, 4);
  ASSERT_GT(kept, 0);
  // The second layer first; then the first, beside what is left of the second.
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), input), std::max<std::int64_t>(300, 300 + passed + kept - 1000));
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), weight),
            std::max<std::int64_t>(500, 500 + sizes.parameter_bytes(Precision::fp32, 1) - kept));
  weight.accumulates = true;
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), weight), 400) << "the second layer's were added and are gone";
}

}  // namespace
}  // namespace parabench::analytic
