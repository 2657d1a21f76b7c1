#include "parallelism/plan/strategies/parameter_server.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/optimizer.h"
#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/horovod.h"
#include "parallelism/plan/strategies/key_hints.h"
#include "parallelism/plan/strategies/parameters.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

constexpr int most_ahead = 16;  // a worker keeps the weights of as many steps

std::vector<int> key_ranges(const models::ModelSpec& model, int servers) {
  std::vector<double> parameters;
  for (const models::LayerSpec& layer : model.layers)
    parameters.push_back(static_cast<double>(models::parameter_count(layer)));
  return min_max_partition(parameters, servers);
}

/// One update of a bucket, by the gradients that `workers` made in a step.
struct ServedUpdate {
  SegmentRun run;
  StepId step;
  std::vector<Rank> workers;
};

/// What a server does for it. `group`: among whose members the run is shared; -1: the server has all of it.
void serve(Plan& plan, const ServedUpdate& served, Rank server, GroupId group) {
  const auto [first, segments] = served.run;
  const StepId step = served.step;
  const VersionId version(step.value + 1);
  RankProgram& serving = plan.ranks[server.value];
  const auto append = [](RankProgram& rank, const Op& op) { rank.lane(lane_of(op)).push_back(op); };
  for (const Rank worker : served.workers) {
    RankProgram& rank = plan.ranks[worker.value];
    append(rank, send_gradients(first, segments, step, server, group));
    append(rank, recv_parameters(first, segments, step, version, server, group));
    append(serving, recv_gradients(first, segments, step, worker, group));
    if (plan.taken == 0) append(serving, add_gradients(first, segments, step, worker, group));
    append(serving, send_parameters(first, segments, step, version, worker, group));
  }
  for (int place = 1; place <= plan.taken; ++place) append(serving, add_first_come(first, segments, step, place));
  if (group.value >= 0 && find_optimizer(plan.spec.optimizer.name).reads_norms) {
    append(serving, norms(first, segments, step, group));
    append(serving, all_reduce_norms(first, segments, step, group));
  }
  append(serving, sharded_update(first, segments, step, version, group));
}

/// Which part of a worker's step has passed when it has made the gradients of a segment.
std::vector<double> made_at(const Plan& plan, const StrategyInput& input) {
  std::vector<double> seconds = input.profile.seconds;
  const auto sum = [&seconds] { return std::accumulate(seconds.begin(), seconds.end(), 0.0); };
  if (!(sum() > 0)) seconds.assign(input.model.layers.size(), 1.0);
  std::vector<double> made = gradients_ready(plan, seconds);
  for (double& at : made) at /= sum();
  return made;
}

/// In the order in which servers make them.
std::vector<ServedUpdate> updates_of(const Plan& plan, const StrategyInput& input, std::span<const SegmentRun> runs,
                                     const std::vector<Rank>& workers, bool by_turns) {
  std::vector<ServedUpdate> updates;
  const int p = static_cast<int>(workers.size());
  for (StepId step; step.value < plan.steps; ++step) {
    for (const SegmentRun& run : runs)
      updates.push_back({run, step, by_turns ? std::vector{workers[step.value % p]} : workers});
  }
  if (!by_turns) return updates;
  const std::vector<double> made = made_at(plan, input);
  const auto due = [&](const ServedUpdate& update) {
    return static_cast<double>(update.step.value) / p + made[update.run.first.value];
  };
  std::ranges::stable_sort(updates, {}, due);
  return updates;
}

}  // namespace

Serving serving(const Case& spec) {
  if (!find_strategy(spec.strategy.name).find_parameter("servers")) return {};
  const std::string subject = " of parameter-server", mode = parameter_text(spec, "mode");
  Serving result{.servers = parameter_number(spec, "servers"),
                 .cut = parse_enum<ServerCut>("cut" + subject, parameter_text(spec, "cut")),
                 .mode = parse_enum<ServerMode>("mode" + subject, mode)};
  if (result.mode == ServerMode::stale) {
    result.ahead = parameter_number(spec, "k", most_ahead);
    return result;
  }
  if (result.mode == ServerMode::backup) {
    result.backups = parameter_number(spec, "k", std::numeric_limits<int>::max(), /*least=*/0);
    return result;
  }
  for (const auto& [name, value] : spec.strategy.parameters)
    if (name == "k")
      throw usage_error("k of parameter-server", value,
                        "mode=stale or mode=backup beside it: with mode=" + mode + " nothing reads k",
                        "leave k out, or write mode=stale or mode=backup");
  return result;
}

std::vector<VersionRule> served_delays(const Case& spec, std::span<const int> workers) {
  const Serving by = serving(spec);
  std::vector<VersionRule> rules;
  for (const int p : workers) {
    switch (by.mode) {
      case ServerMode::sync:
      case ServerMode::backup: break;
      case ServerMode::async: rules.push_back({.lag = p - 1}); break;
      case ServerMode::stale: rules.push_back({.lag = by.ahead}); break;
    }
  }
  return rules;
}

int updates_missed(const Case& spec, Rank rank, int steps) {
  const Serving by = serving(spec);
  const int workers = spec.np - by.servers;
  if (by.mode != ServerMode::async || rank.value >= workers) return 0;
  return rank.value < steps ? (steps - 1 - rank.value) % workers : steps;
}

namespace {

/// Of servers to each of which every worker sends its share of every bucket, of which there may be one for each layer.
void check_messages(const Case& spec, int servers, int layers) {
  constexpr std::int64_t most_messages = 1'000'000;
  const std::int64_t workers = spec.np - servers;
  if (workers * servers * layers > most_messages)
    throw usage_error("servers of parameter-server", std::to_string(servers),
                      "fewer with cut=tensors: " + std::to_string(workers) +
                          " workers send each of them a share of up to " + std::to_string(layers) +
                          " buckets, more than the " + std::to_string(most_messages) + " messages that a plan may list",
                      "try fewer servers or cut=layers");
}

/// Of servers that do without the gradients of some workers.
void check_backups(const Case& spec) {
  const Serving by = serving(spec);
  const int workers = spec.np - by.servers;
  if (by.backups == 0) return;
  if (workers == 1)
    throw usage_error("np", std::to_string(spec.np), "2 workers or more with mode=backup",
                      "try " + key_value("np", by.servers + 2));
  if (by.backups >= workers)
    throw usage_error("k of parameter-server", std::to_string(by.backups),
                      "with mode=backup fewer than the " + std::to_string(workers) +
                          " workers: an update takes at least one's gradients",
                      "try k=" + std::to_string(workers - 1));
  if (spec.batch % workers != 0)
    throw usage_error("batch", std::to_string(spec.batch),
                      "a multiple of the " + std::to_string(workers) +
                          " workers with mode=backup: an update is the mean over equal pieces, whichever come first",
                      "try " + key_value("batch", (spec.batch / workers + 1) * workers));
  if (spec.device == DeviceKind::cuda)
    throw usage_error("device", "cuda",
                      "cpu or emulated with mode=backup: what has come is known there alone, hosts of GPUs run ahead",
                      "try device:cpu");
}

}  // namespace

void check_servers(const Case& spec, const models::ModelSpec& model) {
  const Serving by = serving(spec);
  const int servers = by.servers, layers = static_cast<int>(model.layers.size());
  const auto refuse = [&](const std::string& expected, const std::string& hint) {
    throw usage_error("servers of parameter-server", std::to_string(servers), expected, hint);
  };
  if (by.in_shares() && by.mode == ServerMode::backup)
    throw usage_error("mode of parameter-server", "backup",
                      "sync, async or stale with cut=tensors: each server would take the gradients of other workers "
                      "for its part of a tensor",
                      "try cut=layers or servers=1");
  if (servers > layers && !by.in_shares())
    refuse("at most the " + std::to_string(layers) + " layers of " + model.name,
           "try cut=tensors or servers=" + std::to_string(layers));
  if (servers >= spec.np)
    throw usage_error("np", std::to_string(spec.np),
                      "more ranks than the " + std::to_string(servers) + " that serve: the others are the workers",
                      "try " + key_value("np", std::min(servers, std::numeric_limits<int>::max() - 1) + 1));
  if (by.in_shares()) check_messages(spec, by.servers, layers);
  check_backups(spec);
  if (servers > 1 && model.tie && !by.in_shares())
    refuse("1 for " + model.name + ", two layers of which share a tensor", "try cut=tensors or servers=1");
}

Plan parameter_server_plan(const StrategyInput& input) {
  const Serving by = serving(input.spec);
  const int workers = input.spec.np - by.servers, replicas = by.pieces(workers);
  const int stages = by.in_shares() ? 1 : by.servers;
  const bool by_turns = by.mode == ServerMode::async;
  Plan plan = cut_model(
      input, {.count = stages, .layers = key_ranges(input.model, stages), .widths = std::vector<int>(stages, workers)},
      Grain::layer, replicas, 1);
  plan.taken = by.taken(workers);
  plan.asynchronous = by.mode == ServerMode::async || by.mode == ServerMode::stale;
  if (plan.asynchronous) plan.steps = input.steps;
  for (int server = 0; server < by.servers; ++server) {
    plan.servers.emplace_back(workers + server);
    // A server computes none of a replica's pieces.
    plan.ranks[workers + server].holds = {{StageId(by.in_shares() ? 0 : server), ReplicaId(0)}};
  }
  GroupId group(-1);
  if (by.in_shares()) {
    group = GroupId(static_cast<int>(plan.groups.size()));
    plan.groups.push_back({Axis::data, plan.servers});
  }
  std::vector<Rank> working;
  for (int worker = 0; worker < workers; ++worker) {
    working.emplace_back(worker);
    RankProgram& rank = plan.ranks[worker];
    rank.weight_versions = 1 + (plan.taken > 0 ? backup_versions_ahead : by.ahead);
    for (StageId stage; stage.value < stages; ++stage) rank.holds.push_back({stage, ReplicaId(by_turns ? 0 : worker)});
    for (StepId step; step.value < plan.steps; ++step) {
      if (by_turns && step.value % workers != worker) continue;
      const auto pass = [&](OpKind kind, StageId stage) {
        pass_stage(plan, rank, kind, stage, MicroBatchId(0), step, version_read(plan, stage, step));
      };
      for (StageId stage; stage.value < stages; ++stage) pass(OpKind::forward, stage);
      for (int stage = stages - 1; stage >= 0; --stage) pass(OpKind::backward, StageId(stage));
    }
  }
  plan.tie = tied_segments(plan, input.model);
  const std::vector<SegmentRun> runs = buckets(plan, gradient_bytes(plan, input.model), input.spec.bucket);
  for (const ServedUpdate& update : updates_of(plan, input, runs, working, by_turns))
    for (const Rank server : servers_of(plan, stage_of(plan, update.run.first))) serve(plan, update, server, group);
  return plan;
}

}  // namespace parabench::plan
