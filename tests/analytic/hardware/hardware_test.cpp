#include "analytic/hardware/hardware.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "analytic/costs/costs.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/costs/sheet_hosts.h"
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
  EXPECT_THAT(refusal_of([](json& d) { d["schema_version"] = "1.7"; }), HasSubstr("1.0 or 1.1"));
  EXPECT_THAT(refusal_of([](json& d) { d["format"] = "parabench calibration"; }),
              HasSubstr("another kind (its 'format' is 'parabench calibration')"));
  EXPECT_THAT(refusal_of([](json& d) { d = json::array({d}); }), HasSubstr("an element in a file of its own"));
  EXPECT_THAT(refusal_of([](json& d) { d = 1; }), HasSubstr("another kind"));
  const auto with_racks = [](const json& racks) { return refusal_of([&](json& d) { d["network"]["racks"] = racks; }); };
  EXPECT_THAT(with_racks({{"hosts", 4}}), HasSubstr("network.racks.uplink_bytes_per_s: got 'missing'"));
  EXPECT_THAT(with_racks({{"hosts", 0}, {"uplink_bytes_per_s", 1e9}}), HasSubstr("network.racks.hosts"));
  for (const double rate : {0.0, -1.0})
    EXPECT_THAT(with_racks({{"hosts", 4}, {"uplink_bytes_per_s", rate}}), HasSubstr("a finite number above 0"));
  EXPECT_THAT(with_racks({{"hosts", 4}, {"uplink_bytes_per_s", 1e9}, {"uplinks", 2}}), HasSubstr("uplinks"));
  EXPECT_EQ(with_racks({{"hosts", 4}, {"uplink_bytes_per_s", 1e9}, {"latency_s", 1e-6}}), "accepted");
  EXPECT_EQ(refusal_of([](json& d) { d.erase("gpus"); }), "accepted");
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
    const GroupShape s = group_spread(machine, on_gpus(64), {}, ranks).shape;
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

/// Of that many hosts to a rack, whose uplink is as wide as so many of their links.
MachineInfo with_racks(const char* name, int hosts, double links) {
  MachineInfo machine = find_hardware(name).machine;
  HostNetwork& network = *machine.sheet->network;
  network.racks = {
      .hosts = hosts, .uplink_bytes_per_s = links * network.nics * network.bytes_per_s, .latency_s = network.latency_s};
  return machine;
}

/// Of a sum of all parameters among these ranks of so many.
TimeParts sum_parts(const MachineInfo& machine, int all, std::vector<Rank> ranks) {
  plan::Plan plan = test_plan(on_gpus(all), 4);
  const plan::Op sum = plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0));
  plan.groups = {{plan::Axis::data, std::move(ranks)}};
  return data_sheet_costs(machine, chain(4)).time->parts(plan, plan.groups[0].ranks[0], sum, 1);
}

std::vector<Rank> every(int step, int count) {
  std::vector<Rank> ranks;
  for (int r = 0; r < count; ++r) ranks.emplace_back(r * step);
  return ranks;
}

TEST(Hardware, AnUplinkAsWideAsTheLinksOfItsHostsChangesNothing) {
  const MachineInfo flat = find_hardware("v100-sxm-32gb").machine;
  const MachineInfo wide = with_racks("v100-sxm-32gb", 2, 2);
  for (const auto& ranks : {every(1, 32), every(8, 4), every(16, 2), every(4, 8), every(1, 8)}) {
    const TimeParts one = sum_parts(flat, 32, ranks), other = sum_parts(wide, 32, ranks);
    EXPECT_DOUBLE_EQ(one.transfer, other.transfer) << ranks.size();
    EXPECT_DOUBLE_EQ(one.latency, other.latency) << ranks.size();
  }
}

TEST(Hardware, HalfAnUplinkDoublesWhatItBinds) {
  const MachineInfo flat = find_hardware("v100-sxm-32gb").machine;
  const auto slower = [&](double links, const std::vector<Rank>& ranks) {
    return sum_parts(with_racks("v100-sxm-32gb", 2, links), 32, ranks).transfer / sum_parts(flat, 32, ranks).transfer;
  };
  // One member in each rack: 16 groups share the uplinks at a time, as wide as the two hosts' links at first.
  EXPECT_NEAR(slower(1, every(16, 2)), 2, 1e-9);
  EXPECT_NEAR(slower(0.5, every(16, 2)), 4, 1e-9);
  // A member on every host: half as many groups, whose rings leave a rack once.
  EXPECT_NEAR(slower(1, every(8, 4)), 1, 1e-9);
  EXPECT_NEAR(slower(0.5, every(8, 4)), 2, 1e-9);
  EXPECT_NEAR(slower(0.5, every(1, 32)), 2, 1e-9);
  EXPECT_NEAR(slower(0.01, every(1, 16)), 1, 1e-9) << "a single rack";
}

TEST(Hardware, MessagesBetweenRacksAreNoFasterThanTheUplink) {
  Case spec = on_gpus(32);
  spec.strategy.name = "gpipe";
  spec.micro = 32;
  const plan::Plan plan = test_plan(spec, 32);
  MachineInfo machine = with_racks("v100-sxm-32gb", 2, 1. / 8);  // half a NIC
  machine.sheet->network->racks->latency_s = 20e-6;
  const Costs costs = data_sheet_costs(machine, chain(32));
  const auto parts = [&](int from) {
    return costs.time->parts(plan, Rank(from), plan::send_forward(SegmentId(from), m0, StepId(0), Rank(from + 1)), 1);
  };
  EXPECT_NEAR(parts(15).transfer / parts(7).transfer, 2, 1e-9);
  EXPECT_DOUBLE_EQ(parts(15).latency, 20e-6);
  EXPECT_DOUBLE_EQ(parts(7).latency, 14e-6);
  const auto assumption = [&](int from) {
    return costs.time->link_assumption(plan, Rank(from),
                                       plan::send_forward(SegmentId(from), m0, StepId(0), Rank(from + 1)));
  };
  EXPECT_EQ(assumption(7), "data sheet of v100-sxm-32gb");
  EXPECT_EQ(assumption(15), "data sheet of v100-sxm-32gb, 2 racks with an uplink of 50Gbit for each rack of 2 hosts");
  EXPECT_EQ(costs.time->assumption(plan), "data sheet of v100-sxm-32gb");
}

TEST(Hardware, HostsThatAreAskedForDivideRanksEvenly) {
  MachineInfo machine = find_hardware("v100-sxm-32gb").machine;
  machine.sheet->hosts = 3;
  const auto host = [&](int ranks, int rank) { return sheet_host(machine, on_gpus(ranks), {}, Rank(rank)); };
  for (const int ranks : {3, 8, 16, 17})
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(host(ranks, rank), in_blocks(ranks, 3).host_of_rank[rank]) << rank << " of " << ranks;
  EXPECT_EQ(host(2, 1), 1) << "at most one for each rank";
}

}  // namespace
}  // namespace parabench::analytic
