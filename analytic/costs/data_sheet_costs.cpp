#include <algorithm>

#include "analytic/costs/cost_model.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/memory/sizes.h"

namespace parabench {
namespace {

class DataSheetCosts final : public CostModel {
 public:
  DataSheetCosts(MachineInfo machine, ModelSpec model) : machine_(std::move(machine)), sizes_(std::move(model)) {}

  double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    const DataSheetRates rates = data_sheet_rates(machine_, plan.spec, busy_ranks);
    switch (op.kind) {
      case OpKind::forward:
      case OpKind::recompute: return roofline(rates, plan, rank, op);
      case OpKind::backward:
      case OpKind::backward_input:
      case OpKind::backward_weight:
        return sizes_.backward_share(plan, op) * roofline(rates, plan, rank, op) +
               gradient_words(plan, rank, op) * gradients(plan, op) / rates.state_bytes_per_s;
      case OpKind::norms:
      case OpKind::update:
        return update_words(plan, op) * static_cast<double>(sizes_.updated_bytes(plan, rank, op)) /
               rates.state_bytes_per_s;
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast:
        return share_of_all_reduce(op.kind) *
               data_sheet_all_reduce(machine_, plan.spec, members(plan, op), bytes(plan, rank, op));
      case OpKind::send:
      case OpKind::receive: return rates.message.latency_s + bytes(plan, rank, op) / rates.message.bytes_per_s;
    }
    return 0;
  }
  std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return sizes_.saved_bytes(plan, rank, op);
  }
  std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return sizes_.temporary_bytes(plan, rank, op);
  }
  DeviceOverhead device_overhead(const Plan& plan) const override {
    if (measured_device(plan.spec) != DeviceKind::cuda) return {};
    const GpuInfo* gpu = first_gpu(machine_);
    return {.context_bytes = typical_context_bytes,
            .communicator_bytes = plan.spec.np > 1 && plan.spec.comm == CommKind::nccl ? typical_nccl_bytes : 0,
            .matrix_workspace_bytes = matrix_workspace_bytes(gpu),
            .memory_bytes = gpu ? gpu->memory_bytes : 0};
  }
  std::string assumption(const Plan& plan) const override {
    return measured_device(plan.spec) == DeviceKind::cuda ? gpu_sheet_text(first_gpu(machine_)) : "";
  }
  Link link(const Plan& plan) const override { return data_sheet_rates(machine_, plan.spec, 1).message; }
  int cores() const override { return std::max(1, machine_.cores); }
  std::string source() const override { return "data-sheet"; }

 private:
  static int members(const Plan& plan, const Op& op) {
    return static_cast<int>(plan.groups[op.group.value].ranks.size());
  }
  double bytes(const Plan& plan, Rank rank, const Op& op) const {
    return static_cast<double>(sizes_.payload_bytes(plan, rank, op));
  }
  double gradients(const Plan& plan, const Op& pass) const {
    return static_cast<double>(sizes_.gradient_bytes(plan, pass.segment));
  }
  double parameters(const Plan& plan, const Op& op) const {
    return static_cast<double>(sizes_.parameter_bytes(plan, op.segment, op.segments));
  }

  double roofline(const DataSheetRates& rates, const Plan& plan, Rank rank, const Op& op) const {
    const Segment& segment = plan.segments[op.segment.value];
    const int samples = samples_of(plan, rank, op);
    const bool back = makes_input_gradient(op.kind) || makes_weight_gradient(op.kind);
    double sum = 0;
    for (int l = segment.first_layer; l < segment.first_layer + segment.layers; ++l) {
      const LayerSpec& layer = sizes_.model().layers[l];
      const LayerCost c = cost(layer, sizes_.input(l), activation_bytes(plan.spec.precision), l == 0);
      const Flops flops = (back ? c.backward_per_sample : c.forward_per_sample) * static_cast<double>(samples);
      // A third of the weights' traffic is the forward's read, the rest the backward's read and write.
      const double moved =
          static_cast<double>((back ? c.moved_backward_per_sample : c.moved_forward_per_sample).value) * samples +
          static_cast<double>(c.moved_per_batch.value) * (back ? 2 : 1) / 3;
      const double work = std::max(flops.value / rates.flops_per_s, moved / rates.bytes_per_s);
      const double launches = rates.launch_s * operations(layer) * (back ? 2 : 1);
      sum += rates.launches_ahead ? std::max(work, launches) : work + launches;
    }
    return sum * rates.sharing;
  }

  MachineInfo machine_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<CostModel> data_sheet_costs(MachineInfo machine, ModelSpec model) {
  return std::make_unique<DataSheetCosts>(std::move(machine), std::move(model));
}

}  // namespace parabench
