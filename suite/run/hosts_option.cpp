#include "suite/run/hosts_option.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/spread_times.h"
#include "base/counted.h"
#include "base/error.h"

namespace parabench::suite {

void set_hosts(Knowledge& knowledge, int hosts) {
  knowledge.hosts = hosts;
  if (knowledge.machine.sheet) knowledge.machine.sheet->hosts = hosts;
}

void check_hosts(const Case& spec, int hosts, const analytic::MachineInfo& machine) {
  const auto refuse = [&](const std::string& expected, std::string_view hint) {
    throw usage_error("--hosts", std::to_string(hosts), expected, hint);
  };
  const bool by_sheet = machine.sheet.has_value(), on_gpus = analytic::measured_device(spec) == DeviceKind::cuda;
  if (hosts > 1) {
    if (is_emulated(spec))
      refuse("1 with device:emulated, whose ranks are threads of one host",
             "try --emulate rate:10Gbit,latency:20us, which gives each rank a link of its own");
    if (spec.comm == CommKind::threads)
      refuse("1 with comm:threads, whose ranks are threads of one host", "try comm:mpi");
    if (spec.reduce == ReduceKind::window)
      refuse("1 with reduce:window, which takes memory that all ranks share", "try reduce:auto");
    if (spec.tp > 1)
      refuse(fmt::format("1 with tp:{}, of whose ranks each has cores or a GPU to itself", spec.tp), "leave it out");
    if (by_sheet && !machine.sheet->network)
      refuse(fmt::format("1 with hardware {}, which has no network to further hosts", machine.sheet->name),
             "add a network to its file");
  }
  if (spec.np > 1 && hosts > spec.np)
    refuse(fmt::format("at most {} for np:{}, a rank on each", spec.np, spec.np),
           fmt::format("try --hosts {}", spec.np));
  if (hosts == 0 || !by_sheet || !on_gpus || machine.gpus.empty()) return;
  const int gpus = machine.gpus.front().count, least = (spec.np + gpus - 1) / gpus;
  if (hosts < least)
    refuse(fmt::format("at least {} for np:{}, with {} on each host of {}", least, spec.np, counted(gpus, "GPU"),
                       machine.sheet->name),
           fmt::format("try --hosts {}", least));
}

std::string unknown_network(const Knowledge& knowledge, const Case& spec) {
  const auto& sheet = knowledge.machine.sheet;
  const bool spread = is_spread(knowledge, spec);
  if (!spread && (sheet || host_count(placement_of(knowledge, spec)) < 2)) return "";
  constexpr std::string_view instead = "messages and sums between hosts take what they take within one";
  if (!spread) return fmt::format("no network is known: {}", instead);
  const int hosts = analytic::hosts_of(knowledge.machine, spec);
  const std::string many =
      fmt::format("more ranks than {} for each core are taken to be on {} hosts", analytic::most_ranks_per_core, hosts);
  if (!sheet || !sheet->network) return fmt::format("{}, and no network is known: {}", many, instead);
  return fmt::format("{}: {}; --hosts {} takes the network of hardware {}", many, instead, hosts, sheet->name);
}

}  // namespace parabench::suite
