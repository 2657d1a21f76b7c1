#include "parallelism/plan/strategies/check_case.h"

#include <algorithm>
#include <variant>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/optimizer.h"
#include "parallelism/plan/strategies/c10d.h"
#include "parallelism/plan/strategies/check_pieces.h"
#include "parallelism/plan/strategies/check_stages.h"
#include "parallelism/plan/strategies/check_sums.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/horovod.h"
#include "parallelism/plan/strategies/key_hints.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

/// "leave order out, or take data-parallel": with the strategies that use a key, where they are few; of zero:1 with
/// zero1, which does it among all ranks.
std::string unused_hint(const CaseKey& key, const std::string& value) {
  constexpr std::size_t few = 6;
  std::vector<std::string_view> users;
  for (const Strategy& strategy : strategies())
    if (strategy.uses(key.name)) users.push_back(strategy.name);
  std::string hint = "leave " + std::string(key.name) + " out";
  const std::string by_itself = std::string(key.name) + value;
  if (std::ranges::count(strategies(), by_itself, &Strategy::name) > 0) return hint + ", or take " + by_itself;
  if (users.size() > few) return hint;
  for (std::size_t i = 0; i < users.size(); ++i) {
    hint += i == 0 ? ", or take " : i + 1 == users.size() ? " or " : ", ";
    hint += users[i];
  }
  return hint;
}

/// Keys that only some strategies read keep their default elsewhere, so that no id promises what does not happen.
void check_keys(const Case& spec) {
  if (const CaseKey* key = unused_key(spec))
    refuse_value(spec, *key, ": " + spec.strategy.name + " does not use this key",
                 unused_hint(*key, value_text(spec, *key)));
}

void check_parameters(const Case& spec, const Strategy& strategy) {
  std::vector<std::string_view> known;
  for (const StrategyParameter& one : strategy.parameters) known.push_back(one.name);
  for (const auto& [given, value] : spec.strategy.parameters)
    index_of_parameter(std::string(strategy.name), given, known);
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
  if (strategy.find_parameter("fusion")) fusion(spec);
  averaging(spec);
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
  if (spec.np != 1 && strategy.uncapturable.empty()) {
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

/// What starts by readiness has no order that a queue of a device, or whoever drives the operations, could keep to.
void check_executor(const Case& spec) {
  if (!is_futurized(spec)) return;
  const auto refuse = [](const std::string& expected) {
    throw usage_error("executor", "futurized", expected, "leave executor out");
  };
  const std::string name = parabench::to_text(spec.strategy);
  if (spec.device != DeviceKind::cpu)
    refuse("ordered with device:" + std::string(to_text(spec.device)) +
           ": operations are fired on the processor alone");
  if (serving(spec).backups > 0) refuse("ordered for " + name + ", whose servers add what comes first, step by step");
  if (delays_updates(spec)) refuse("ordered for " + name + ", in which the order decides what weights a pass reads");
  if (sums_by_reducer(spec)) refuse("ordered for " + name + ", whose backward is one call of PyTorch's autograd");
}

/// What zero3 reads.
void check_resharding(const Case& spec, const Strategy& strategy) {
  if (!strategy.uses("reshard")) return;
  if (!spec.reshard && spec.prefetch != Case{}.prefetch)
    throw usage_error("prefetch", std::to_string(spec.prefetch),
                      "reshard:on beside it: without, all weights are gathered once", "leave prefetch out");
}

void check_offered(const Case& spec) {
  if (spec.tp > 1) {
    throw usage_error("tp", std::to_string(spec.tp),
                      "1: no rank here computes a part of a layer; what it would take is only predicted",
                      "leave tp out, or predict the case");
  }
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

void check_ranks(const Case& spec, const models::ModelSpec& model, const Strategy& strategy,
                 const GivenSchedule* given) {
  switch (strategy.ranks) {
    case RankUse::one:
      if (spec.np != 1) {
        throw usage_error("np", std::to_string(spec.np), "1 for " + std::string(strategy.name), "try np:1");
      }
      return;
    case RankUse::replicas: return;
    case RankUse::workers: return check_servers(spec, model);
    case RankUse::stages: return check_stages(spec, model, strategy, given);
    case RankUse::either: return;
  }
}

}  // namespace

const CaseKey* unused_key(const Case& spec) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  for (const CaseKey& key : case_keys())
    if (key.is_of_strategies() && !strategy.uses(key.name) && !has_default(spec, key)) return &key;
  return nullptr;
}

void check_meaning(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  check_parameters(spec, strategy);
  check_positive("np", spec.np);
  check_positive("batch", spec.batch);
  check_positive("micro", spec.micro);
  check_positive("dp", spec.dp);
  check_positive("chunks", spec.chunks);
  check_keys(spec);
  if (is_peer(spec)) {
    check_peer(spec, model);
    return check_meaning(counterpart(spec), model);
  }
  optimizer_rule(spec);
  check_offered(spec);
  check_reduce(spec);
  check_graph(spec, model, strategy);
  check_executor(spec);
  check_resharding(spec, strategy);
  check_sums(spec, model);
  check_planned(spec, strategy);
  check_ranks(spec, model, strategy, given);
  check_pieces(spec, model, strategy);
}

void check_case(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given) {
  check_meaning(spec, model, given);
  const Case written = is_peer(spec) ? counterpart(spec) : spec;
  check_size(written, find_strategy(written.strategy.name));
}

}  // namespace parabench::plan
