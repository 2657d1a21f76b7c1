#include "analytic/closed_forms/case_form.h"

#include <gtest/gtest.h>

#include "analytic/calibration/profile.h"
#include "analytic/closed_forms/closed_forms.h"
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

Both both(const std::string& id, const MachineInfo& on = machine) {
  const Case spec = parse_case(id);
  constexpr bool small_stem = true;
  const models::ModelSpec model = models::make_model(spec.model, {3, 32, 32}, 10, small_stem);
  const Sizes sizes(model);
  const Costs costs = data_sheet_costs(on, sizes);
  const plan::Plan plan = plan::make_plan(spec, model, make_profile(nullptr, on, sizes, spec), 24);
  const Predicted predicted = predict(plan, sizes, *costs.time, *costs.memory, 2, 10);
  Both out{case_form(spec, layer_forms(spec, sizes, costs, plan::largest_piece(spec)), sums_of(spec, sizes, costs)),
           predicted.step_time_s};
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

INSTANTIATE_TEST_SUITE_P(
    Strategies, CaseFormTest,
    testing::Values("sequential/np:1/batch:64", "sequential/np:1/batch:64/recompute:all", "data-parallel/np:4/batch:64",
                    "horovod/np:4/batch:64", "dear/np:4/batch:64", "zero1/np:4/batch:64", "zero3/np:4/batch:64",
                    "local-sgd/np:4/batch:64", "local-sgd/np:1/batch:64", "parameter-server/np:4/batch:63",
                    "model-parallel/np:4/batch:64", "gpipe/np:4/batch:64/micro:8",
                    "gpipe/np:4/batch:64/micro:8/recompute:all", "gpipe/np:4/batch:64/micro:4/dp:2",
                    "gpipe/np:4/batch:64/micro:4/dp:2/zero:1", "1f1b/np:4/batch:64/micro:8",
                    "interleaved/np:2/batch:64/micro:8", "zb-h1/np:4/batch:64/micro:8", "zb-v/np:4/batch:64/micro:8",
                    "chimera/np:4/batch:64/micro:8", "pipedream/np:4/batch:64",
                    "pipedream[replicas=auto]/np:4/batch:64", "pipedream[replicas=auto]/np:4/batch:64/recompute:all",
                    "pipedream-2bw/np:4/batch:64/micro:8"));

TEST(CaseForm, RanksThatWaitLeaveTheirCoresToOthers) {
  const MachineInfo two_cores{.cores = 2, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256};
  for (const char* rest : {"model-parallel/np:4/batch:64", "gpipe/np:4/batch:64/micro:2", "gpipe/np:4/batch:64/micro:8",
                           "zb-h1/np:4/batch:64/micro:2", "1f1b/np:4/batch:64/micro:4/dp:2",
                           "data-parallel/np:4/batch:64", "pipedream/np:4/batch:64"}) {
    const Both of = both("resnet18/cifar10-synthetic/" + std::string(rest), two_cores);
    EXPECT_NEAR(of.form.step_time_s / of.step_time_s, 1, 0.25) << rest;
  }
}

TEST(CaseForm, MoreMicroBatchesHaveLessBubble) {
  const std::string id = "mlp[layers=16]/cifar10-synthetic/gpipe/np:4/batch:4096/micro:";
  EXPECT_LT(both(id + "16").form.step_time_s, both(id + "4").form.step_time_s);
}

TEST(CaseForm, TheLastMicroBatchIsSparedWhereItDoesNotRunAgain) {
  LayerForm layer{.forward = 1, .backward = 2};
  layer.saved = 100;
  const LayerForms forms{.layers = std::vector<LayerForm>(2, layer), .link = {}};
  const auto form = [&](const std::string& recompute) {
    return case_form(parse_case("mlp[layers=2]/cifar10-synthetic/gpipe/np:2/batch:64/micro:4/recompute:" + recompute),
                     forms, {});
  };
  EXPECT_DOUBLE_EQ(form("all").step_time_s - form("none").step_time_s, 4);
  EXPECT_DOUBLE_EQ(form("except-last").step_time_s - form("none").step_time_s, 3);
  EXPECT_DOUBLE_EQ(form("except-last").peak_bytes - form("all").peak_bytes, 100);
}

TEST(CaseForm, CopiesOfAStageDivideStatesAndUpdatesWhereTheyShareThem) {
  LayerForm layer{.forward = 1, .backward = 2};
  layer.update = 6;
  layer.parameters = 100;
  const LayerForms forms{.layers = std::vector<LayerForm>(2, layer), .link = {}};
  const auto form = [&](const std::string& rest) {
    return case_form(parse_case("mlp[layers=2]/cifar10-synthetic/" + rest), forms, {});
  };
  const CaseForm whole = form("gpipe/np:4/batch:64/dp:2"), shared = form("gpipe/np:4/batch:64/dp:2/zero:1");
  EXPECT_DOUBLE_EQ(whole.step_time_s - shared.step_time_s, 6 - 6 / 2);
  EXPECT_DOUBLE_EQ(whole.peak_bytes - shared.peak_bytes, 100 - 100 / 2) << "one velocity";
}

TEST(CaseForm, StagesStashAsManyVersionsAsTheirRuleSays) {
  LayerForm layer{.forward = 1, .backward = 2};
  layer.parameters = 100;
  const LayerForms forms{.layers = std::vector<LayerForm>(4, layer), .link = {}};
  const auto form = [&](const std::string& strategy) {
    return case_form(parse_case("mlp[layers=4]/cifar10-synthetic/" + strategy + "/np:4/batch:64"), forms, {});
  };
  EXPECT_DOUBLE_EQ(form("pipedream").peak_bytes - form("pipedream-2bw").peak_bytes, (3 - 1) * 100);
}

// Layers of 3 s on four ranks, the first of 30 s: a stage for each rank waits for that one, one on all takes a quarter.
TEST(CaseForm, ThePlannersStagesAreNeverSlowerThanOneOnAllRanks) {
  const LayerForm layer{.forward = 1, .backward = 2};
  LayerForms forms{.layers = std::vector<LayerForm>(4, layer), .link = {}};
  forms.layers.front() = {.forward = 10, .backward = 20};
  forms.layers.back().saved = 100;
  const auto form = [&](const std::string& strategy, const plan::SumTimes& sums, const std::string& keys = "") {
    return case_form(parse_case("mlp[layers=4]/cifar10-synthetic/" + strategy + "/np:4/batch:64" + keys), forms, sums);
  };
  EXPECT_DOUBLE_EQ(form("pipedream", {}).step_time_s, 30);
  EXPECT_DOUBLE_EQ(form("pipedream[replicas=auto]", {}).step_time_s, 39. / 4);
  EXPECT_DOUBLE_EQ(form("pipedream[replicas=auto]", {}).peak_bytes, 100);
  EXPECT_DOUBLE_EQ(form("pipedream[replicas=auto]", {}, "/recompute:all").step_time_s, 52. / 4);
  EXPECT_DOUBLE_EQ(form("pipedream[replicas=auto]", {.latency_s = 80}).step_time_s, (39. + 80) / 4);
  EXPECT_DOUBLE_EQ(form("pipedream[replicas=auto]", {.latency_s = 800}).step_time_s, 30);
  EXPECT_EQ(summing_ranks(parse_case("mlp/cifar10-synthetic/pipedream[replicas=auto]/np:4/batch:64")).size(), 4U);
}

TEST(CaseForm, AGpuHoldsMoreForARankThanItsTensors) {
  const auto bytes = [](const std::string& device) {
    const Case spec = parse_case("mlp[layers=4]/cifar10-synthetic/data-parallel/np:4/batch:64/comm:mpi" + device);
    const Sizes sizes(models::make_model(spec.model, {3, 32, 32}, 10, true));
    const Costs costs = data_sheet_costs(machine, sizes);
    return case_form(spec, layer_forms(spec, sizes, costs, 16), {}).peak_bytes;
  };
  EXPECT_GT(bytes("/device:cuda") - bytes(""), 200e6) << "a context alone has some hundred MB";
}

// Four layers of 3 s; the last one's update of 11 s leaves it alone where two micro-batches share it.
TEST(CaseForm, CutsStagesByTheirUpdatesToo) {
  const LayerForm layer{.forward = 1, .backward = 2};
  LayerForms forms{.layers = std::vector<LayerForm>(4, layer), .link = {}};
  forms.layers.back().update = 11;
  const auto step_s = [&](const std::string& micro) {
    return case_form(parse_case("mlp[layers=4]/cifar10-synthetic/gpipe/np:2/batch:64/micro:" + micro), forms, {})
        .step_time_s;
  };
  EXPECT_DOUBLE_EQ(step_s("2"), 3 * 9);
  EXPECT_DOUBLE_EQ(step_s("16"), 17 * 6 + 11);
}

TEST(CaseForm, SharedStatesAreSmaller) {
  const auto bytes = [](const std::string& strategy) {
    return both("mlp[layers=64,hidden=1024]/cifar10-synthetic/" + strategy + "/np:4/batch:4").form.peak_bytes;
  };
  EXPECT_LT(bytes("zero1"), bytes("data-parallel"));
  EXPECT_LT(bytes("zero3"), bytes("zero1"));
}

TEST(CaseForm, GatheredBucketsAreWholeHoweverManyRanksShareThem) {
  constexpr double mebi = 1 << 20;
  LayerForm layer{.forward = 1, .backward = 2};
  layer.parameters = 1 << 20;
  const LayerForms forms{.layers = std::vector<LayerForm>(8, layer), .link = {}};
  const auto bytes = [&](const std::string& keys) {
    return case_form(parse_case("mlp[layers=8]/cifar10-synthetic/zero3/np:64/batch:64" + keys), forms, {}).peak_bytes;
  };
  EXPECT_DOUBLE_EQ(bytes("/bucket:2MiB"), (4 * 2 + 3 * 8 / 64.) * mebi) << "two of weights, two of gradients, shares";
  EXPECT_DOUBLE_EQ(bytes("/bucket:2MiB/prefetch:3") - bytes("/bucket:2MiB"), 2 * 2 * mebi);
  EXPECT_DOUBLE_EQ(bytes("/bucket:1KiB"), (4 + 3 * 8 / 64.) * mebi) << "a layer at least";
}

TEST(CaseForm, EachBucketPaysTheLatencyOfItsOwnSum) {
  LayerForm layer{.forward = 0.125, .backward = 0.25};
  layer.parameters = 1 << 20;
  const LayerForms forms{.layers = std::vector<LayerForm>(8, layer), .link = {}};
  const auto at = [&](const std::string& strategy, const std::string& bucket) {
    return case_form(parse_case("mlp[layers=8]/cifar10-synthetic/" + strategy + "/np:64/batch:64" + bucket), forms,
                     {.latency_s = 1})
        .step_time_s;
  };
  EXPECT_DOUBLE_EQ(at("data-parallel", "/bucket:8MiB"), 3 + 1);
  EXPECT_DOUBLE_EQ(at("data-parallel", "/bucket:2MiB"), 3 + (4 - 2)) << "four, of which a backward of 2 s hides two";
  EXPECT_DOUBLE_EQ(at("data-parallel", "/bucket:1KiB"), 3 + (8 - 2)) << "a layer at least";
  EXPECT_DOUBLE_EQ(at("zero1", "/bucket:1KiB"), 3 + (4 - 2) + 0.5) << "halves of sums, and one gather";
}

MachineInfo on_network(int hosts_per_rack, double links) {
  MachineInfo nodes = machine;
  nodes.sheet = HardwareSheet{.name = "nodes", .memory_bytes_per_s = 100e9};
  nodes.sheet->network = HostNetwork{.nics = 1, .bytes_per_s = 1e9, .latency_s = 20e-6};
  if (hosts_per_rack > 0)
    nodes.sheet->network->racks = {.hosts = hosts_per_rack, .uplink_bytes_per_s = links * 1e9, .latency_s = 20e-6};
  return nodes;
}

double sum_s(const std::string& keys, const MachineInfo& nodes, int ranks, int hosts) {
  const Case spec = parse_case("mlp[layers=8]/cifar10-synthetic/" + keys + "/batch:64");
  const Sizes sizes(models::make_model(spec.model, {3, 32, 32}, 10, true));
  return sums_of(spec, sizes, data_sheet_costs(nodes, sizes), in_blocks(ranks, hosts)).seconds(1e6);
}

TEST(CaseForm, SumsBetweenHostsAreByTheAlgorithmThatAutoTakes) {
  const auto copies = [&](const std::string& reduce, int ranks, int hosts) {
    return sum_s("data-parallel/np:" + std::to_string(ranks) + "/reduce:" + reduce, on_network(0, 0), ranks, hosts);
  };
  EXPECT_EQ(copies("auto", 8, 8), copies("halving-doubling", 8, 8));
  EXPECT_NE(copies("auto", 8, 8), copies("ring", 8, 8));
  EXPECT_EQ(copies("auto", 7, 7), copies("ring", 7, 7));
  EXPECT_EQ(copies("auto", 8, 4), copies("hierarchical", 8, 4));
  EXPECT_NE(copies("auto", 8, 4), copies("ring", 8, 4));
}

TEST(CaseForm, SumsNeverMeasuredAreByTheSameAlgorithmOverTheLinkOfMessages) {
  const Case spec = parse_case("mlp[layers=8]/cifar10-synthetic/data-parallel/np:8/batch:64");
  const Sizes sizes(models::make_model(spec.model, {3, 32, 32}, 10, true));
  Calibration known;
  known.machine = machine;
  const Placement placement = in_blocks(8, 8);
  known.point_to_point[message_key(spec, true)] = {{0, 1e-3}, {1000, 2e-3}};
  const plan::SumTimes sums = sums_of(spec, sizes, calibrated_costs(known, sizes), placement);
  const Link link{.latency_s = 1e-3, .bytes_per_s = 1e6};
  EXPECT_NEAR(sums.seconds(1e6), all_reduce_by(ReduceKind::halving_doubling, 8, 1e6, link), 1e-9);
}

TEST(CaseForm, SumsBetweenRacksKnowTheUplink) {
  const auto copies = [&](int hosts_per_rack, double links) {
    return sum_s("data-parallel/np:8/reduce:ring", on_network(hosts_per_rack, links), 8, 8);
  };
  EXPECT_DOUBLE_EQ(copies(4, 4), copies(0, 0));
  EXPECT_DOUBLE_EQ(copies(8, .01), copies(0, 0)) << "a single rack";
  EXPECT_GT(copies(4, .5), 1.8 * copies(4, 1));
  const auto stages = [&](double links) { return sum_s("gpipe/np:8/dp:2", on_network(4, links), 8, 8); };
  EXPECT_GT(stages(.5), 1.8 * stages(1)) << "copies in racks of their own";
}

}  // namespace
}  // namespace parabench::analytic
