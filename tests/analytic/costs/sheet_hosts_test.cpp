#include "analytic/costs/sheet_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analytic/costs/costs.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

Case on_gpus(int ranks) {
  Case spec = case_of("data-parallel", ranks, ranks);
  spec.device = DeviceKind::cuda;
  spec.comm = CommKind::nccl;
  return spec;
}

constexpr double nic = 50e9;

/// Hosts of so many GPUs and NICs, for ranks that stand for so many.
MachineInfo hosts_of(int gpus, int nics, int tensor_ranks) {
  MachineInfo machine{.cores = 64, .tensor_ranks = tensor_ranks};
  machine.gpus = {{.name = "NVIDIA H100 80GB HBM3", .capability = 90, .memory_bytes = 80LL << 30, .count = gpus}};
  machine.sheet = HardwareSheet{.name = "hosts", .memory_bytes_per_s = 1e11, .gpu = {}, .network = {}};
  machine.sheet->network = HostNetwork{.nics = nics, .bytes_per_s = nic, .latency_s = 14e-6};
  return machine;
}

TEST(SheetHosts, HoldWholeGroupsOfNeighbours) {
  const auto per_host = [](int gpus, int tensor_ranks) {
    return ranks_per_host(hosts_of(gpus, gpus, tensor_ranks), on_gpus(64));
  };
  EXPECT_EQ(per_host(8, 1), 8);
  EXPECT_EQ(per_host(8, 2), 4);
  EXPECT_EQ(per_host(8, 8), 1);
  EXPECT_EQ(per_host(6, 4), 1) << "two GPUs of each host stay idle";
  EXPECT_EQ(per_host(8, 16), 1);
  EXPECT_EQ(hosts_of_rank(hosts_of(8, 8, 8)), 1);
  EXPECT_EQ(hosts_of_rank(hosts_of(6, 6, 4)), 1);
  EXPECT_EQ(hosts_of_rank(hosts_of(8, 8, 16)), 2);
  EXPECT_EQ(hosts_of_rank(hosts_of(8, 8, 17)), 3);
}

TEST(SheetHosts, DivideTheirNicsAmongNeighboursOfWhichNoneSendsOverMoreThanOne) {
  struct Rates {
    double host, message;
    bool operator==(const Rates&) const = default;
  };
  const auto rates = [](int gpus, int nics, int tensor_ranks) {
    const MachineInfo machine = hosts_of(gpus, nics, tensor_ranks);
    return Rates{nics_bytes_per_s(machine), message_bytes_per_s(machine, on_gpus(64))};
  };
  EXPECT_EQ(rates(8, 8, 1), (Rates{8 * nic, nic}));
  EXPECT_EQ(rates(8, 8, 2), (Rates{4 * nic, nic}));
  EXPECT_EQ(rates(8, 8, 8), (Rates{nic, nic}));
  EXPECT_EQ(rates(8, 4, 8), (Rates{nic / 2, nic / 2}));
  EXPECT_EQ(rates(8, 12, 8), (Rates{1.5 * nic, nic}));
  EXPECT_EQ(rates(6, 8, 4), (Rates{2 * nic, nic}));
  EXPECT_EQ(rates(8, 8, 16), (Rates{nic, nic})) << "eight of them are on each of two hosts";
  Case on_processors = on_gpus(64);
  on_processors.device = DeviceKind::cpu;
  EXPECT_EQ(message_bytes_per_s(hosts_of(8, 8, 1), on_processors), 8 * nic);
}

TEST(SheetHosts, RacksHaveAnUplinkForAllNeighboursThatAreInThem) {
  const auto in_racks = [](int hosts, int tensor_ranks) {
    MachineInfo machine = hosts_of(8, 8, tensor_ranks);
    machine.sheet->network->racks = {.hosts = hosts, .uplink_bytes_per_s = 160e9, .latency_s = 20e-6};
    return machine;
  };
  EXPECT_EQ(uplink_bytes_per_s(in_racks(4, 1)), 160e9);
  EXPECT_EQ(uplink_bytes_per_s(in_racks(4, 8)), 20e9);
  EXPECT_EQ(uplink_bytes_per_s(in_racks(4, 16)), 10e9);
  EXPECT_EQ(uplink_bytes_per_s(in_racks(1, 16)), 20e9) << "of whose ranks eight are in each rack";
  EXPECT_EQ(sheet_rack(in_racks(4, 8), 4), 1);
  EXPECT_EQ(sheet_rack(in_racks(4, 16), 1), 0);
  EXPECT_EQ(sheet_rack(in_racks(4, 16), 2), 1) << "the first of its ranks are on host 4";
}

TEST(SheetHosts, SumsOfNeighboursShareAnUplinkThatTheirTermsTellWhole) {
  // Among one rank of every host: its seconds on the way and what its term says of the machine.
  const auto sum_of = [](int all, int tensor_ranks, double uplink, int rack) {
    MachineInfo machine = hosts_of(8, 8, tensor_ranks);
    machine.sheet->network->racks = {.hosts = rack, .uplink_bytes_per_s = uplink, .latency_s = 14e-6};
    plan::Plan plan = test_plan(on_gpus(all / tensor_ranks), 4);
    plan.groups = {{plan::Axis::data, {}}};
    for (int rank = 0; rank < all; rank += std::max(8, tensor_ranks))
      plan.groups[0].ranks.emplace_back(rank / tensor_ranks);
    const plan::Op sum = plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0));
    const Costs costs = data_sheet_costs(machine, chain(4));
    return std::pair(costs.time->parts(plan, Rank(0), sum, 1).transfer,
                     costs.time->link_assumption(plan, Rank(0), sum));
  };
  // Four that stand for 16 on two hosts each: a ring of four sends 6/4 of the bytes, over a sixteenth of the uplink
  // where a rack has two of them, and of two uplinks, with eight ranks in each rack, an eighth.
  const double bytes = sum_of(64, 8, 1e9, 2).first * 0.9 * 1e9 / 8 / (14. / 8);
  EXPECT_NEAR(sum_of(64, 16, 1e9, 4).first, 6. / 4 * bytes / (0.9 * 1e9 / 16), 1e-9);
  EXPECT_NEAR(sum_of(64, 16, 1e9, 1).first, 6. / 4 * bytes / (0.9 * 1e9 / 8), 1e-9);
  for (const double uplink : {100e9, 1600e9}) {
    const auto whole = sum_of(64, 1, uplink, 2), neighbours = sum_of(64, 8, uplink, 2);
    EXPECT_NEAR(neighbours.first / whole.first, 1, 1e-9) << "groups that communicate at the same time, either way";
    EXPECT_EQ(neighbours.second, whole.second);
  }
}

TEST(SheetHosts, RanksThatShareGpusAreAllCounted) {
  const auto forward_s = [](int gpus, int ranks, int tensor_ranks) {
    MachineInfo machine = hosts_of(gpus, 1, tensor_ranks);
    machine.sheet->network.reset();
    Case spec = on_gpus(ranks / tensor_ranks);
    spec.comm = CommKind::mpi;
    const plan::Plan plan = test_plan(spec, 4);
    return data_sheet_costs(machine, chain(4))
        .time->seconds(plan, Rank(0), plan::forward(SegmentId(0), MicroBatchId(0), StepId(0), {}),
                       ranks / tensor_ranks);
  };
  const double alone = forward_s(8, 8, 4);
  EXPECT_DOUBLE_EQ(forward_s(4, 8, 4), 2 * alone);
  EXPECT_DOUBLE_EQ(forward_s(2, 16, 4), 8 * alone);
}

TEST(SheetHosts, NeighboursAreJoinedByACommunicator) {
  const auto bytes = [](int ranks, int tensor_ranks) {
    return data_sheet_costs(hosts_of(8, 8, tensor_ranks), chain(4))
        .memory->device_overhead(test_plan(on_gpus(ranks), 4))
        .communicator_bytes;
  };
  EXPECT_EQ(bytes(1, 8), bytes(8, 1));
  EXPECT_GT(bytes(1, 8), bytes(1, 1));
}

}  // namespace
}  // namespace parabench::analytic
