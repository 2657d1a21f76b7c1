#include "analytic/hardware/hardware.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "analytic/costs/costs.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"
#include "base/error.h"
#include "base/file.h"
#include "results/json_schema.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr MicroBatchId m0{0};

json shipped(std::size_t i) { return json::parse(shipped_hardware_files()[i].text); }

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const std::function<void(json&)>& spoil) {
  json document = shipped(0);
  spoil(document);
  return refusal([&] { hardware_from_json(document, "mine.json"); });
}

TEST(Hardware, ShippedSheetsFollowTheSchemaAndNameTheirSources) {
  const json schema = read_json(HARDWARE_SCHEMA);
  ASSERT_GE(shipped_hardware().size(), 3u);
  for (std::size_t i = 0; i < shipped_hardware().size(); ++i) {
    for (const auto& violation : results::check_schema(schema, schema, shipped(i)))
      ADD_FAILURE() << shipped_hardware_files()[i].path << violation.pointer << ": " << violation.message;
    const Hardware& hardware = shipped_hardware()[i];
    EXPECT_GE(hardware.sources.size(), 2u);
    EXPECT_EQ(find_hardware(hardware.machine.sheet->name).summary, hardware.summary);
    EXPECT_EQ(hardware.machine.gpus.front().count, 8);
    // The same GPU in a machine that was looked at.
    EXPECT_EQ(gpu_sheet(&hardware.machine.gpus.front()).rates, *hardware.machine.sheet->gpu)
        << hardware.machine.gpus.front().name;
  }
}

TEST(Hardware, SaysWhatIsWrongWithAFileAndWhere) {
  EXPECT_THAT(refusal_of([](json& d) { d["gpus"]["fp32_flops_per_s"] = 0; }),
              AllOf(HasSubstr("mine.json.gpus.fp32_flops_per_s"), HasSubstr("above 0")));
  EXPECT_THAT(refusal_of([](json& d) { d["network"]["bytes_per_s"] = -1; }),
              HasSubstr("network.bytes_per_s: got '-1'"));
  EXPECT_THAT(refusal_of([](json& d) { d["network"]["latency_s"] = -1e-6; }), HasSubstr("network.latency_s"));
  EXPECT_THAT(refusal_of([](json& d) { d["host"]["cores"] = 2.5; }), HasSubstr("host.cores"));
  EXPECT_THAT(refusal_of([](json& d) { d["host"]["cores"] = 0; }), HasSubstr("host.cores"));
  EXPECT_THAT(refusal_of([](json& d) { d["host"].erase("memory_bytes"); }),
              HasSubstr("host.memory_bytes: got 'missing'"));
  EXPECT_THAT(refusal_of([](json& d) { d["gpus"]["tensor_flops"] = 1; }), HasSubstr("tensor_flops"));
  EXPECT_THAT(refusal_of([](json& d) { d["sources"] = json::array(); }), HasSubstr("at least one source"));
  EXPECT_THAT(refusal_of([](json& d) { d["schema_version"] = "2.0"; }), HasSubstr("1.0"));
  EXPECT_THAT(refusal_of([](json& d) { d["format"] = "parabench calibration"; }), HasSubstr("another kind"));
  EXPECT_THAT(refusal_of([](json& d) { d = json::array(); }), HasSubstr("another kind"));
  EXPECT_THAT(refusal_of([](json& d) { d.erase("gpus"); }), HasSubstr("mine.json.network"));
  EXPECT_EQ(refusal_of([](json& d) { d.erase("network"); }), "accepted");
}

TEST(Hardware, AnUnknownNameHasItsNearestOne) {
  EXPECT_THAT(refusal([] { find_hardware("h100-smx"); }), AllOf(HasSubstr("h100-smx"), HasSubstr("'h100-sxm'")));
  EXPECT_THAT(refusal([] { find_hardware("no/such/file.json"); }), HasSubstr("a100-sxm-80gb"));
}

Case on_gpus(int ranks) {
  Case spec = case_of("data-parallel", ranks, ranks);
  spec.device = DeviceKind::cuda;
  spec.comm = CommKind::nccl;
  spec.bucket = Bytes(1);
  return spec;
}

TEST(Hardware, HasRoomForWhatItsHostsHold) {
  MachineInfo machine = shipped_hardware()[0].machine;
  EXPECT_EQ(refusal([&] { require_room(machine, on_gpus(1024)); }), "accepted");
  machine.sheet->network.reset();
  EXPECT_EQ(refusal([&] { require_room(machine, on_gpus(8)); }), "accepted");
  EXPECT_THAT(refusal([&] { require_room(machine, on_gpus(9)); }), AllOf(HasSubstr("np: got '9'"), HasSubstr("8")));
  machine.gpus.clear();
  EXPECT_THAT(refusal([&] { require_room(machine, on_gpus(2)); }), HasSubstr("no GPU"));
  EXPECT_EQ(refusal([&] { require_room(machine, case_of("data-parallel", 9, 9)); }), "accepted");
}

TEST(Hardware, RanksFillHostsInTheirOrder) {
  const MachineInfo& machine = shipped_hardware()[0].machine;
  const auto shape = [&](const std::vector<Rank>& ranks) {
    const GroupShape s = group_shape(machine, on_gpus(64), ranks);
    return std::tuple(s.ranks, s.hosts, s.most);
  };
  EXPECT_EQ(shape({Rank(0), Rank(7)}), std::tuple(2, 1, 2));
  EXPECT_EQ(shape({Rank(7), Rank(8)}), std::tuple(2, 2, 1));
  EXPECT_EQ(shape({Rank(3), Rank(11), Rank(19)}), std::tuple(3, 3, 1));
  EXPECT_EQ(shape({Rank(0), Rank(1), Rank(2), Rank(8)}), std::tuple(4, 2, 3));
}

TEST(Hardware, ARingOverHostsIsAsSlowAsItsPartOfTheNics) {
  const models::ModelSpec model = chain(4);
  // V100: a host's four NICs of 12.5 GB/s at 0.9 are slower than NVLink, H100's eight of 50 GB/s not.
  const auto seconds = [&](const char* name, int ranks) {
    const plan::Plan plan = test_plan(on_gpus(ranks), 4);
    return data_sheet_costs(find_hardware(name).machine, model)
        .time->parts(plan, Rank(0), plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0)), 1);
  };
  const double bytes = 4 * 64;
  EXPECT_NEAR(seconds("v100-sxm-32gb", 8).transfer / (2 * 7.0 / 8 * bytes / (.75 * 150e9)), 1, 1e-6);
  EXPECT_NEAR(seconds("v100-sxm-32gb", 16).transfer / (2 * 15.0 / 16 * bytes / (.9 * 50e9)), 1, 1e-6);
  EXPECT_NEAR(seconds("h100-sxm", 16).transfer / (2 * 15.0 / 16 * bytes / (.75 * 450e9)), 1, 1e-6);
  EXPECT_NEAR(seconds("h100-sxm", 8).latency, 2 * 7 * 6e-6, 1e-12);
  EXPECT_NEAR(seconds("h100-sxm", 16).latency, 2 * (14 * 6e-6 + 14e-6), 1e-12);
}

TEST(Hardware, AMessageToAnotherHostTakesTheNetwork) {
  const models::ModelSpec model = chain(16);
  Case spec = on_gpus(16);
  spec.strategy.name = "gpipe";
  spec.micro = 16;
  const plan::Plan plan = test_plan(spec, 16);
  const Costs costs = data_sheet_costs(find_hardware("a100-sxm-80gb").machine, model);
  const auto link = [&](int from) {
    return costs.time->parts(plan, Rank(from), plan::send_forward(SegmentId(from), m0, StepId(0), Rank(from + 1)), 1);
  };
  EXPECT_DOUBLE_EQ(link(7).latency, 14e-6);
  EXPECT_NEAR(link(7).transfer / link(6).transfer, .75 * 300 / (.9 * 25), 1e-9);
  EXPECT_EQ(costs.time->assumption(plan), "data sheet of a100-sxm-80gb");
}

}  // namespace
}  // namespace parabench::analytic
