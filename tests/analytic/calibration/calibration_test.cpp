#include "analytic/calibration/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analytic/calibration/calibration_json.h"
#include "analytic/calibration/machine_json.h"
#include "analytic/calibration/scope.h"
#include "base/case_id.h"
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
  c.software = "parabench 1.2.3 with LibTorch 2.1.0";
  c.ranks = 2;
  c.canary = Canary{1e-4, 5e-3, 0.25, 7, 1.5};
  const models::ModelSpec model = chain(2);
  for (const int busy : {1, 2}) {
    c.layers[layer_key(model.layers[0], model.input, true, {}, busy)] = {
        {.samples = 2, .forward_s = 1e-3, .backward_s = 2e-3, .forward_mad_s = 1e-5, .saved_bytes = 7},
        {.samples = 8,
         .forward_s = .1,
         .backward_s = 1. / 3,
         .backward_peak_bytes = 9,
         .adding_peak_bytes = 8,
         .split = SplitTiming{.input_s = .1,
                              .weight_s = .2,
                              .input_peak_bytes = 3,
                              .weight_peak_bytes = 7,
                              .adding_weight_peak_bytes = 6}}};
  }
  Case resident;
  resident.device = DeviceKind::cuda;
  resident.input = InputKind::resident;
  c.layers[layer_key(model.layers[0], model.input, true, resident, 1)] = {{.samples = 2, .forward_s = 1e-4}};
  c.all_reduce[{"mpi", 2}] = {{1000, 1e-5}, {1000000, 1e-3}};
  c.all_reduce[{"mpi", 4, DeviceKind::cpu, 2, 3}] = {{1000, 1e-4}, {1000000, 1e-2}};
  c.reduce_scatter[{"mpi", 2}] = {{1000, 2e-5}, {1000000, 2e-3}};
  c.all_gather[{"mpi", 2}] = {{1000, 3e-5}, {1000000, 3e-3}};
  c.point_to_point[{"threads", 2}] = {{64, 2e-5, 4e-5, 0.5}};
  c.point_to_point[{"threads", 2, DeviceKind::cuda}] = {{64, 5e-5}};
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, 1e-9}, {2, 1.5e-9}}},
                              {{DeviceKind::cpu, "adam", 2, 8}, {{1, 2e-9}}},
                              {{DeviceKind::cuda, "sgd"}, {{1, 1e-12}}}};
  c.copy_bytes_per_s = {{DeviceKind::cpu, {{1, 1e10}}}};
  c.load_s_per_sample = {{{"cifar10", 1}, {{1, 1e-4}, {2, 1.5e-4}}}, {{"cifar10", 4}, {{1, 3e-5}}}};
  c.step_overhead_s = {{DeviceKind::cpu, 3e-6}, {DeviceKind::cuda, 4e-6}};
  c.launch_floor_s = 5e-6;
  c.context_bytes = 500 << 20;
  c.communicator_bytes = {{"nccl", 300 << 20}};
  return c;
}

/// Calibrations have no equality of their own: two that print alike are alike.
std::string text(const Calibration& c) { return to_json(c).dump(); }

/// The same as files of schema 2 had it: the launch's own fields at the top.
json merged_file(const Calibration& c, const std::string& version) {
  json file = to_json(c);
  json merged = std::move(file["launches"][0]);
  for (const char* later : {"software", "ranks", "canary"}) merged.erase(later);
  merged.update({{"format", file["format"]}, {"schema_version", version}, {"machine", file["machine"]}});
  return merged;
}

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

TEST(CalibrationScope, HasTheCollectivesOfSharesThatThePlanHas) {
  const auto kinds = [](const Case& spec) {
    std::vector<plan::OpKind> found;
    for (const auto& [collective, group] : calibration_scope(test_plan(spec, 2)).shares) {
      EXPECT_EQ(group, (GroupShape{.ranks = 2}));
      found.push_back(collective);
    }
    return found;
  };
  using enum plan::OpKind;
  EXPECT_THAT(kinds(case_of("data-parallel", 2, 4)), testing::IsEmpty());
  EXPECT_THAT(kinds(case_of("zero1", 2, 4)), testing::ElementsAre(reduce_scatter, all_gather));
  const Calibration promised =
      promised_calibration(test_plan(case_of("zero1", 2, 4), 2), chain(2), MachineInfo{.cores = 2});
  EXPECT_TRUE(promised.reduce_scatter.contains({"mpi", 2}));
  EXPECT_TRUE(promised.all_gather.contains({"mpi", 2}));
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
  json file = merged_file(example(), "2.6");
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

TEST(Calibration, ReductionKeysTellAlgorithmsAndTheReducersBucketsApart) {
  const auto comm = [](const std::string& id) {
    return reduction_key(parse_case("mlp/cifar10-synthetic/" + id + "/np:2/batch:8"),
                         {.ranks = 2, .hosts = 1, .most = 2})
        .comm;
  };
  EXPECT_EQ(comm("data-parallel"), "mpi");
  EXPECT_EQ(comm("zero1"), "mpi");
  EXPECT_EQ(comm("data-parallel/reduce:ring"), "mpi reduce:ring");
  EXPECT_EQ(comm("c10d"), "mpi c10d");
  EXPECT_EQ(comm("c10d/reduce:ring"), "mpi reduce:ring c10d");
}

TEST(Calibration, RefusesForeignNewerAndIncompleteFiles) {
  const auto with = [](const std::function<void(json&)>& change) {
    json file = to_json(example());
    change(file);
    return error_of([&] { calibration_from_json(file); });
  };
  EXPECT_THAT(with([](json& f) { f = json::array(); }), HasSubstr("another kind"));
  EXPECT_THAT(with([](json& f) { f.erase("format"); }), HasSubstr("another kind (no text in a field 'format')"));
  EXPECT_THAT(with([](json& f) { f["format"] = "chrome trace"; }),
              HasSubstr("another kind (its 'format' is 'chrome trace')"));
  EXPECT_THAT(with([](json& f) { f["schema_version"] = "4.0"; }), AllOf(HasSubstr("4.0"), HasSubstr("newer")));
  EXPECT_THAT(with([](json& f) { f["schema_version"] = "1.0"; }), AllOf(HasSubstr("1.0"), HasSubstr("older")));
  EXPECT_THAT(with([](json& f) { f["schema_version"] = "x"; }), HasSubstr("schema_version: got '\"x\"'"));
  EXPECT_THAT(with([](json& f) { f.erase("machine"); }), HasSubstr("machine"));
  EXPECT_THAT(with([](json& f) { f["machine"].erase("cores"); }), HasSubstr("cores"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0].erase("timings"); }), HasSubstr("timings"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0]["timings"] = json::array(); }),
              HasSubstr("launches[0].layers[0].timings: got '[]', expected at least one"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0]["timings"][0]["samples"] = 0; }),
              HasSubstr("launches[0].layers[0].timings[0].samples: got '0'"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0]["timings"][0]["samples"] = 8; }), HasSubstr("repeated"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0]["timings"][0]["forward_s"] = -1; }),
              HasSubstr("timings[0].forward_s: got '-1'"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0]["timings"][0]["forward_s"] = nullptr; }),
              HasSubstr("number"));
  EXPECT_THAT(with([](json& f) { f["launches"] = json::array(); }), HasSubstr("launches: got '[]', expected at least"));
  EXPECT_THAT(with([](json& f) { f["launches"][0].erase("date"); }), HasSubstr("launches[0].date"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["ranks"] = 0; }), HasSubstr("launches[0].ranks: got '0'"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["canary"]["matrix_product_spread"] = 0.5; }),
              HasSubstr("launches[0].canary.matrix_product_spread: got '0.5', expected"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["canary"]["triad_s"] = 0; }),
              HasSubstr("launches[0].canary.triad_s: got '0', expected a time above 0"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["layers"][0]["precision"] = "fp23"; }), HasSubstr("fp32"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["all_reduce"][0]["points"][0]["lost_share"] = 2; }),
              HasSubstr("launches[0].all_reduce[0].points[0].lost_share: got '2', expected a share"));
  EXPECT_THAT(with([](json& f) { f["launches"][0]["all_reduce"][0]["points"] = json::array(); }),
              HasSubstr("launches[0].all_reduce[0].points: got '[]'"));
}

TEST(Calibration, AcceptsANewerMinorVersion) {
  json file = to_json(example());
  file["schema_version"] = "3.999";
  file["something_new"] = 1;
  EXPECT_EQ(text(calibration_from_json(file)), text(example()));
}

TEST(Calibration, FilesWithoutDevicesAreTheProcessors) {
  Calibration cpu = example();
  cpu.machine.gpus.clear();
  std::erase_if(cpu.layers, [](const auto& entry) { return entry.first.device != DeviceKind::cpu; });
  cpu.point_to_point.erase({"threads", 2, DeviceKind::cuda});
  cpu.update_s_per_parameter.erase({DeviceKind::cuda, "sgd"});
  cpu.update_s_per_parameter.erase({DeviceKind::cpu, "adam", 2, 8});
  cpu.step_overhead_s.erase(DeviceKind::cuda);
  cpu.launch_floor_s = 0;
  cpu.context_bytes = 0;
  cpu.communicator_bytes.clear();
  cpu.software.clear();
  cpu.ranks.reset();
  cpu.canary.reset();
  json old = merged_file(cpu, "2.0");
  old.erase("gpu");
  old["machine"].erase("gpus");
  for (const char* rows : {"layers", "all_reduce", "point_to_point", "update_s_per_parameter", "copy_bytes_per_s"}) {
    for (json& row : old[rows]) {
      for (const char* later : {"device", "graph", "input", "optimizer", "parameter_bytes"}) row.erase(later);
    }
  }
  EXPECT_EQ(text(calibration_from_json(old)), text(cpu));
}

TEST(Calibration, FilesOfSchema3_4SayNothingOfSoftwareAndOfWhatUpdatesDependOn) {
  Calibration known = example();
  known.update_s_per_parameter = {{{DeviceKind::cpu, "adam"}, {{1, 2e-9}}}};
  for (auto& [key, curve] : known.point_to_point)  // which files up to 3.6 told too small
    for (CurvePoint& point : curve) point.lost_share.reset();
  json file = to_json(known);
  file["schema_version"] = "3.4";
  file["launches"][0].erase("software");
  for (const char* later : {"threads", "parameter_bytes"})
    file["launches"][0]["update_s_per_parameter"][0].erase(later);
  known.software.clear();
  EXPECT_EQ(text(calibration_from_json(file)), text(known)) << "of one thread and 4 bytes a parameter";
  for (json& row : file["launches"][0]["layers"]) row.update({{"threads", 2}, {"precision", "fp64"}});
  const Calibration wide = calibration_from_json(file);
  ASSERT_EQ(wide.update_s_per_parameter.size(), 1u);
  EXPECT_EQ(wide.update_s_per_parameter.begin()->first, (UpdateKey{DeviceKind::cpu, "adam", 2, 8}))
      << "as the layers of the launch";
}

TEST(Calibration, ResidentMemoryIsReadBackAndUnknownToFilesOfSchema3_0) {
  Calibration known = example();
  known.process_bytes = 160 << 20;
  json file = to_json(known);
  EXPECT_EQ(calibration_from_json(file).process_bytes, 160 << 20);
  file["schema_version"] = "3.0";
  file["launches"][0].erase("process_bytes");
  EXPECT_EQ(text(calibration_from_json(file)), text(example()));
}

TEST(Calibration, WhatPassesHoldThatAddIsUnknownToFilesOfSchema3_3) {
  json file = to_json(example());
  file["schema_version"] = "3.3";
  for (json& layer : file["launches"][0]["layers"])
    for (json& timing : layer["timings"]) {
      timing.erase("adding_peak_bytes");
      if (!timing.contains("split")) continue;
      for (const char* peak : {"input_peak_bytes", "weight_peak_bytes", "adding_weight_peak_bytes"})
        timing["split"].erase(peak);
    }
  int split = 0;
  for (const auto& [key, timings] : calibration_from_json(file).layers)
    for (const LayerTiming& timing : timings) {
      EXPECT_FALSE(timing.adding_peak_bytes);
      if (!timing.split) continue;
      ++split;
      EXPECT_FALSE(timing.split->input_peak_bytes);
      EXPECT_FALSE(timing.split->weight_peak_bytes);
      EXPECT_FALSE(timing.split->adding_weight_peak_bytes);
    }
  EXPECT_GT(split, 0);
}

TEST(Calibration, LoadersAndWhatComputingLosesAreUnknownToFilesOfSchema3_2) {
  json file = to_json(example());
  file["schema_version"] = "3.2";
  file["launches"][0].erase("load_s_per_sample");
  for (json& curve : file["launches"][0]["point_to_point"])
    for (json& point : curve["points"]) point.erase("lost_share");
  const Calibration old = calibration_from_json(file);
  EXPECT_TRUE(old.load_s_per_sample.empty());
  EXPECT_FALSE(old.point_to_point.at({"threads", 2}).front().lost_share);
}

TEST(Calibration, WhatComputingLosesIsUnknownToFilesOfSchema3_6WhichToldTooLittle) {
  json file = to_json(example());
  for (json& point : file["launches"][0]["point_to_point"][0]["points"]) point["lost_share"] = 0.5;
  const auto lost = [&] { return calibration_from_json(file).point_to_point.begin()->second.front().lost_share; };
  EXPECT_EQ(lost(), 0.5);
  file["schema_version"] = "3.6";
  EXPECT_FALSE(lost());
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

TEST(Calibration, AFileThatNamesNoLaunchIsOneOfUnknownRanksAndCanary) {
  Calibration unnamed = example();
  unnamed.ranks.reset();
  unnamed.software.clear();
  unnamed.canary.reset();
  EXPECT_EQ(text(calibration_from_json(merged_file(example(), "2.5"))), text(unnamed));
}

TEST(Calibration, AFileThatNamesItsLaunchesIsSplitByThem) {
  json old = merged_file(example(), "2.6");
  const json canary = to_json(example())["launches"][0]["canary"];
  old["launches"] = {{{"date", "2026-01-01T00:00:00Z"}, {"ranks", 2}, {"canary", canary}},
                     {{"date", "2026-01-02T00:00:00Z"}, {"ranks", 1}, {"canary", nullptr}},
                     {{"date", "2026-01-02T01:00:00Z"}, {"ranks", 1}, {"canary", nullptr}}};
  old["layers"][0]["timings"][0]["launch"] = 1;
  old["layers"][0]["timings"][1]["launch"] = 0;
  old["layers"][1]["timings"][0]["launch"] = 0;
  const Calibration read = calibration_from_json(old);
  ASSERT_EQ(read.launches.size(), 3u) << "nothing is left of the third";
  const auto& [first, second, unnamed] = std::tie(read.launches[0], read.launches[1], read.launches[2]);
  EXPECT_EQ(first.date, "2026-01-01T00:00:00Z");
  EXPECT_EQ(first.ranks, 2);
  EXPECT_EQ(first.canary, example().canary);
  EXPECT_EQ(second.ranks, 1);
  EXPECT_FALSE(second.canary);
  EXPECT_FALSE(unnamed.ranks);
  EXPECT_EQ(unnamed.date, example().date);
  const auto samples = [](const Calibration& launch) {
    std::vector<int> all;
    for (const auto& [key, timings] : launch.layers)
      for (const LayerTiming& timing : timings) all.push_back(timing.samples);
    return all;
  };
  EXPECT_THAT(samples(first), testing::ElementsAre(8, 2));
  EXPECT_THAT(samples(second), testing::ElementsAre(2));
  EXPECT_THAT(samples(unnamed), testing::ElementsAre(2, 8));
  EXPECT_TRUE(first.all_reduce.empty());
  EXPECT_EQ(unnamed.all_reduce.size(), example().all_reduce.size());
  // Each value was there once, so that nothing is combined.
  Calibration rest = example();
  rest.ranks.reset();
  rest.software.clear();
  rest.canary.reset();
  Calibration flat = read;
  flat.launches.clear();
  EXPECT_EQ(text(flat), text(rest));

  old["layers"][0]["timings"][1]["launch"] = 3;
  EXPECT_THAT(error_of([&] { calibration_from_json(old); }),
              HasSubstr("layers[0].timings[1].launch: got '3', expected the place of one of 3 launches"));
}

TEST(Calibration, WhatNamesNoLaunchIsTheLastOnesWhereAllLayersNameOne) {
  json old = merged_file(example(), "2.6");
  old["launches"] = {{{"date", "2026-01-02T00:00:00Z"}, {"ranks", 3}, {"canary", nullptr}}};
  for (json& row : old["layers"])
    for (json& timing : row["timings"]) timing["launch"] = 0;
  Calibration one = example();
  one.date = "2026-01-02T00:00:00Z";
  one.ranks = 3;
  one.software.clear();
  one.canary.reset();
  EXPECT_EQ(text(calibration_from_json(old)), text(one));
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
