#include "analytic/calibration/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "analytic/calibration/calibration_json.h"
#include "analytic/calibration/measurements.h"
#include "analytic/calibration/scope.h"
#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

Calibration example() {
  Calibration c;
  c.machine = {.id = "0123",
               .host = "node",
               .cpu = "cpu \"x\"",
               .governor = "performance",
               .cores = 2,
               .memory_bytes = 1LL << 34,
               .shared_memory_bytes = 1 << 26,
               .frequency_hz = 2.5e9,
               .vector_bits = 256,
               .gpus = {{.name = "NVIDIA H200", .capability = 90, .memory_bytes = 141LL << 30, .count = 8}}};
  c.date = "2026-01-02T03:04:05Z";
  c.launches = {{"2026-01-02T03:04:04Z", 2, Canary{1e-4, 5e-3, 0.25, 7}}, {c.date, 1, std::nullopt}};
  const models::ModelSpec model = chain(2);
  for (const int busy : {1, 2}) {
    c.layers[layer_key(model.layers[0], model.input, true, {}, busy)] = {
        {.samples = 2, .forward_s = 1e-3, .backward_s = 2e-3, .forward_mad_s = 1e-5, .saved_bytes = 7},
        {.samples = 8, .forward_s = .1, .backward_s = 1. / 3, .backward_peak_bytes = 9, .launch = 0}};
  }
  Case resident;
  resident.device = DeviceKind::cuda;
  resident.input = InputKind::resident;
  c.layers[layer_key(model.layers[0], model.input, true, resident, 1)] = {
      {.samples = 2, .forward_s = 1e-4, .launch = 1}};
  c.all_reduce[{"mpi", 2}] = {{1000, 1e-5}, {1000000, 1e-3}};
  c.all_reduce[{"mpi", 4, DeviceKind::cpu, 2, 3}] = {{1000, 1e-4}, {1000000, 1e-2}};
  c.point_to_point[{"threads", 2}] = {{64, 2e-5}};
  c.point_to_point[{"threads", 2, DeviceKind::cuda}] = {{64, 5e-5}};
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, 1e-9}, {2, 1.5e-9}}},
                              {{DeviceKind::cpu, "adam"}, {{1, 2e-9}}},
                              {{DeviceKind::cuda, "sgd"}, {{1, 1e-12}}}};
  c.copy_bytes_per_s = {{DeviceKind::cpu, {{1, 1e10}}}};
  c.step_overhead_s = {{DeviceKind::cpu, 3e-6}, {DeviceKind::cuda, 4e-6}};
  c.launch_floor_s = 5e-6;
  c.context_bytes = 500 << 20;
  c.communicator_bytes = {{"nccl", 300 << 20}};
  return c;
}

/// Calibrations have no equality of their own: two that print alike are alike.
std::string text(const Calibration& c) { return to_json(c).dump(); }

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("parabench-calibration-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

TEST(CalibrationScope, HasTheGroupsInWhichCollectivesRun) {
  EXPECT_THAT(calibration_scope(data_parallel(3, 2)).groups, testing::ElementsAre(GroupShape{.ranks = 3}));
  Case spec = case_of("parameter-server", 5, 12);
  spec.strategy.parameters = {{"servers", "2"}, {"cut", "tensors"}};
  EXPECT_THAT(calibration_scope(test_plan(spec, 2)).groups, testing::IsEmpty()) << "servers share without any";
  EXPECT_THAT(calibration_scope(test_plan(spec, 2)).messages, testing::ElementsAre(MessagePair{Rank(0), Rank(1)}));
  spec.optimizer.name = "lars";
  EXPECT_THAT(calibration_scope(test_plan(spec, 2)).groups, testing::ElementsAre(GroupShape{.ranks = 2}))
      << "norms are summed";
}

TEST(CalibrationScope, HasEveryShapeOfGroupsAndBothKindsOfMessages) {
  Case spec = case_of("gpipe", 4, 8, 2);  // two copies of two stages: 0 and 1, 2 and 3
  spec.dp = 2;
  plan::Plan plan = test_plan(spec, 4);
  EXPECT_THAT(calibration_scope(plan).groups, testing::ElementsAre(GroupShape{.ranks = 2}));
  EXPECT_THAT(calibration_scope(plan).messages, testing::ElementsAre(MessagePair{Rank(0), Rank(1)}));
  plan.placement = in_blocks(4, 2);
  EXPECT_THAT(calibration_scope(plan).groups, testing::ElementsAre(GroupShape{.ranks = 2, .hosts = 2, .most = 1}));
  EXPECT_THAT(calibration_scope(plan).messages, testing::ElementsAre(MessagePair{Rank(0), Rank(1)}));
  plan.placement = {{0, 0, 0, 1}};
  EXPECT_THAT(calibration_scope(plan).groups, testing::ElementsAre(GroupShape{.ranks = 2, .hosts = 1, .most = 2},
                                                                   GroupShape{.ranks = 2, .hosts = 2, .most = 1}));
  EXPECT_THAT(calibration_scope(plan).messages,
              testing::ElementsAre(MessagePair{Rank(0), Rank(1)}, MessagePair{Rank(2), Rank(3), true}));
}

TEST(CalibrationScope, PromisesWhatALaunchOnTheSameHostsMeasures) {
  plan::Plan plan = data_parallel(4, 2);
  plan.placement = in_blocks(4, 2);
  const Calibration promised = promised_calibration(plan, chain(2), MachineInfo{.cores = 2});
  EXPECT_TRUE(promised.all_reduce.contains({"mpi", 4, DeviceKind::cpu, 2, 2}));
  EXPECT_EQ(promised.all_reduce.size(), 1U);
  for (const auto& [key, timings] : promised.layers)
    EXPECT_THAT(key.busy_ranks, testing::AnyOf(1, 2)) << "no host has four ranks";
}

TEST(Calibration, ReadsBackWhatItWrote) {
  const Calibration again = calibration_from_json(json::parse(to_json(example()).dump()));
  EXPECT_EQ(text(again), text(example()));
  for (const auto& [key, timings] : example().layers) EXPECT_TRUE(again.layers.contains(key)) << key.layer;
  const Folder folder;
  write_calibration(example(), folder.file("new/folder/c.json"));
  EXPECT_EQ(text(read_calibration(folder.file("new/folder/c.json"))), text(example()));
}

TEST(Calibration, CurvesOfFilesThatKnowNoHostsAreOfOne) {
  json file = to_json(example());
  file["schema_version"] = "2.6";
  for (json& row : file["all_reduce"]) {
    row.erase("hosts");
    row.erase("most_on_a_host");
  }
  file["all_reduce"].erase(1);
  const Calibration old = calibration_from_json(file);
  ASSERT_EQ(old.all_reduce.size(), 1U);
  EXPECT_EQ(old.all_reduce.begin()->first, (RankCountKey{"mpi", 2, DeviceKind::cpu, 1, 2}));
}

TEST(Calibration, LayerKeysTellFirstLayersAndCasesApart) {
  const models::ModelSpec model = chain(2);
  const LayerKey inner = layer_key(model.layers[0], model.input, false, {}, 1);
  EXPECT_EQ(inner.layer, models::signature(model.layers[0], model.input));
  EXPECT_EQ(layer_key(model.layers[0], model.input, true, {}, 1).layer, inner.layer + "+first");
  Case spec;
  spec.threads = 2;
  EXPECT_NE(layer_key(model.layers[0], model.input, false, spec, 1), inner);
  spec = {};
  spec.device = DeviceKind::cuda;
  const LayerKey on_gpu = layer_key(model.layers[0], model.input, false, spec, 1);
  EXPECT_NE(on_gpu, inner);
  spec.graph = true;
  EXPECT_NE(layer_key(model.layers[0], model.input, false, spec, 1), on_gpu);
  spec.graph = false;
  const LayerKey first = layer_key(model.layers[0], model.input, true, spec, 1);
  spec.input = InputKind::resident;
  EXPECT_NE(layer_key(model.layers[0], model.input, true, spec, 1), first) << "no copy out of an upload";
  EXPECT_EQ(layer_key(model.layers[0], model.input, false, spec, 1), on_gpu);
  spec = {};
  spec.device = DeviceKind::emulated;  // it sleeps for the processor's times
  EXPECT_EQ(layer_key(model.layers[0], model.input, false, spec, 1), inner);
  EXPECT_EQ(layer_key(model.layers[1], model.input, false, {}, 1), inner);  // equal layers share their measurement
}

TEST(Calibration, RefusesForeignNewerAndIncompleteFiles) {
  const auto with = [](const std::function<void(json&)>& change) {
    json file = to_json(example());
    change(file);
    return error_of([&] { calibration_from_json(file); });
  };
  EXPECT_THAT(with([](json& f) { f = json::array(); }), HasSubstr("another kind"));
  EXPECT_THAT(with([](json& f) { f.erase("format"); }), HasSubstr("another kind"));
  EXPECT_THAT(with([](json& f) { f["format"] = "chrome trace"; }), HasSubstr("another kind"));
  EXPECT_THAT(with([](json& f) { f["schema_version"] = "3.0"; }), AllOf(HasSubstr("3.0"), HasSubstr("newer")));
  EXPECT_THAT(with([](json& f) { f["schema_version"] = "1.0"; }), AllOf(HasSubstr("1.0"), HasSubstr("older")));
  EXPECT_THAT(with([](json& f) { f["schema_version"] = "x"; }), HasSubstr("schema_version: got '\"x\"'"));
  EXPECT_THAT(with([](json& f) { f.erase("machine"); }), HasSubstr("machine"));
  EXPECT_THAT(with([](json& f) { f["machine"].erase("cores"); }), HasSubstr("cores"));
  EXPECT_THAT(with([](json& f) { f["layers"][0].erase("timings"); }), HasSubstr("timings"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["timings"] = json::array(); }),
              HasSubstr("layers[0].timings: got '[]', expected at least one"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["timings"][0]["samples"] = 0; }),
              HasSubstr("layers[0].timings[0].samples: got '0'"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["timings"][0]["samples"] = 8; }), HasSubstr("repeated"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["timings"][0]["forward_s"] = -1; }),
              HasSubstr("timings[0].forward_s: got '-1'"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["timings"][0]["forward_s"] = nullptr; }), HasSubstr("number"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["timings"][1]["launch"] = 2; }),
              HasSubstr("timings[1].launch: got '2', expected the place of one of 2 launches"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["canary"]["triad_s"] = 0; }),
              HasSubstr("launches[0].canary.triad_s: got '0', expected a time above 0"));
  EXPECT_THAT(with([](json& f) { f["layers"][0]["precision"] = "fp23"; }), HasSubstr("fp32"));
  EXPECT_THAT(with([](json& f) { f["all_reduce"][0]["points"] = json::array(); }),
              HasSubstr("all_reduce[0].points: got '[]'"));
}

TEST(Calibration, AcceptsANewerMinorVersion) {
  json file = to_json(example());
  file["schema_version"] = "2.7";
  file["something_new"] = 1;
  EXPECT_EQ(text(calibration_from_json(file)), text(example()));
}

TEST(Calibration, FilesWithoutDevicesAreTheProcessors) {
  Calibration cpu = example();
  cpu.machine.gpus.clear();
  std::erase_if(cpu.layers, [](const auto& entry) { return entry.first.device != DeviceKind::cpu; });
  cpu.point_to_point.erase({"threads", 2, DeviceKind::cuda});
  cpu.update_s_per_parameter.erase({DeviceKind::cuda, "sgd"});
  cpu.update_s_per_parameter.erase({DeviceKind::cpu, "adam"});
  cpu.step_overhead_s.erase(DeviceKind::cuda);
  cpu.launch_floor_s = 0;
  cpu.context_bytes = 0;
  cpu.communicator_bytes.clear();
  cpu.launches.clear();
  for (auto& [key, timings] : cpu.layers)
    for (LayerTiming& timing : timings) timing.launch.reset();
  json old = to_json(cpu);
  old["schema_version"] = "2.0";
  old.erase("gpu");
  old.erase("launches");
  old["machine"].erase("gpus");
  for (const char* rows : {"layers", "all_reduce", "point_to_point", "update_s_per_parameter", "copy_bytes_per_s"}) {
    for (json& row : old[rows]) {
      for (const char* later : {"device", "graph", "input", "optimizer"}) row.erase(later);
    }
  }
  EXPECT_EQ(text(calibration_from_json(old)), text(cpu));
}

TEST(Calibration, NamesTheFileThatIsMissingTruncatedOrForeign) {
  const Folder folder;
  const auto read = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder.file(name)) << content;
    return error_of([&] { read_calibration(folder.file(name)); });
  };
  const std::string whole = text(example());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_THAT(read("cut.json", whole.substr(0, bytes)), HasSubstr("cut.json")) << bytes;
  }
  EXPECT_THAT(read("foreign.json", "{\"records\": []}"),
              AllOf(HasSubstr("foreign.json: calibration"), HasSubstr("another kind")));
  EXPECT_THAT(error_of([&] { read_calibration(folder.file("none.json")); }), HasSubstr("none.json"));
}

TEST(Calibration, NewerMeasurementsWinAndOthersStay) {
  Calibration into = example(), newer;
  newer.machine = into.machine;
  newer.date = "2027-01-01T00:00:00Z";
  const LayerKey known = into.layers.begin()->first;
  LayerKey unknown = known;
  unknown.threads = 4;
  newer.layers[known] = {{.samples = 4, .forward_s = 40}, {.samples = 8, .forward_s = 80}};
  newer.layers[unknown] = {{.samples = 1, .forward_s = 1}};
  newer.all_reduce[{"mpi", 2}] = {{500, 5}, {1000, 6}};
  newer.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{2, 9}}}};
  newer.step_overhead_s = {{DeviceKind::cuda, 7e-6}};
  merge(into, newer);
  const auto& rows = into.layers.at(known);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].forward_s, 1e-3);
  EXPECT_EQ(rows[1].forward_s, 40);
  EXPECT_EQ(rows[2].forward_s, 80);
  EXPECT_EQ(into.layers.at(unknown).size(), 1u);
  const Curve& curve = into.all_reduce.at({"mpi", 2});
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_EQ(curve[0].seconds, 5);
  EXPECT_EQ(curve[1].seconds, 6);
  EXPECT_EQ(curve[2].seconds, 1e-3);
  EXPECT_EQ(into.update_s_per_parameter.at({DeviceKind::cpu, "sgd"}), (RatesByBusy{{1, 1e-9}, {2, 9}}));
  EXPECT_EQ(into.update_s_per_parameter.at({DeviceKind::cuda, "sgd"}), (RatesByBusy{{1, 1e-12}}));
  EXPECT_EQ(into.update_s_per_parameter.at({DeviceKind::cpu, "adam"}), (RatesByBusy{{1, 2e-9}}));
  EXPECT_EQ(into.date, newer.date);
  EXPECT_EQ(into.step_overhead_s, (std::map<DeviceKind, double>{{DeviceKind::cpu, 3e-6}, {DeviceKind::cuda, 7e-6}}));
  EXPECT_EQ(into.launch_floor_s, 5e-6);
  EXPECT_EQ(into.communicator_bytes.at("nccl"), 300 << 20);
}

TEST(Calibration, MeasurementsOfOneDeviceLeaveTheOthersAlone) {
  Calibration into = example(), newer;
  newer.machine = into.machine;
  newer.machine.gpus.clear();  // seen by a process that was shown none
  Case spec;
  spec.device = DeviceKind::cuda;
  const models::ModelSpec model = chain(2);
  const LayerKey on_gpu = layer_key(model.layers[0], model.input, true, spec, 1);
  newer.layers[on_gpu] = {{.samples = 2, .forward_s = 1e-6}};
  merge(into, newer);
  EXPECT_EQ(into.layers.at(layer_key(model.layers[0], model.input, true, {}, 1)).front().forward_s, 1e-3);
  EXPECT_EQ(into.layers.at(on_gpu).front().forward_s, 1e-6);
  EXPECT_EQ(into.machine.gpus.size(), 1u);
}

TEST(Calibration, MeasurementsKeepTheLaunchThatMadeThem) {
  const LayerKey key = example().layers.begin()->first;
  const auto measured = [&](const std::string& date, std::vector<LayerTiming> timings) {
    Calibration one;
    one.layers[key] = std::move(timings);
    set_launch(one, {date, 2, Canary{1e-4, 5e-3, 0, 0}});
    return one;
  };
  const auto launch_of = [&](const Calibration& all, std::size_t row) {
    return all.launches.at(all.layers.at(key).at(row).launch.value()).date;
  };
  Calibration all = measured("first", {{.samples = 1}, {.samples = 8}});
  EXPECT_EQ(all.date, "first");
  merge(all, measured("second", {{.samples = 4}, {.samples = 8}}));
  ASSERT_EQ(all.launches.size(), 2u);
  EXPECT_EQ(launch_of(all, 0), "first");
  EXPECT_EQ(launch_of(all, 1), "second");
  EXPECT_EQ(launch_of(all, 2), "second");
  merge(all, measured("third", {{.samples = 1}}));
  EXPECT_EQ(all.launches.size(), 2u) << "of the first one nothing is left";
  EXPECT_EQ(launch_of(all, 0), "third");
  EXPECT_EQ(launch_of(all, 1), "second");
  EXPECT_EQ(launch_of(all, 2), "second");
}

/// A pipeline of two layers on two ranks, each layer measured by a launch of its own.
struct TwoLaunches {
  plan::Plan plan = pipeline("gpipe", 2, 2);
  Sizes sizes{chain(2)};
  Calibration calibration;
  std::vector<LayerTiming>& timings(int layer) {
    return calibration.layers[layer_key(sizes.signature(layer), layer == 0, plan.spec, 2)];
  }
  TwoLaunches() {
    calibration.launches = {{"first", 2, Canary{1e-4, 5e-3, 0, 0}}, {"second", 2, Canary{3e-4, 5e-3, 0, 0}}};
    timings(0) = {{.samples = 1, .forward_s = 0.25, .backward_s = 0.75, .launch = 0},
                  {.samples = 8, .forward_s = 100, .launch = 1}};
    timings(1) = {{.samples = 1, .forward_s = 1, .backward_s = 2, .launch = 1}};
  }
  std::optional<double> canary() const { return calibrated_matrix_product(calibration, sizes, plan); }
};

TEST(Calibration, TheCanaryBehindACaseIsThatOfItsLayersLaunchesByTheirSeconds) {
  TwoLaunches two;
  ASSERT_TRUE(two.canary());
  EXPECT_DOUBLE_EQ(*two.canary(), (1 * 1e-4 + 3 * 3e-4) / 4);
}

TEST(Calibration, TheCanaryBehindACaseIsUnknownWhereOneLaunchsIs) {
  TwoLaunches old;
  old.timings(1)[0].launch.reset();
  EXPECT_FALSE(old.canary()) << "from a file of schema 2.5";
  TwoLaunches other;
  other.calibration.launches[1].ranks = 4;
  EXPECT_FALSE(other.canary()) << "four ranks share the cores otherwise";
  TwoLaunches gpu;
  gpu.calibration.launches[0].canary.reset();
  EXPECT_FALSE(gpu.canary());
  TwoLaunches lacking;
  lacking.calibration.layers.erase(lacking.calibration.layers.begin());
  EXPECT_FALSE(lacking.canary());
}

TEST(Calibration, MergingIntoNothingIsACopy) {
  Calibration empty;
  merge(empty, example());
  EXPECT_EQ(text(empty), text(example()));
}

TEST(Machine, DescribesThisHost) {
  const MachineInfo machine = this_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
  EXPECT_FALSE(machine.host.empty());
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_EQ(machine.id.size(), 16u);
  EXPECT_EQ(machine.id, this_machine().id);
  EXPECT_EQ(to_json(machine_from_json(JsonReader(to_json(machine), "machine"))), to_json(machine));
}

TEST(Machine, CalibrationsLieInTheUsersCache) {
  const MachineInfo machine{.id = "abc"};
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(default_calibration_path(machine), "/cache/parabench/calibration-abc.json");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/u", 1);
  EXPECT_EQ(default_calibration_path(machine), "/home/u/.cache/parabench/calibration-abc.json");
}

}  // namespace
}  // namespace parabench::analytic
