#include "parallelism/exec/reference.h"

#include <torch/autograd.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "base/compression.h"
#include "base/optimizer.h"
#include "models/spec/cost.h"
#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "parallelism/exec/compression/formulas.h"
#include "parallelism/exec/optimizer/formulas.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/plan/owners.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"

namespace parabench::exec {
namespace {

/// One layer's weights through time: versions.back() is the latest, the front the oldest that may still be read.
struct LayerHistory {
  std::deque<modules::LayerTensors> versions;
  std::vector<OptimizerHistory> optimizer;  ///< by parameter
  plan::VersionRule rule;
  int newest = 0;

  const modules::LayerTensors& read_by(int step) const {
    return versions[versions.size() - 1 - (newest - plan::version_read(rule, StepId(step)).value)];
  }
};

/// 1 + nudge and 1 - nudge by turns.
torch::Tensor factors(std::int64_t elements, double nudge) {
  return 1 + nudge * (1 - 2 * torch::arange(elements, torch::kFloat64).remainder(2));
}

modules::LayerTensors initial_tensors(const models::LayerSpec& layer, const Case& spec, double nudge) {
  modules::LayerTensors tensors = modules::allocate_tensors(layer, master_type(spec.precision));
  torch::NoGradGuard no_grad;
  for (std::size_t p = 0; p < tensors.parameters.size(); ++p) {
    torch::Tensor& parameter = tensors.parameters[p];
    auto values = torch::empty(parameter.sizes(), torch::kFloat64);
    modules::initialise(layer, p, spec.seed, 0, {values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
    if (nudge != 0) values *= factors(values.numel(), nudge).view(values.sizes());
    if (spec.layout == Layout::channels_last && parameter.dim() == 4)
      values = values.contiguous(at::MemoryFormat::ChannelsLast);
    parameter = values.to(master_type(spec.precision)).requires_grad_();
  }
  return tensors;
}

std::vector<torch::Tensor> as_fp64(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copies;
  for (const auto& t : tensors) copies.push_back(t.detach().to(torch::kFloat64, false, true).contiguous());
  return copies;
}

/// The case with each batch as one piece, and nobody to compute it: for its input.
plan::Plan as_one_piece(const plan::Plan& plan) {
  plan::Plan whole;
  whole.spec = plan.spec;
  whole.pieces = {{plan.spec.batch}};
  return whole;
}

std::vector<plan::InputPiece> pieces_of(const plan::Plan& cut, int step) {
  std::vector<plan::InputPiece> pieces;
  for (int replica = 0; replica < cut.replicas; ++replica)
    for (int m = 0; m < plan::micro_batches(cut); ++m)
      pieces.push_back({StepId(step), ReplicaId(replica), MicroBatchId(m)});
  return pieces;
}

/// Weights of version newest + 1 from the gradients that the read version has collected. `original`: where the layer
/// has the copy of `tie`, the layer that it takes the tensor from, updated before; else nullptr.
void apply_update(LayerHistory& layer, const modules::LayerTensors& read, const OptimizerRule& rule,
                  const LayerHistory* original, const models::Tie& tie) {
  modules::LayerTensors next;
  for (std::size_t p = 0; p < read.parameters.size(); ++p) {
    if (original && static_cast<int>(p) == tie.copy.parameter) {
      next.parameters.push_back(original->versions.back().parameters[tie.original.parameter]);
      continue;
    }
    const torch::Tensor& latest = layer.versions.back().parameters[p];
    torch::Tensor& read_gradient = read.parameters[p].mutable_grad();
    next.parameters.push_back(next_weights(rule, latest, read_gradient, layer.optimizer[p]).requires_grad_());
    read_gradient.reset();
  }
  layer.versions.push_back(std::move(next));
  ++layer.newest;
  while (static_cast<int>(layer.versions.size()) > layer.rule.lag + 1) layer.versions.pop_front();
}

/// A copy of the model.
using Layers = std::vector<LayerHistory>;

/// One tensor in both layers: autograd sums what each makes of it.
void tie_layers(Layers& layers, const models::Tie& tie) {
  layers[tie.copy.layer].versions.back().parameters[tie.copy.parameter] =
      layers[tie.original.layer].versions.back().parameters[tie.original.parameter];
}

Layers initial_layers(const plan::Plan& plan, const models::ModelSpec& model, std::span<const StageId> stage_of_layer,
                      double nudge) {
  const std::vector<plan::VersionRule> rules = plan::delay_rules(plan);
  Layers layers(model.layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    modules::LayerTensors tensors = initial_tensors(model.layers[l], plan.spec, nudge);
    layers[l].optimizer.resize(tensors.parameters.size());
    layers[l].rule = rules[stage_of_layer[l].value];
    layers[l].versions.push_back(std::move(tensors));
  }
  if (model.tie) tie_layers(layers, *model.tie);
  return layers;
}

void update(Layers& layers, const models::ModelSpec& model, const OptimizerRule& rule, StepId step) {
  const models::Tie tie = model.tie.value_or(models::Tie{});
  for (LayerHistory& layer : layers) {
    if (!plan::is_update_due(layer.rule, step)) continue;
    const bool has_copy = model.tie && &layer == &layers[tie.copy.layer];
    // The read version may leave the history with the update: keep its tensors alive.
    const modules::LayerTensors of_this_update = layer.read_by(step.value);
    apply_update(layer, of_this_update, rule, has_copy ? &layers[tie.original.layer] : nullptr, tie);
  }
}

/// The gradients of each replica by itself, and what their compressed sums come to.
class ReplicaGradients {
 public:
  ReplicaGradients(const plan::Plan& plan, const models::ModelSpec& model, int first_term) : model_(model) {
    const Compression by = compression(plan.spec);
    for (const models::LayerSpec& layer : model.layers) {
      auto& sums = sums_.emplace_back();
      for (const models::ParameterSpec& tensor : models::parameters(layer))
        sums.emplace_back(by, tensor.name, plan.replicas, plan.spec.seed, first_term);
    }
  }

  /// Takes what the replica's backwards have left, once it is through with its pieces.
  void take(Layers& layers) {
    auto& taken = gradients_.emplace_back();
    for_each_parameter(layers, [&](torch::Tensor& parameter, CompressedSum&) {
      taken.push_back(std::exchange(parameter.mutable_grad(), torch::Tensor()));
    });
  }

  /// After the last replica.
  void sum(Layers& layers) {
    std::size_t place = 0;
    for_each_parameter(layers, [&](torch::Tensor& parameter, CompressedSum& sum) {
      std::vector<torch::Tensor> of_all;
      for (const auto& replica : gradients_) of_all.push_back(replica[place]);
      ++place;
      parameter.mutable_grad() = sum.next(of_all);
    });
    gradients_.clear();
  }

 private:
  /// Once, where two layers have the same.
  template <class Visit>
  void for_each_parameter(Layers& layers, Visit visit) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::vector<torch::Tensor>& parameters = layers[l].versions.back().parameters;
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        const models::ParameterPlace place{static_cast<int>(l), static_cast<int>(p)};
        if (models::origin(model_, place) == place) visit(parameters[p], sums_[l][p]);
      }
    }
  }

  const models::ModelSpec& model_;
  std::vector<std::vector<CompressedSum>> sums_;       ///< [layer][tensor]
  std::vector<std::vector<torch::Tensor>> gradients_;  ///< [replica][tensor]
};

/// Sums of the gradients of those replicas that came in time.
class FirstComeGradients {
 public:
  FirstComeGradients(const Arrivals& arrivals, std::span<const StageId> stage_of_layer)
      : arrivals_(arrivals), stage_of_layer_(stage_of_layer), sums_(stage_of_layer.size()) {}

  bool is_too_late(const plan::InputPiece& piece) const {
    return !arrivals_.empty() && arrivals_.too_late[piece.replica.value][piece.step.value];
  }

  /// How many there are of a stage, in any step.
  double taken(int replicas) const {
    return arrivals_.empty() ? replicas : static_cast<double>(arrivals_.taken.front().front().size());
  }

  /// Takes what the replica's backward has left.
  void take(Layers& layers, const plan::InputPiece& piece) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const bool counts = is_taken(stage_of_layer_[l], piece);
      std::vector<torch::Tensor>& parameters = layers[l].versions.back().parameters;
      sums_[l].resize(parameters.size());
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        const torch::Tensor gradient = std::exchange(parameters[p].mutable_grad(), torch::Tensor());
        if (!counts || !gradient.defined()) continue;  // a tied tensor's was taken with its first layer
        sums_[l][p] = sums_[l][p].defined() ? sums_[l][p] + gradient : gradient;
      }
    }
  }

  /// After the last replica.
  void give_back(Layers& layers) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::vector<torch::Tensor>& parameters = layers[l].versions.back().parameters;
      for (std::size_t p = 0; p < parameters.size(); ++p)
        if (torch::Tensor sum = std::exchange(sums_[l][p], torch::Tensor()); sum.defined())
          parameters[p].mutable_grad() = std::move(sum);
    }
  }

 private:
  bool is_taken(StageId stage, const plan::InputPiece& piece) const {
    if (arrivals_.empty()) return true;
    const std::vector<ReplicaId>& taken = arrivals_.taken[stage.value][piece.step.value];
    return std::ranges::find(taken, piece.replica) != taken.end();
  }

  const Arrivals& arrivals_;
  std::span<const StageId> stage_of_layer_;
  std::vector<std::vector<torch::Tensor>> sums_;  ///< [layer][tensor]
};

/// Copies that train each for itself and meet now and then, by Plan::averaging.
class Meeting {
 public:
  Meeting(const plan::Averaging& averaging, const Layers& initial) : averaging_(averaging) {
    for (const LayerHistory& layer : initial) {
      last_.push_back(layer.versions.back().parameters);
      velocity_.emplace_back(last_.back().size());
    }
  }

  void average(std::span<Layers> copies, const models::ModelSpec& model) {
    torch::NoGradGuard no_grad;
    for (std::size_t l = 0; l < last_.size(); ++l) {
      for (std::size_t p = 0; p < last_[l].size(); ++p) {
        torch::Tensor mean = torch::zeros_like(last_[l][p]);
        for (const Layers& copy : copies)
          mean += copy[l].versions.back().parameters[p] / static_cast<double>(copies.size());
        if (!averaging_.is_mean()) mean = next_weights(outer_, last_[l][p], last_[l][p] - mean, velocity_[l][p]);
        for (Layers& copy : copies) copy[l].versions.back().parameters[p] = mean.clone().requires_grad_();
        last_[l][p] = std::move(mean);
      }
    }
    if (!model.tie) return;
    for (Layers& copy : copies) tie_layers(copy, *model.tie);
  }

 private:
  plan::Averaging averaging_;
  OptimizerRule outer_{.lr = averaging_.lr, .momentum = averaging_.momentum, .nesterov = true};
  std::vector<std::vector<torch::Tensor>> last_;         ///< [layer][tensor] what the latest meeting left
  std::vector<std::vector<OptimizerHistory>> velocity_;  ///< of the outer optimizer
};

/// Whether a batch passes through the model as one piece.
bool is_trained_whole(const plan::Plan& plan, const models::ModelSpec& model) {
  const bool apart =
      plan::averaging(plan.spec).every > 0 || compression(plan.spec).is_on() || plan::serving(plan.spec).backups > 0;
  return plan.spec.sync_bn || (!models::mixes_samples(model) && !apart);
}

}  // namespace

ReferenceState train_reference(const plan::Plan& plan, const models::ModelSpec& model, int steps,
                               std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options,
                               const Departure& departure, const Arrivals& arrivals) {
  const Case& spec = plan.spec;
  const plan::PieceOwners owners(plan);
  std::vector<StageId> stage_of_layer(model.layers.size());
  // With sync_bn:on the plan's layers are others, all of one stage.
  for (const plan::Segment& segment : plan.segments)
    for (int l = 0; l < segment.layers && !spec.sync_bn; ++l) stage_of_layer[segment.first_layer + l] = segment.stage;

  const plan::Averaging averaging = plan::averaging(spec);
  const bool trains_apart = averaging.every > 0;
  std::vector<Layers> copies;
  for (int copy = 0; copy < (trains_apart ? plan.replicas : 1); ++copy)
    copies.push_back(initial_layers(plan, model, stage_of_layer, departure.nudge));
  const auto copy_of = [&](ReplicaId replica) -> Layers& { return copies[trains_apart ? replica.value : 0]; };
  Meeting meeting(averaging, copies.front());

  ReferenceState state;
  const bool compresses = compression(spec).is_on();
  ReplicaGradients of_replicas(plan, model, departure.first_term);
  const bool by_arrival = plan::serving(spec).backups > 0;
  FirstComeGradients first_come(arrivals, stage_of_layer);
  state.whole_batch = is_trained_whole(plan, model);
  std::vector<std::vector<std::vector<torch::Tensor>>> buffers(plan.ranks.size());  // working copies, run precision
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    state.initial.push_back(as_fp64(copies.front()[l].versions.back().parameters));
    for (auto& rank : buffers) rank.push_back(modules::allocate_buffers(model.layers[l], master_type(spec.precision)));
  }
  state.buffers.resize(plan.ranks.size());

  plan::Plan cut = state.whole_batch ? as_one_piece(plan) : plan;
  cut.averaging = averaging;
  std::vector<plan::InputPiece> pieces;
  for (int step = 0; step < steps; ++step) std::ranges::copy(pieces_of(cut, step), std::back_inserter(pieces));
  const TensorSpec sample = source->shape(), label_shape = source->label_shape();
  PieceInput input(cut, pieces, std::move(source), options, /*images=*/true, datasets::plain_memory);

  const auto statistics = [&](std::size_t l, const plan::InputPiece& piece) {
    if (state.whole_batch) return buffers.front()[l];  // of all ranks, where layers have any
    const Rank owner = owners.of({stage_of_layer[l], piece.replica}, piece.micro_batch, piece.step);
    return buffers[owner.value][l];
  };
  const double batch = plan::batch_samples(cut);
  for (int step = 0; step < steps; ++step) {
    double step_loss = 0, computed = 0;
    for (const plan::InputPiece& piece : pieces_of(cut, step)) {
      const datasets::LoadedPiece loaded = input.next();
      if (by_arrival && first_come.is_too_late(piece)) continue;
      auto [x, labels] = network_input(tensors_of(loaded, sample, label_shape), spec);
      const Layers& layers = copy_of(piece.replica);
      torch::Tensor loss;
      modules::Ports ports;
      const modules::DropoutDraws draws{spec.seed, plan::first_position(cut, piece)};
      {
        const modules::AutocastGuard autocast(spec.precision == Precision::bf16, torch::kCPU);
        for (std::size_t l = 0; l < layers.size(); ++l)
          x = modules::forward(model.layers[l], {layers[l].read_by(step).parameters, statistics(l, piece)}, x, ports,
                               {.dropout = draws});
        loss = modules::cross_entropy(x, labels, static_cast<double>(labels.size(0)));
      }
      const auto samples = static_cast<double>(labels.size(0));
      step_loss += samples / batch * loss.item<double>();
      computed += samples / batch;
      // Pieces that some may be left out of are equal.
      const double share =
          by_arrival ? 1 / first_come.taken(plan.replicas) : samples / plan::update_samples(cut, piece.replica);
      torch::autograd::backward({loss * share});
      if (by_arrival) first_come.take(copies.front(), piece);
      const bool is_last = piece.micro_batch.value == plan::micro_batches(cut) - 1;
      if (compresses && is_last) of_replicas.take(copies.front());
    }
    if (compresses) of_replicas.sum(copies.front());
    if (by_arrival) first_come.give_back(copies.front());
    state.losses.push_back(step_loss / (by_arrival ? computed : 1));
    for (Layers& layers : copies) update(layers, model, optimizer_rule(spec), StepId(step));
    if (averaging.is_due(StepId(step))) meeting.average(copies, model);
  }

  for (const LayerHistory& layer : copies.front())
    state.parameters.push_back(as_fp64(layer.versions.back().parameters));
  int missed = 0;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) missed = std::max(missed, plan::updates_missed(spec, r, steps));
  for (int updates = 1; updates <= missed; ++updates) {
    auto& before = state.earlier.emplace_back();
    for (const LayerHistory& layer : copies.front())
      before.push_back(as_fp64(layer.versions[layer.versions.size() - 1 - updates].parameters));
  }
  for (std::size_t r = 0; r < plan.ranks.size(); ++r)
    for (const auto& layer : buffers[state.whole_batch ? 0 : r]) state.buffers[r].push_back(as_fp64(layer));
  return state;
}

namespace {

using Layerwise = std::vector<std::vector<torch::Tensor>>;

/// The tensors one after the other, by the layers of another model.
Layerwise regrouped(const Layerwise& tensors, const models::ModelSpec& by,
                    std::vector<models::ParameterSpec> (*specs)(const models::LayerSpec&)) {
  std::vector<torch::Tensor> all;
  for (const auto& layer : tensors) all.insert(all.end(), layer.begin(), layer.end());
  Layerwise result;
  auto next = all.begin();
  for (const models::LayerSpec& layer : by.layers) {
    const auto end = next + std::ssize(specs(layer));
    result.emplace_back(next, end);
    next = end;
  }
  return result;
}

}  // namespace

ReferenceState by_layers_of(ReferenceState reference, const models::ModelSpec& model) {
  if (reference.initial.size() == model.layers.size()) return reference;
  for (Layerwise* tensors : {&reference.initial, &reference.parameters})
    *tensors = regrouped(*tensors, model, models::parameters);
  for (Layerwise& before : reference.earlier) before = regrouped(before, model, models::parameters);
  for (Layerwise& of_rank : reference.buffers) of_rank = regrouped(of_rank, model, models::buffers);
  return reference;
}

std::int64_t reference_bytes(const plan::Plan& plan, const models::ModelSpec& model) {
  const bool trains_apart = plan::averaging(plan.spec).every > 0;
  const std::int64_t trained = trains_apart ? plan.replicas : 1, outer = trains_apart ? 3 : 0;
  const std::int64_t apart =
      compression(plan.spec).is_on() ? 3 * plan.replicas : 0;                // gradients, errors and their sums
  const std::int64_t chosen = plan::serving(plan.spec).backups > 0 ? 1 : 0;  // their sum
  int versions = plan.stages;
  for (const plan::VersionRule& rule : plan::delay_rules(plan)) versions = std::max(versions, rule.lag + 1);
  const int missed = plan::updates_missed(plan.spec, Rank(0), versions);
  const std::int64_t copies =
      3 + trained * (1 + state_count(optimizer_rule(plan.spec)) + versions) + outer + missed + apart + chosen;
  int samples = 0;
  for (const auto& replica : plan.pieces) samples = std::max(samples, std::ranges::max(replica));
  if (is_trained_whole(plan, model)) samples = plan.spec.batch;
  const int element = plan::parameter_bytes(plan.spec.precision);
  const models::LayerCost kept = models::cost(model.layers, model.input, element, /*first=*/true);
  const std::int64_t outputs = 4 * models::boundaries(model).back().elements() * element;
  std::int64_t replies = 0;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r)
    for (const int layer : plan::layers_held(plan, r)) replies += models::parameter_count(model.layers[layer]);
  return (models::parameter_count(model) * copies + replies) * static_cast<std::int64_t>(sizeof(double)) +
         (kept.saved_per_sample.value + outputs) * samples + kept.saved_per_batch.value;
}

}  // namespace parabench::exec
