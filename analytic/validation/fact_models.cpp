#include "analytic/validation/fact_models.h"

#include <fmt/format.h>

#include <array>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/closed_forms/transformer_step.h"

namespace parabench::analytic {
namespace {

using Values = std::span<const double>;

std::vector<Constant> no_constants(const Fact&) { return {}; }

// Strategies, as speed-ups over one device.

std::string of_network(std::string_view constant, const Fact& fact) {
  const std::string& network = fact.configuration.network;
  return network.empty() ? std::string(constant) : fmt::format("{} of {}", constant, network);
}

/// The rate of one device, which a speed-up does not take and a configuration may give.
std::vector<Constant> one_device(const Fact& fact) {
  if (fact.quantity == Quantity::speed_up || fact.configuration.sequential_samples_per_s > 0) return {};
  return {{of_network("sequential_samples_per_s", fact), 1}};
}

/// A speed-up in the quantity that was published.
double as_published(const Fact& fact, double speed_up, Values constants) {
  if (fact.quantity == Quantity::speed_up) return speed_up;
  const double one = constants.empty() ? fact.configuration.sequential_samples_per_s : constants[0];
  return fact.quantity == Quantity::samples_per_s ? speed_up * one : fact.configuration.samples / (speed_up * one);
}

template <double (*speed_up)(const Configuration&)>
double by_speed_up(const Fact& fact, Values constants) {
  return as_published(fact, speed_up(fact.configuration), constants);
}

double linear(const Configuration& c) { return c.devices; }

double eq_6_1(const Configuration& c) {
  return 1 / gpipe_compute(1, static_cast<int>(c.devices), static_cast<int>(c.micro_batches));
}

double recomputed(const Configuration& c) {
  return eq_6_1(c) / recompute_except_last(static_cast<int>(c.micro_batches));
}

/// Every device has its part of the batch, as the one device beside it has the whole.
double eq_5_1(const Configuration& c) {
  const double sequential_s = c.batch / c.sequential_samples_per_s;
  const std::array slowest{Link{.latency_s = 0, .bytes_per_s = c.link_bytes_per_s}};
  return sequential_s /
         data_parallel_step(sequential_s, static_cast<int>(c.devices), c.gradient_bytes, c.fusion_bytes, slowest);
}

/// What one device takes of a micro-batch, whatever its size, and of each of its samples.
std::vector<Constant> micro_batch_costs(const Fact& fact) {
  return {{of_network("floor_s", fact), 1e-2}, {of_network("sample_s", fact), 1e-3}};
}

double gpipe_floor(const Fact& fact, Values constants) {
  const Configuration& c = fact.configuration;
  const int micro_batches = static_cast<int>(c.micro_batches);
  const double sequential_s = c.micro_batches * (constants[0] + c.micro_batch * constants[1]);
  const double step_s =
      gpipe_compute(sequential_s, static_cast<int>(c.devices), micro_batches) * recompute_except_last(micro_batches);
  const double samples = c.micro_batches * c.micro_batch;
  return fact.quantity == Quantity::samples_per_s ? samples / step_s : c.samples / samples * step_s;
}

// Transformers.

Transformer transformer(const Configuration& c) { return {c.layers, c.hidden, c.heads, c.sequence, c.vocabulary}; }

std::vector<Constant> gpu_rate(const Fact&) { return {{"flops_per_s of a GPU", 1e14}}; }

/// TFLOP/s as the source counts them, whatever was recomputed in the run: those of an iteration with recomputation.
double from_seconds(const Fact& fact, double seconds) {
  if (fact.quantity == Quantity::seconds_per_iteration) return seconds;
  const Configuration& c = fact.configuration;
  return iteration_flops(transformer(c), c.batch, TransformerRecompute::full) / (c.devices * seconds) / 1e12;
}

double computing_s(const Configuration& c, double flops_per_s) {
  return iteration_flops(transformer(c), c.batch, *c.recompute) / (c.devices * flops_per_s);
}

double arithmetic(const Fact& fact, Values constants) {
  return from_seconds(fact, computing_s(fact.configuration, constants[0]));
}

double arithmetic_and_bubble(const Fact& fact, Values constants) {
  const Configuration& c = fact.configuration;
  const double bubble = (c.pipeline - 1) / (c.chunks * c.micro_batches);
  return from_seconds(fact, computing_s(c, constants[0]) * (1 + bubble));
}

double activations(const Fact& fact, Values) {
  const Configuration& c = fact.configuration;
  const auto layer = [&](Switch sequence_parallel, TransformerRecompute recompute) {
    return layer_activation_bytes(transformer(c), c.micro_batch, c.tensor, sequence_parallel == Switch::on, recompute);
  };
  const double bytes = layer(*c.sequence_parallel, *c.recompute);
  if (fact.quantity == Quantity::share) return bytes / layer(Switch::off, TransformerRecompute::none);
  return c.layers * bytes * interleaved_activations(c.pipeline, c.chunks);
}

double model_states(const Fact& fact, Values) {
  const Configuration& c = fact.configuration;
  return model_state_bytes(layer_parameters(transformer(c)) / (c.tensor * c.pipeline), *c.training, *c.sharded, c.data);
}

TransformerRun transformer_run(const Configuration& c) {
  return {transformer(c), c.batch, c.micro_batch, c.tensor, c.pipeline, c.data};
}

constexpr std::size_t composing = 7, costing = 6;

std::vector<Constant> composition() {
  return {{"head_flops_per_s", 2.4e14},     {"hop_latency_s", 1e-4},    {"hop_bytes_per_s", 2e10},
          {"data_latency_s", 1e-4},         {"data_bytes_per_s", 1e11}, {"fixed_s", 1e-3},
          {"update_s_per_parameter", 3e-11}};
}

StepCosts step_costs(Values v) {
  return {.head_flops_per_s = v[0],
          .hop = {v[1], v[2]},
          .data = {v[3], v[4]},
          .update_s_per_parameter = v[6],
          .fixed_s = v[5]};
}

std::vector<Constant> thirteen(const Fact&) {
  std::vector<Constant> constants = composition();
  // One rate for all matrix products.
  constants[0].name = "flops_per_s";
  for (const Constant& more : {Constant{"k1", 10}, Constant{"k2", 10}, Constant{"k3", 37}, Constant{"launch_s", 3.3e-3},
                               Constant{"tensor_latency_s", 7.6e-6}, Constant{"tensor_bytes_per_s", 1.43e11}})
    constants.push_back(more);
  return constants;
}

double layer_formula(const Fact& fact, Values constants) {
  const TransformerRun run = transformer_run(fact.configuration);
  const Values v = constants.subspan(composing, costing);
  const LayerCosts layer{constants[0], v[0], v[1], v[2], v[3], {v[4], v[5]}};
  return transformer_step(run, transformer_layer(run, layer), step_costs(constants));
}

std::vector<Constant> waves(const Fact&) {
  std::vector<Constant> constants = composition();
  constants[0].name = "flops_per_s";
  for (const Constant& more :
       {Constant{"score_bytes", 37}, Constant{"launch_s", 3.3e-3}, Constant{"unfused_s", 1e-3},
        Constant{"tensor_latency_s", 7.6e-6}, Constant{"tensor_bytes_per_s", 1.43e11}, Constant{"logit_bytes", 20}})
    constants.push_back(more);
  return constants;
}

double layer_in_waves(const Fact& fact, Values constants) {
  const TransformerRun run = transformer_run(fact.configuration);
  const Values v = constants.subspan(composing, costing);
  const WaveCosts layer{
      .flops_per_s = constants[0], .score_bytes = v[0], .launch_s = v[1], .unfused_s = v[2], .tensor = {v[3], v[4]}};
  StepCosts step = step_costs(constants);
  step.logit_bytes = v[5];
  return transformer_step(run, transformer_layer_in_waves(run, layer), step);
}

std::vector<Constant> profile(const Fact& fact) {
  const Configuration& c = fact.configuration;
  std::vector<Constant> constants = composition();
  constants.push_back({fmt::format("layer_s of hidden {} heads {} sequence {} micro_batch {} tensor {}", c.hidden,
                                   c.heads, c.sequence, c.micro_batch, c.tensor),
                       4e-3});
  return constants;
}

double profiled_layers(const Fact& fact, Values constants) {
  return transformer_step(transformer_run(fact.configuration), constants[composing], step_costs(constants));
}

using Q = Quantity;

std::vector<FactModel> make_models() {
  const std::vector<Q> strategies = {Q::speed_up, Q::samples_per_s, Q::seconds_per_epoch};
  const std::vector<Q> iterations = {Q::seconds_per_iteration, Q::tflops_per_gpu};
  const std::vector<std::string_view> flops = {"devices", "batch", "layers", "hidden", "sequence", "recompute"};
  std::vector<std::string_view> piped = flops;
  piped.insert(piped.end(), {"pipeline", "chunks", "micro_batches"});
  const std::vector<std::string_view> run = {"batch",    "micro_batch", "layers", "hidden",   "heads",
                                             "sequence", "vocabulary",  "tensor", "pipeline", "data"};
  return {
      {"linear", strategies, {"devices"}, one_device, by_speed_up<linear>},
      {"ddlbench-eq-5.1",
       strategies,
       {"devices", "batch", "sequential_samples_per_s", "gradient_bytes", "fusion_bytes", "link_bytes_per_s"},
       no_constants,
       by_speed_up<eq_5_1>},
      {"ddlbench-eq-6.1", strategies, {"devices", "micro_batches"}, one_device, by_speed_up<eq_6_1>},
      {"gpipe-recompute", strategies, {"devices", "micro_batches"}, one_device, by_speed_up<recomputed>},
      {"gpipe-floor",
       {Q::samples_per_s, Q::seconds_per_epoch},
       {"devices", "micro_batches", "micro_batch"},
       micro_batch_costs,
       gpipe_floor},
      {"transformer-flops", iterations, flops, gpu_rate, arithmetic},
      {"transformer-flops-bubble", iterations, piped, gpu_rate, arithmetic_and_bubble},
      {"transformer-activations",
       {Q::bytes_per_gpu, Q::share},
       {"layers", "hidden", "heads", "sequence", "micro_batch", "tensor", "pipeline", "chunks", "recompute",
        "sequence_parallel"},
       no_constants,
       activations},
      {"model-states",
       {Q::bytes_per_gpu},
       {"layers", "hidden", "tensor", "pipeline", "data", "training", "sharded"},
       no_constants,
       model_states},
      {"transformer-13", {Q::seconds_per_iteration}, run, thirteen, layer_formula},
      {"transformer-waves", {Q::seconds_per_iteration}, run, waves, layer_in_waves},
      {"transformer-profiled", {Q::seconds_per_iteration}, run, profile, profiled_layers},
  };
}

}  // namespace

std::span<const FactModel> fact_models() {
  static const std::vector<FactModel> models = make_models();
  return models;
}

const FactModel& find_fact_model(std::string_view subject, std::string_view name) {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const FactModel& model : fact_models()) all.push_back(model.name);
    return all;
  }();
  return fact_models()[index_of_name(subject, name, names)];
}

}  // namespace parabench::analytic
