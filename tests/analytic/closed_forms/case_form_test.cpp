#include "analytic/closed_forms/case_form.h"

#include <gtest/gtest.h>

#include "analytic/calibration/profile.h"
#include "analytic/simulate/predict.h"
#include "base/case_id.h"
#include "models/spec/model.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench::analytic {
namespace {

const MachineInfo machine{.cores = 4, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256};

struct Both {
  CaseForm form;
  double step_time_s = 0, peak_bytes = 0;  ///< simulated
};

Both both(const std::string& id) {
  const Case spec = parse_case(id);
  constexpr bool small_stem = true;
  const models::ModelSpec model = models::make_model(spec.model, {3, 32, 32}, 10, small_stem);
  const Sizes sizes(model);
  const Costs costs = data_sheet_costs(machine, sizes);
  const plan::Plan plan = plan::make_plan(spec, model, make_profile(nullptr, machine, sizes, spec), 12);
  const Predicted predicted = predict(plan, sizes, *costs.time, *costs.memory, 2, 10);
  Both out{case_form(spec, layer_forms(spec, sizes, costs, plan::largest_piece(spec))), predicted.step_time_s};
  for (const RankPredicted& rank : predicted.ranks)
    out.peak_bytes = std::max(out.peak_bytes, static_cast<double>(rank.peak_memory.total_counted()));
  return out;
}

class CaseFormTest : public testing::TestWithParam<const char*> {};

TEST_P(CaseFormTest, IsNearTheSimulation) {
  const Both of = both("resnet18/cifar10-synthetic/" + std::string(GetParam()));
  EXPECT_NEAR(of.form.step_time_s / of.step_time_s, 1, 0.25) << GetParam();
  EXPECT_NEAR(of.form.peak_bytes / of.peak_bytes, 1, 0.5) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Strategies, CaseFormTest,
                         testing::Values("sequential/np:1/batch:64", "sequential/np:1/batch:64/recompute:all",
                                         "data-parallel/np:4/batch:64", "horovod/np:4/batch:64", "dear/np:4/batch:64",
                                         "zero1/np:4/batch:64", "zero3/np:4/batch:64", "local-sgd/np:4/batch:64",
                                         "parameter-server/np:4/batch:63", "model-parallel/np:4/batch:64",
                                         "gpipe/np:4/batch:64/micro:8", "gpipe/np:4/batch:64/micro:8/recompute:all",
                                         "gpipe/np:4/batch:64/micro:4/dp:2", "1f1b/np:4/batch:64/micro:8",
                                         "interleaved/np:2/batch:64/micro:8", "zb-h1/np:4/batch:64/micro:8",
                                         "zb-v/np:4/batch:64/micro:8", "chimera/np:4/batch:64/micro:8",
                                         "pipedream/np:4/batch:64", "pipedream-2bw/np:4/batch:64/micro:8"));

TEST(CaseForm, MoreMicroBatchesHaveLessBubble) {
  const std::string id = "mlp[layers=16]/cifar10-synthetic/gpipe/np:4/batch:4096/micro:";
  EXPECT_LT(both(id + "16").form.step_time_s, both(id + "4").form.step_time_s);
}

TEST(CaseForm, SharedStatesAreSmaller) {
  const auto bytes = [](const std::string& strategy) {
    return both("mlp[layers=8,hidden=1024]/cifar10-synthetic/" + strategy + "/np:4/batch:4").form.peak_bytes;
  };
  EXPECT_LT(bytes("zero1"), bytes("data-parallel"));
  EXPECT_LT(bytes("zero3"), bytes("zero1"));
}

}  // namespace
}  // namespace parabench::analytic
