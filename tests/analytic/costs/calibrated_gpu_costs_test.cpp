// Costs from measurements on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "analytic/costs/costs.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/costs/layer_seconds.h"
#include "tests/analytic/costs/measured_chain.h"

namespace parabench::analytic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The same on a GPU, a thousand times as fast.
Calibration with_gpu(Calibration c) {
  for (const auto& [key, timings] : std::map(c.layers)) {
    LayerKey on_gpu = key;
    on_gpu.device = DeviceKind::cuda;
    for (LayerTiming t : timings) {
      t.forward_s /= 1000;
      t.backward_s /= 1000;
      c.layers[on_gpu].push_back(t);
    }
  }
  c.all_reduce[{"mpi", 2, DeviceKind::cuda}] = {{1000, 7}};
  c.point_to_point[{"mpi", 4, DeviceKind::cuda}] = {{1000, 9}};
  c.update_s_per_parameter[{DeviceKind::cuda, "sgd"}] = {{1, .001}};
  c.step_overhead_s[DeviceKind::cuda] = .0625;
  c.machine.gpus = {{.name = "NVIDIA H200", .capability = 90, .memory_bytes = 1000}};
  return c;
}

TEST(CalibratedGpuCosts, AreThoseOfTheCasesDevice) {
  const models::ModelSpec model = chain(2);
  const Calibration known = with_gpu(measured(model));
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = data_parallel(2, 2);
  plan.pieces = {{2}, {2}};
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), f, 1), 10 + .5);
  plan.spec.device = DeviceKind::cuda;
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), f, 1), .01 + .0625);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 1),
                   .016 + .0625);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::all_reduce(SegmentId(0), 2, StepId(0), GroupId(0)), 1), 7);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1)), 1), 9);
  plan.spec.comm = CommKind::nccl;
  EXPECT_THAT(error_of(*cost.time, plan, plan::all_reduce(SegmentId(0), 1, StepId(0), GroupId(0)), 1),
              AllOf(HasSubstr("nccl"), HasSubstr("cuda")));
}

TEST(CalibratedGpuCosts, NameTheDeviceThatWasNeverMeasured) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  EXPECT_THAT(error_of(*cost.time, plan, plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
              HasSubstr("device:cuda"));
  EXPECT_THAT(error_of(*cost.time, plan, plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 1),
              HasSubstr("device:cuda"));
  EXPECT_FALSE(has_layers(measured(model), model, plan.spec));
}

TEST(CalibratedGpuCosts, NoLayerTakesLessThanItsLaunches) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  calibration.launch_floor_s = .006;  // a layer's forward has two operations
  for (const auto& [key, timings] : std::map(calibration.layers)) {
    LayerKey replayed = key;
    replayed.graph = true;
    calibration.layers[replayed] = timings;
  }
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  const Costs cost = calibrated_costs(calibration, model);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
                   .012 + .0625);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(1), m0, StepId(0), VersionId(0)), 1),
                   .02 + .0625);
  const TimeParts short_layer =
      cost.time->parts(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1);
  EXPECT_DOUBLE_EQ(short_layer.compute, .01);
  EXPECT_DOUBLE_EQ(short_layer.launch, .002 + .0625);
  plan.spec.graph = true;
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1), .01)
      << "one launch for all";
}

TEST(CalibratedGpuCosts, ASegmentMeasuredAsOneHasItsLaunchesInItsTime) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  calibration.launch_floor_s = 1;
  plan::Plan plan = test_plan(case_of("model-parallel", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  const Sizes sizes(model);
  const std::string both = segment_signature(std::array{sizes.signature(0), sizes.signature(1)});
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  EXPECT_DOUBLE_EQ(calibrated_costs(calibration, model).time->seconds(plan, Rank(0), f, 1), 4 + .0625)
      << "two operations of two layers";
  calibration.layers[layer_key(both, true, plan.spec, 1)] = {{.samples = 2, .forward_s = .03}};
  EXPECT_DOUBLE_EQ(calibrated_costs(calibration, model).time->seconds(plan, Rank(0), f, 1), .03 + .0625);
}

TEST(CalibratedGpuCosts, ReplayedLayersAndThoseOnResidentInputHaveTimesOfTheirOwn) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  for (const auto& [key, timings] : std::map(calibration.layers)) {
    if (key.device != DeviceKind::cuda) continue;
    const bool first = key.layer.ends_with("+first");
    for (const bool graph : {false, true}) {
      for (const InputKind input : {InputKind::host, InputKind::resident}) {
        if (!first && input == InputKind::resident) continue;
        LayerKey other = key;
        other.graph = graph;
        other.input = input;
        std::vector<LayerTiming> changed = timings;
        for (LayerTiming& t : changed) t.forward_s += (graph ? 100 : 0) + (input == InputKind::resident ? 1000 : 0);
        calibration.layers[other] = changed;
      }
    }
  }
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  const Costs cost = calibrated_costs(calibration, model);
  const auto seconds = [&](int layer) {
    return cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(layer), m0, StepId(0), VersionId(0)), 1);
  };
  const double first = seconds(0), second = seconds(1);
  plan.spec.input = InputKind::resident;
  EXPECT_DOUBLE_EQ(seconds(0), first + 1000);
  EXPECT_DOUBLE_EQ(seconds(1), second) << "reads no images";
  const double eager = seconds(0);
  plan.spec.graph = true;
  EXPECT_NEAR(seconds(0), eager + 100, 1) << "without the time between operations";
  calibration.layers.erase(layer_key(model.layers[0], model.input, true, plan.spec, 1));
  calibration.layers.erase(layer_key(model.layers[0], model.input, true, plan.spec, 3));
  EXPECT_THAT(error_of(*calibrated_costs(calibration, model).time, plan,
                       plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
              AllOf(HasSubstr("graph:on"), HasSubstr("input:resident")));
}

TEST(CalibratedGpuCosts, TheGpusOverheadIsMeasuredElseTypical) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  plan::Plan plan = data_parallel(2, 2);
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(plan).context_bytes, 0) << "on the processor";
  plan.spec.device = DeviceKind::cuda;
  plan.spec.comm = CommKind::nccl;
  const DeviceOverhead typical = calibrated_costs(calibration, model).memory->device_overhead(plan);
  EXPECT_EQ(typical.context_bytes, typical_context_bytes);
  EXPECT_EQ(typical.communicator_bytes, typical_nccl_alone_bytes + typical_nccl_neighbour_bytes);
  EXPECT_EQ(typical.matrix_workspace_bytes, 33'554'432);
  EXPECT_EQ(typical.memory_bytes, 1000);
  calibration.context_bytes = 11;
  calibration.communicator_bytes = {{"nccl", 22}, {"nccl/np:1", 33}};
  const DeviceOverhead own = calibrated_costs(calibration, model).memory->device_overhead(plan);
  EXPECT_EQ(own.context_bytes, 11);
  EXPECT_EQ(own.communicator_bytes, 22);
  plan::Plan alone = data_parallel(1, 2);
  alone.spec.device = DeviceKind::cuda;
  alone.spec.comm = CommKind::nccl;
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(alone).communicator_bytes, 33);
  calibration.communicator_bytes.erase("nccl/np:1");
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(alone).communicator_bytes,
            typical_nccl_alone_bytes)
      << "that of several ranks has buffers for neighbours";
  alone.spec.comm = CommKind::threads;
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(alone).communicator_bytes, 0);
}

}  // namespace
}  // namespace parabench::analytic
