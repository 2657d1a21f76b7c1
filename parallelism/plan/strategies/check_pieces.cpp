#include "parallelism/plan/strategies/check_pieces.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/strategies/key_hints.h"

namespace parabench::plan {
namespace {

/// The first batch normalisation of the layer that would see a single value per channel, else empty.
std::string lonely_norm(const models::LayerSpec& layer, const TensorSpec& in, int samples) {
  const std::vector<TensorSpec> outputs = models::values(layer, in);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const models::Node& node = layer.nodes[i];
    if (models::mixes_samples(node.operation) && samples * outputs[i].elements_per_row() == 1) return node.name;
  }
  return {};
}

}  // namespace

void check_pieces(const Case& spec, const models::ModelSpec& model, const Strategy& strategy) {
  const int pieces = strategy.pieces(spec);
  if (spec.batch < pieces) {
    throw usage_error("batch", std::to_string(spec.batch),
                      "at least " + std::to_string(pieces) + " samples: " + std::string(strategy.name) +
                          " cuts a batch into " + std::to_string(pieces) + " pieces",
                      "try " + key_value("batch", pieces));
  }
  // Synchronised batch norms see the whole batch.
  const int smallest = spec.sync_bn ? spec.batch : spec.batch / pieces;
  if (smallest > 1) return;
  TensorSpec in = model.input;
  for (const models::LayerSpec& layer : model.layers) {
    const std::string norm = lonely_norm(layer, in, smallest);
    if (!norm.empty()) {
      throw usage_error(
          "batch", std::to_string(spec.batch),
          "pieces of 2 samples or more: one sample leaves batch norm " + norm + " a single value per channel",
          "try " + key_value("batch", 2 * pieces));
    }
    in = models::output(layer, in);
  }
}

void check_size(const Case& spec, const Strategy& strategy) {
  constexpr int most_ranks = 8192;
  constexpr std::int64_t most_passes = 100'000;
  if (spec.np > most_ranks)
    throw usage_error(
        "np", std::to_string(spec.np), "at most " + std::to_string(most_ranks) + " ranks",
        "try " + key_value("np", most_ranks) +
            "; predict does without a plan in some cases (docs/predictions.md, How far predictions reach)");
  const std::int64_t stages = strategy.from_file ? spec.np / spec.dp : strategy.stages(spec);
  const std::int64_t pieces = strategy.pieces(spec);
  if (stages * pieces > most_passes)
    throw usage_error(strategy.uses("micro") ? "micro" : "dp",
                      std::to_string(strategy.uses("micro") ? spec.micro : spec.dp),
                      "fewer: " + std::to_string(pieces) + " micro-batches in all through " + std::to_string(stages) +
                          " stages are more than the " + std::to_string(most_passes) + " that a plan may list",
                      "try fewer micro-batches, copies or ranks; predict does without a plan in some cases "
                      "(docs/predictions.md, How far predictions reach)");
}

}  // namespace parabench::plan
