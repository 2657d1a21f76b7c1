#include <algorithm>
#include <array>
#include <variant>

#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/plan/strategies.h"
#include "parallelism/plan/strategy_table.h"

namespace parabench {
namespace {

std::string key_value(std::string_view key, int value) { return std::string(key) + ':' + std::to_string(value); }

void check_positive(std::string_view key, int value) {
  if (value < 1) throw usage_error(key, std::to_string(value), "an integer >= 1", "try " + key_value(key, 1));
}

/// Keys that only some strategies read keep their default elsewhere, so that no id promises what does not happen.
void check_keys(const Case& spec, const Strategy& strategy) {
  for (std::string_view name : {"micro", "dp", "chunks", "warmup", "bucket", "partition"}) {
    const CaseKey& key = find_case_key(name);
    const std::string value = value_text(spec, key), standard = value_text(Case{}, key);
    if (strategy.uses(name) || value == standard) continue;
    throw usage_error(name, value,
                      (standard.empty() ? "no value" : "the default " + standard) + ": " + std::string(strategy.name) +
                          " does not use this key in this version",
                      "leave " + std::string(name) + " out");
  }
  for (const auto& [name, value] : spec.strategy.parameters) {
    if (std::ranges::find(strategy.parameters, name) != strategy.parameters.end()) continue;
    throw usage_error("strategy parameter", name,
                      std::string(strategy.name) + (strategy.parameters.empty()
                                                        ? " without parameters"
                                                        : " with " + std::string(strategy.parameters.front())),
                      "write " + std::string(strategy.name));
  }
}

void check_offered(const Case& spec) {
  if (spec.graph) throw usage_error("graph", "on", "off, all that this version offers", "leave graph out");
  if (spec.precision == Precision::tf32 && spec.device != DeviceKind::cuda) {
    throw usage_error("precision", "tf32", "fp32, bf16 or fp64 where the device is not cuda", "leave precision out");
  }
  if (spec.comm == CommKind::nccl && spec.device != DeviceKind::cuda) {
    throw usage_error("comm", "nccl", "mpi or threads where the device is not cuda", "leave comm out");
  }
}

void check_stages(const Case& spec, const ModelSpec& model, const Strategy& strategy) {
  if (spec.np % spec.dp != 0) {
    throw usage_error("dp", std::to_string(spec.dp), "a divisor of np, " + std::to_string(spec.np), "try dp:1");
  }
  const int layers = static_cast<int>(model.layers.size()), stages = strategy.stages(spec);
  if (stages > layers) {
    const int per_rank = strategy.chunks(spec);
    throw usage_error(per_rank > 1 && strategy.uses("chunks") ? "chunks" : "np",
                      std::to_string(per_rank > 1 && strategy.uses("chunks") ? spec.chunks : spec.np),
                      "at most " + std::to_string(layers) + " stages, not " + std::to_string(stages) + ": " +
                          model.name + " can be cut into " + std::to_string(layers) + " layers",
                      "try fewer ranks or a deeper model");
  }
  const int devices = spec.np / spec.dp;
  if (strategy.uses("warmup") && spec.warmup && *spec.warmup < devices - 1) {
    throw usage_error("warmup", std::to_string(*spec.warmup),
                      "at least " + std::to_string(devices - 1) + ", the forwards until the last stage starts",
                      "leave warmup out for " + std::to_string(2 * (devices - 1)));
  }
  if (strategy.name == "pipedream-2bw" && spec.micro < devices - 1) {
    throw usage_error("micro", std::to_string(spec.micro),
                      "at least " + std::to_string(devices - 1) +
                          ": with fewer, mini-batches in flight would need more than two weight versions",
                      "try " + key_value("micro", devices));
  }
  if (strategy.schedule.order) {
    // What a schedule refuses, it refuses before the batch is looked at.
    const Pipe pipe{.devices = devices, .micro_batches = spec.micro, .chunks = strategy.chunks(spec)};
    strategy.schedule.order(pipe, 0);
  }
}

void check_ranks(const Case& spec, const ModelSpec& model, const Strategy& strategy) {
  switch (strategy.ranks) {
    case RankUse::one:
      if (spec.np != 1) {
        throw usage_error("np", std::to_string(spec.np), "1 for " + std::string(strategy.name), "try np:1");
      }
      return;
    case RankUse::replicas: return;
    case RankUse::stages: return check_stages(spec, model, strategy);
  }
}

/// The first batch normalisation of these steps that would see a single value per channel, else empty.
std::string lonely_norm(std::span<const Step> steps, Shape in, int samples) {
  for (const Step& step : steps) {
    if (std::holds_alternative<BatchNorm>(step.operation) && std::int64_t{samples} * in.height * in.width == 1) {
      return step.name;
    }
    in = output_shape(LayerSpec{.name = step.name, .body = {step}, .residual = false, .shortcut = {}}, in);
  }
  return {};
}

void check_pieces(const Case& spec, const ModelSpec& model, const Strategy& strategy) {
  const int pieces = strategy.pieces(spec);
  if (spec.batch < pieces) {
    throw usage_error("batch", std::to_string(spec.batch),
                      "at least " + std::to_string(pieces) + " samples: " + std::string(strategy.name) +
                          " cuts a batch into " + std::to_string(pieces) + " pieces",
                      "try " + key_value("batch", pieces));
  }
  const int smallest = spec.batch / pieces;
  if (smallest > 1) return;
  Shape in = model.input;
  for (const LayerSpec& layer : model.layers) {
    std::string norm = lonely_norm(layer.body, in, smallest);
    if (norm.empty()) norm = lonely_norm(layer.shortcut, in, smallest);
    if (!norm.empty()) {
      throw usage_error(
          "batch", std::to_string(spec.batch),
          "pieces of 2 samples or more: one sample leaves batch norm " + norm + " a single value per channel",
          "try " + key_value("batch", 2 * pieces));
    }
    in = output_shape(layer, in);
  }
}

}  // namespace

void check_case(const Case& spec, const ModelSpec& model) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  check_positive("np", spec.np);
  check_positive("batch", spec.batch);
  check_positive("micro", spec.micro);
  check_positive("dp", spec.dp);
  check_positive("chunks", spec.chunks);
  check_keys(spec, strategy);
  check_offered(spec);
  check_ranks(spec, model, strategy);
  check_pieces(spec, model, strategy);
}

}  // namespace parabench
