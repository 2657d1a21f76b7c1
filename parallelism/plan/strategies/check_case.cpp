#include "parallelism/plan/strategies/check_case.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/optimizer.h"
#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

std::string key_value(std::string_view key, int value) { return std::string(key) + ':' + std::to_string(value); }

void check_positive(std::string_view key, int value) {
  if (value < 1) throw usage_error(key, std::to_string(value), "an integer >= 1", "try " + key_value(key, 1));
}

/// Keys that only some strategies read keep their default elsewhere, so that no id promises what does not happen.
void check_keys(const Case& spec, const Strategy& strategy) {
  for (const CaseKey& key : case_keys()) {
    if (!key.is_of_strategies() || strategy.uses(key.name)) continue;
    const std::string value = value_text(spec, key), standard = default_text(key, spec);
    if (value == standard) continue;
    throw usage_error(key.name, value,
                      (standard.empty() ? "no value" : "the default " + standard) + ": " + std::string(strategy.name) +
                          " does not use this key",
                      "leave " + std::string(key.name) + " out");
  }
  for (const auto& [name, value] : spec.strategy.parameters) {
    if (strategy.find_parameter(name)) continue;
    std::vector<std::string> known;
    for (const StrategyParameter& one : strategy.parameters) known.emplace_back(one.name);
    throw usage_error("parameter of " + std::string(strategy.name), name, known.empty() ? "none" : "one that it has",
                      known.empty() ? "write " + std::string(strategy.name) : nearest_hint(name, known));
  }
}

/// Replicas and stages that a limit or a planner decides.
void check_planned(const Case& spec, const Strategy& strategy) {
  const bool cut = spec.partition == PartitionRule::memory, again = spec.recompute == Recompute::automatic;
  if (!spec.memory && (cut || again)) {
    throw usage_error(cut ? "partition" : "recompute", cut ? "memory" : "auto",
                      "the key memory beside it, the bytes that a rank may use", "try memory:8GiB");
  }
  if (spec.memory && !cut && !again) {
    throw usage_error("memory", value_text(spec, find_case_key("memory")),
                      "partition:memory or recompute:auto beside it: nothing else reads the key",
                      "leave memory out, or write partition:memory");
  }
  if (cut && strategy.from_file) {
    throw usage_error("partition", "memory", "time, parameters or uniform for a schedule from a file",
                      "try partition:time");
  }
  if (cut && strategy.uses("partition") && strategy.chunks(spec) > 1) {
    throw usage_error(
        "partition", "memory",
        "one stage per rank; " + std::string(strategy.name) + " has " + std::to_string(strategy.chunks(spec)),
        "try partition:time with recompute:auto");
  }
  sync_model(spec);
  if (plans_widths(spec) && spec.partition != PartitionRule::time && !cut) {
    throw usage_error("partition", to_text(spec.partition), "time or memory, by which replicas=auto cuts",
                      "leave partition out");
  }
}

/// A graph replays one rank's step by itself, on the memory that the captured step used.
void check_graph(const Case& spec, const models::ModelSpec& model, const Strategy& strategy) {
  if (!spec.graph) return;
  const auto refuse = [](const std::string& expected, const std::string& hint) {
    throw usage_error("graph", "on", expected, hint);
  };
  if (spec.device != DeviceKind::cuda) refuse("off where the device is not cuda", "leave graph out");
  if (spec.np != 1) {
    refuse("off for np:" + std::to_string(spec.np) + ": ranks exchange messages in the midst of a step",
           "try np:1, or leave graph out");
  }
  if (!strategy.uncapturable.empty()) {
    refuse("off for " + std::string(strategy.name) + ", " + std::string(strategy.uncapturable), "leave graph out");
  }
  const auto drops = [](const models::Node& node) { return std::holds_alternative<models::Dropout>(node.operation); };
  if (std::ranges::any_of(model.layers,
                          [&](const models::LayerSpec& layer) { return std::ranges::any_of(layer.nodes, drops); }))
    refuse("off for " + model.name + ", whose dropout a graph would repeat in every step", "leave graph out");
}

void check_offered(const Case& spec) {
  if (spec.precision == Precision::tf32 && spec.device != DeviceKind::cuda) {
    throw usage_error("precision", "tf32", "fp32, bf16 or fp64 where the device is not cuda", "leave precision out");
  }
  if (spec.device == DeviceKind::emulated && spec.comm != CommKind::threads) {
    throw usage_error("comm", to_text(spec.comm),
                      "threads with device:emulated, whose ranks are threads of one process", "leave comm out");
  }
  if (spec.comm == CommKind::nccl && spec.device != DeviceKind::cuda) {
    throw usage_error("comm", "nccl", "mpi or threads where the device is not cuda", "leave comm out");
  }
}

/// The case's own schedule, and what the id says about it.
void check_given(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given) {
  if (!given) {
    throw usage_error("strategy", to_text(spec.strategy), "the schedule that it stands for",
                      "add --schedule FILE, in the CSV format of torch.distributed.pipelining");
  }
  const auto& parameters = spec.strategy.parameters;
  if (!parameters.empty() && parameters.front().second != given->sha) {
    throw usage_error("strategy parameter sha", parameters.front().second, given->sha + ", the hash of the schedule",
                      "give the file that the case was made with, or write csv[sha=" + given->sha + "]");
  }
  const int rows = static_cast<int>(given->ranks.size()), layers = static_cast<int>(model.layers.size());
  const auto expect = [](std::string_view key, int value, int expected, const std::string& what) {
    if (value != expected) {
      throw usage_error(key, std::to_string(value), std::to_string(expected) + ", " + what,
                        "try " + key_value(key, expected));
    }
  };
  expect("np", spec.np, rows * spec.dp,
         "the " + std::to_string(rows) + " ranks of the schedule" +
             (spec.dp > 1 ? " in " + std::to_string(spec.dp) + " copies" : ""));
  expect("micro", spec.micro, given->micro_batches, "the micro-batches of the schedule");
  if (given->stages > layers) {
    throw usage_error("schedule", std::to_string(given->stages) + " stages",
                      "at most " + std::to_string(layers) + ": " + model.name + " can be cut into " +
                          std::to_string(layers) + " layers",
                      "try a deeper model");
  }
}

void check_stages(const Case& spec, const models::ModelSpec& model, const Strategy& strategy,
                  const GivenSchedule* given) {
  if (spec.np % spec.dp != 0) {
    throw usage_error("dp", std::to_string(spec.dp), "a divisor of np, " + std::to_string(spec.np), "try dp:1");
  }
  const int copies = spec.dp * (strategy.schedule.stages == StageOrder::crossed ? 2 : 1);
  if (spec.zero > 0 && copies == 1)
    throw usage_error("zero", std::to_string(spec.zero), "dp above 1 beside it: copies of a stage, to share its states",
                      "try dp:2, or leave zero out");
  if (strategy.from_file) return check_given(spec, model, given);
  const int layers = static_cast<int>(model.layers.size()), stages = strategy.stages(spec);
  if (stages > layers) {
    const int per_rank = strategy.chunks(spec);
    throw usage_error(per_rank > 1 && strategy.uses("chunks") ? "chunks" : "np",
                      std::to_string(per_rank > 1 && strategy.uses("chunks") ? spec.chunks : spec.np),
                      "at most " + std::to_string(layers) + " stages, not " + std::to_string(stages) + ": " +
                          model.name + " can be cut into " + std::to_string(layers) + " layers",
                      "try fewer ranks or a deeper model");
  }
  // What a schedule refuses, it refuses before the batch is looked at.
  const auto refused = strategy.refuse ? strategy.refuse(strategy.pipe(spec)) : std::nullopt;
  if (refused) throw *refused;
}

void check_ranks(const Case& spec, const models::ModelSpec& model, const Strategy& strategy,
                 const GivenSchedule* given) {
  switch (strategy.ranks) {
    case RankUse::one:
      if (spec.np != 1) {
        throw usage_error("np", std::to_string(spec.np), "1 for " + std::string(strategy.name), "try np:1");
      }
      return;
    case RankUse::replicas: return;
    case RankUse::stages: return check_stages(spec, model, strategy, given);
  }
}

/// The first batch normalisation of the layer that would see a single value per channel, else empty.
std::string lonely_norm(const models::LayerSpec& layer, const TensorSpec& in, int samples) {
  const std::vector<TensorSpec> outputs = models::values(layer, in);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const models::Node& node = layer.nodes[i];
    if (models::mixes_samples(node.operation) && samples * outputs[i].elements_per_row() == 1) return node.name;
  }
  return {};
}

void check_pieces(const Case& spec, const models::ModelSpec& model, const Strategy& strategy) {
  const int pieces = strategy.pieces(spec);
  if (spec.batch < pieces) {
    throw usage_error("batch", std::to_string(spec.batch),
                      "at least " + std::to_string(pieces) + " samples: " + std::string(strategy.name) +
                          " cuts a batch into " + std::to_string(pieces) + " pieces",
                      "try " + key_value("batch", pieces));
  }
  const int smallest = spec.batch / pieces;
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

}  // namespace

void check_case(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  check_positive("np", spec.np);
  check_positive("batch", spec.batch);
  check_positive("micro", spec.micro);
  check_positive("dp", spec.dp);
  check_positive("chunks", spec.chunks);
  check_keys(spec, strategy);
  optimizer_rule(spec);
  check_offered(spec);
  check_graph(spec, model, strategy);
  check_planned(spec, strategy);
  check_ranks(spec, model, strategy, given);
  check_pieces(spec, model, strategy);
}

}  // namespace parabench::plan
