#include "analytic/costs/spread_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analytic/costs/emulation.h"
#include "analytic/costs/times_of.h"
#include "base/counted.h"

namespace parabench::analytic {
namespace {

int cores_of(const MachineInfo& machine) { return std::max(1, machine.cores); }

int ranks_per_host(const MachineInfo& machine, const Case& spec) {
  return std::max(1, cores_of(machine) / std::max(1, spec.threads));
}

class SpreadTimes final : public TimesOf {
 public:
  SpreadTimes(std::unique_ptr<const TimeModel> of_a_host, int neighbours, std::string hosts, std::string each)
      : TimesOf(std::move(of_a_host)), neighbours_(neighbours), hosts_(std::move(hosts)), each_(std::move(each)) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    return base_.parts(plan, rank, op, neighbours_);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    return base_.deviation_s(plan, rank, op, neighbours_);
  }
  double load_s_per_sample(const plan::Plan& plan, int loading_ranks) const override {
    return base_.load_s_per_sample(plan, std::min(loading_ranks, neighbours_));
  }
  std::string assumption(const plan::Plan& plan) const override {
    return beside(base_.assumption(plan), "hosts" + each_);
  }
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return beside(base_.link_assumption(plan, rank, op), hosts_ + each_);
  }
  int cores() const override { return 0; }

 private:
  static std::string beside(const std::string& of_a_host, const std::string& hosts) {
    return of_a_host.empty() ? hosts : fmt::format("{}, {}", of_a_host, hosts);
  }

  int neighbours_;
  std::string hosts_, each_;  ///< how many hosts there are, and what each is taken to be
};

}  // namespace

int hosts_of(const MachineInfo& machine, const Case& spec) {
  const bool holds_all = spec.tp == 1 && spec.np <= std::int64_t{most_ranks_per_core} * cores_of(machine);
  if (spec.device != DeviceKind::cpu || holds_all) return 1;
  const int each = ranks_per_host(machine, spec);
  return spec.np / each + (spec.np % each > 0 ? 1 : 0);
}

Costs data_sheet_costs_of(const Case& spec, const MachineInfo& machine, const Sizes& sizes) {
  return data_sheet_costs_of(spec, machine, sizes, {}, machine);
}

Costs data_sheet_costs_of(const Case& spec, const MachineInfo& machine, const Sizes& sizes, const RateFactors& faster,
                          const MachineInfo& known) {
  Costs costs = data_sheet_costs(machine, sizes, faster);
  if (spec.device == DeviceKind::cpu && (spec.tp > 1 || hosts_of(known, spec) > 1))
    costs.time = spread_times(std::move(costs.time), known, spec, cores_of(machine));
  if (spec.device == DeviceKind::cuda && spec.comm == CommKind::nccl)
    costs.time = exclusive_times(std::move(costs.time));
  return costs;
}

std::unique_ptr<const TimeModel> spread_times(std::unique_ptr<const TimeModel> of_a_host, const MachineInfo& known,
                                              const Case& spec, int cores) {
  const int each = std::min(ranks_per_host(known, spec), spec.np);
  return std::make_unique<SpreadTimes>(std::move(of_a_host), each, counted(hosts_of(known, spec), "host"),
                                       fmt::format(" of {} cores, {} ranks on each", cores, each));
}

}  // namespace parabench::analytic
