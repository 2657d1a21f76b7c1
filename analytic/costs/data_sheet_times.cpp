#include "analytic/costs/data_sheet_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/data_sheet_links.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/costs/update_words.h"
#include "base/counted.h"
#include "base/units_text.h"

namespace parabench::analytic {
namespace {

class DataSheetTimes final : public TimeModel {
 public:
  DataSheetTimes(MachineInfo machine, Sizes sizes, const RateFactors& faster)
      : machine_(std::move(machine)), sizes_(std::move(sizes)), faster_(faster) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    const DataSheetRates rates = rates_beside(plan, rank, busy_ranks);
    switch (op.kind) {
      case plan::OpKind::forward:
      case plan::OpKind::recompute: return roofline(rates, plan, rank, op);
      case plan::OpKind::backward:
      case plan::OpKind::backward_input:
      case plan::OpKind::backward_weight: return backward(rates, plan, rank, op);
      case plan::OpKind::norms:
      case plan::OpKind::update:
      case plan::OpKind::add:
      case plan::OpKind::average:
      case plan::OpKind::encode:
      case plan::OpKind::project:
      case plan::OpKind::decode:
        return {.compute = sizes_.compression_flops(plan, op) / rates.flops_per_s,
                .memory = update_words(plan, rank, op) * static_cast<double>(sizes_.updated_bytes(plan, rank, op)) /
                          rates.state_bytes_per_s};
      case plan::OpKind::all_reduce:
      case plan::OpKind::reduce_scatter:
      case plan::OpKind::all_gather:
      case plan::OpKind::broadcast: {
        const std::vector<Rank>& members = plan.groups[op.group.value].ranks;
        TimeParts times = share_of_all_reduce(op.kind) *
                          data_sheet_all_reduce(machine_, plan.spec, spread(plan, members),
                                                op.kind == plan::OpKind::all_reduce, bytes(plan, rank, op));
        const auto ranks = static_cast<int>(members.size());  // which all copy their shares at once
        if (const double words = gathered_words(plan, op); words > 0)
          times.memory += words * bytes(plan, rank, op) / ranks / rates_beside(plan, rank, ranks).state_bytes_per_s;
        return times;
      }
      case plan::OpKind::send:
      case plan::OpKind::receive: {
        const Link link = data_sheet_message(machine_, plan.spec, plan.placement, rank, op.peer);
        return {.latency = link.latency_s,
                .transfer = link_sharers(plan, op) * bytes(plan, rank, op) / link.bytes_per_s};
      }
    }
    return {};
  }
  std::string assumption(const plan::Plan& plan) const override {
    if (machine_.sheet) return "data sheet of " + machine_.sheet->name;
    return measured_device(plan.spec) == DeviceKind::cuda ? gpu_sheet_text(first_gpu(machine_)) : "";
  }
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    const std::string of_a_host = assumption(plan);
    const std::string network = network_assumption(plan, rank, op);
    return of_a_host.empty() || network.empty() ? of_a_host + network : fmt::format("{}, {}", of_a_host, network);
  }
  Link link(const plan::Plan& plan) const override {
    const GroupSpread replicas = spread(plan, plan::holders(plan, StageId(0)));
    return replicas.shape.hosts > 1 && plan.stages == 1
               ? data_sheet_ring(machine_, plan.spec, replicas)
               : data_sheet_message(machine_, plan.spec, plan.placement, Rank(0), Rank(plan.spec.np - 1));
  }
  Uplinks uplinks() const override {
    if (!machine_.sheet || !machine_.sheet->network || !machine_.sheet->network->racks) return {};
    const HostNetwork& network = *machine_.sheet->network;
    return {.hosts_per_rack = network.racks->hosts,
            .links = network.racks->uplink_bytes_per_s / (network.nics * network.bytes_per_s)};
  }
  int cores() const override { return std::max(1, machine_.cores); }
  std::string source() const override { return "data-sheet"; }

 private:
  /// While so many ranks are busy, of which those of other hosts get into nobody's way.
  DataSheetRates rates_beside(const plan::Plan& plan, Rank rank, int busy_ranks) const {
    DataSheetRates rates =
        data_sheet_rates(machine_, plan.spec, std::min(busy_ranks, ranks_beside(plan.placement, rank, busy_ranks)));
    rates.flops_per_s *= faster_.flops;
    rates.bytes_per_s *= faster_.memory;
    rates.state_bytes_per_s *= faster_.memory;
    return rates;
  }

  GroupSpread spread(const plan::Plan& plan, std::span<const Rank> ranks) const {
    return group_spread(machine_, plan.spec, plan.placement, ranks);
  }

  /// Of what such an operation passes through; "" within a host.
  std::string network_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
    const std::vector<Rank> ends = {std::min(rank, op.peer), std::max(rank, op.peer)};
    const std::vector<Rank>& ranks = plan::is_collective(op.kind) ? plan.groups[op.group.value].ranks : ends;
    const bool has_network = machine_.sheet && machine_.sheet->network;
    if (!has_network) {
      const bool leaves = group_shape(plan.placement, ranks).hosts > 1;
      return leaves ? "between hosts as within one, since nobody measured their network" : "";
    }
    const GroupSpread group = spread(plan, ranks);
    if (group.racks == 1) return "";
    const HostRacks& racks = *machine_.sheet->network->racks;
    return fmt::format("{} with an uplink of {} for each rack of {}", counted(group.racks, "rack"),
                       print_rate(racks.uplink_bytes_per_s), counted(racks.hosts, "host"));
  }

  double bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
    return static_cast<double>(sizes_.payload_bytes(plan, rank, op));
  }

  /// Of all layers; a layer counts for the side of the roofline that is the longer one.
  TimeParts roofline(const DataSheetRates& rates, const plan::Plan& plan, Rank rank, const plan::Op& op) const {
    const plan::Segment& segment = plan.segments[op.segment.value];
    const int samples = samples_of(plan, rank, op);
    const bool back = plan::makes_input_gradient(op.kind) || plan::makes_weight_gradient(op.kind);
    const auto costs = sizes_.layer_costs(plan.spec.precision);
    double sum = 0;
    TimeParts parts;
    for (int l = segment.first_layer; l < segment.first_layer + segment.layers; ++l) {
      const models::LayerCost& c = costs[l];
      const Flops flops = (back ? c.backward_per_sample : c.forward_per_sample) * static_cast<double>(samples);
      // A third of the weights' traffic is the forward's read, the rest the backward's read and write.
      const double moved =
          static_cast<double>((back ? c.moved_backward_per_sample : c.moved_forward_per_sample).value) * samples +
          static_cast<double>(c.moved_per_batch.value) * (back ? 2 : 1) / 3;
      const double arithmetic = flops.value / rates.flops_per_s, traffic = moved / rates.bytes_per_s;
      const double work = std::max(arithmetic, traffic);
      const double launches = rates.launch_s * sizes_.operations(l) * (back ? 2 : 1);
      sum += rates.launches_ahead ? std::max(work, launches) : work + launches;
      (arithmetic >= traffic ? parts.compute : parts.memory) += work;
      parts.launch += rates.launches_ahead ? std::max(0.0, launches - work) : launches;
    }
    return with_total(rates.sharing * parts, sum * rates.sharing);
  }

  /// B, I or W, and the gradients that it copies or adds.
  TimeParts backward(const DataSheetRates& rates, const plan::Plan& plan, Rank rank, const plan::Op& op) const {
    const double share = sizes_.backward_share(plan, op);
    const TimeParts layers = roofline(rates, plan, rank, op);
    const double gradients = gradient_words(plan, rank, op) *
                             static_cast<double>(sizes_.gradient_bytes(plan, op.segment)) / rates.state_bytes_per_s;
    TimeParts parts = share * layers;
    parts.memory += gradients;
    return with_total(parts, share * layers.total() + gradients);
  }

  MachineInfo machine_;
  Sizes sizes_;
  RateFactors faster_;
};

}  // namespace

std::unique_ptr<const TimeModel> data_sheet_times(MachineInfo machine, Sizes sizes, const RateFactors& faster) {
  return std::make_unique<DataSheetTimes>(std::move(machine), std::move(sizes), faster);
}

}  // namespace parabench::analytic
