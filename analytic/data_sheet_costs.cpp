#include <algorithm>

#include "analytic/cost_model.h"
#include "analytic/sizes.h"

namespace parabench {
namespace {

// Guesses for a machine that was never measured; every number made of them is marked "data-sheet".
constexpr double efficiency = 0.75;  // PyTorch RuntimeEstimator
constexpr double default_frequency_hz = 2.5e9;
constexpr int default_vector_bits = 256;
constexpr double core_bytes_per_s = 10e9;  // what one core draws from memory
constexpr double node_bytes_per_s = 25e9;  // two channels of DDR4-2666 at .6
constexpr double launch_s = 10e-6;         // per operation of a layer and pass, on the host
constexpr Link mailbox{.latency_s = 20e-6, .bytes_per_s = core_bytes_per_s / 2};  // copied in and out

class DataSheetCosts final : public CostModel {
 public:
  DataSheetCosts(MachineInfo machine, ModelSpec model) : machine_(std::move(machine)), sizes_(std::move(model)) {}

  double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    const double bytes_per_s = std::min(core_bytes_per_s, node_bytes_per_s / busy_ranks);
    switch (op.kind) {
      case OpKind::forward: return roofline(plan, rank, op, busy_ranks);
      case OpKind::backward:
        return roofline(plan, rank, op, busy_ranks) +
               gradient_words(plan, rank, op) * parameters(plan, op) / bytes_per_s;
      case OpKind::update: return update_words * parameters(plan, op) / bytes_per_s;
      case OpKind::all_reduce:
        return ring_all_reduce(plan.replicas, parameters(plan, op), mailbox.latency_s, 1 / core_bytes_per_s, 0);
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward:
        return mailbox.latency_s + static_cast<double>(sizes_.message_bytes(plan, rank, op)) / mailbox.bytes_per_s;
    }
    return 0;
  }
  std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return sizes_.saved_bytes(plan, rank, op);
  }
  std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return sizes_.temporary_bytes(plan, rank, op);
  }
  Link link(const Plan&) const override { return mailbox; }
  int cores() const override { return std::max(1, machine_.cores); }
  std::string source() const override { return "data-sheet"; }

 private:
  double parameters(const Plan& plan, const Op& op) const {
    return static_cast<double>(sizes_.parameter_bytes(plan, op.segment, op.segments));
  }

  /// Two fused multiply-add units per core; fp64 halves the lanes of a vector.
  double peak_flops(const Case& spec) const {
    const double frequency = machine_.frequency_hz > 0 ? machine_.frequency_hz : default_frequency_hz;
    const int bits = machine_.vector_bits > 0 ? machine_.vector_bits : default_vector_bits;
    const double lanes = bits / (8.0 * parameter_bytes(spec.precision));
    return std::min(spec.threads, cores()) * frequency * lanes * 2 * 2;
  }

  double roofline(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const {
    const Segment& segment = plan.segments[op.segment.value];
    const int threads = plan.spec.threads, samples = samples_of(plan, rank, op);
    const double flops_per_s = efficiency * peak_flops(plan.spec);
    const double bytes_per_s = std::min(threads * core_bytes_per_s, node_bytes_per_s / busy_ranks);
    double sum = 0;
    for (int l = segment.first_layer; l < segment.first_layer + segment.layers; ++l) {
      const LayerSpec& layer = sizes_.model().layers[l];
      const LayerCost c = cost(layer, sizes_.input(l), activation_bytes(plan.spec.precision), l == 0);
      const bool back = op.kind == OpKind::backward;
      const Flops flops = (back ? c.backward_per_sample : c.forward_per_sample) * static_cast<double>(samples);
      // A third of the weights' traffic is the forward's read, the rest the backward's read and write.
      const double moved =
          static_cast<double>((back ? c.moved_backward_per_sample : c.moved_forward_per_sample).value) * samples +
          static_cast<double>(c.moved_per_batch.value) * (back ? 2 : 1) / 3;
      const auto operations = static_cast<double>(layer.body.size() + layer.shortcut.size());
      sum += std::max(flops.value / flops_per_s, moved / bytes_per_s) + launch_s * operations * (back ? 2 : 1);
    }
    return sum * std::max(1.0, static_cast<double>(busy_ranks) * std::min(threads, cores()) / cores());
  }

  MachineInfo machine_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<CostModel> data_sheet_costs(MachineInfo machine, ModelSpec model) {
  return std::make_unique<DataSheetCosts>(std::move(machine), std::move(model));
}

}  // namespace parabench
