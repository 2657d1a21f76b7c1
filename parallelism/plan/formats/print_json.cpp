#include "parallelism/plan/formats/print_json.h"

#include <nlohmann/json.hpp>

#include "base/case_json.h"
#include "base/hash.h"

namespace parabench::plan {
namespace {

using nlohmann::json;

/// Of an update, and of what moves between workers and servers, only where the run is shared, as with norms it is.
bool has_group(const Op& op) { return is_collective(op.kind) || op.group != GroupId(-1); }

json op_json(const Op& op) {
  json result = {{"op", parabench::to_text(op.kind)}, {"segment", op.segment.value}, {"step", op.step.value}};
  if (op.payload != Payload::none) result["payload"] = parabench::to_text(op.payload);
  if (is_over_run(op)) result["segments"] = op.segments;
  if (!is_over_run(op) || op.micro_batch != MicroBatchId(0)) result["micro_batch"] = op.micro_batch.value;
  if (has_version(op)) result["version"] = op.version.value;
  if (op.accumulates) result["accumulates"] = true;
  if (op.discards) result["discards"] = true;
  if (op.overlaps_next) result["overlaps_next"] = true;
  if (is_message(op.kind) || (adds_sent(op) && !is_first_come(op))) result["peer"] = op.peer.value;
  if (op.port != 0)
    result[is_message(op.kind) ? "port" : is_collective(op.kind) ? "part" : "taken"] = static_cast<int>(op.port);
  if (op.kind == OpKind::broadcast) result["root"] = op.peer.value;
  if (has_group(op)) result["group"] = op.group.value;
  return result;
}

}  // namespace

json to_json(const Plan& plan) {
  json result = {{"format", plan_file_format}, {"case", parameters_json(plan.spec)},
                 {"stages", plan.stages},      {"replicas", plan.replicas},
                 {"shards", plan.shards},      {"groups", json::array()},
                 {"steps", plan.steps},        {"asynchronous", plan.asynchronous},
                 {"pieces", plan.pieces},      {"in_order", plan.in_order},
                 {"versions", json::array()},  {"segments", json::array()},
                 {"ranks", json::array()}};
  if (plan.room != Room{}) result["room"] = {{"weights", plan.room.weights}, {"gradients", plan.room.gradients}};
  if (const Averaging& by = plan.averaging; by.every > 0)
    result["averaging"] = {{"every", by.every}, {"lr", by.lr}, {"momentum", by.momentum}};
  if (!plan.parts.empty()) result["parts"] = plan.parts;
  if (plan.scatters_pieces) result["scatters_pieces"] = true;
  if (plan.updates_late) result["updates_late"] = true;
  for (const Rank server : plan.servers) result["servers"].push_back(server.value);
  for (const SegmentId s : plan.statistics) result["statistics"].push_back(s.value);
  if (plan.taken > 0) result["taken"] = plan.taken;
  if (plan.tie) {
    result["tie"] = {
        {"original", plan.tie->original.value}, {"copy", plan.tie->copy.value}, {"shared", plan.tie->shared}};
  }
  for (const VersionRule& rule : plan.versions) {
    result["versions"].push_back({{"lag", rule.lag}, {"steps_per_update", rule.steps_per_update}});
  }
  for (const Group& group : plan.groups) {
    json ranks = json::array();
    for (Rank r : group.ranks) ranks.push_back(r.value);
    result["groups"].push_back({{"axis", parabench::to_text(group.axis)}, {"ranks", std::move(ranks)}});
  }
  for (const Segment& s : plan.segments) {
    result["segments"].push_back({{"first_layer", s.first_layer}, {"layers", s.layers}, {"stage", s.stage.value}});
  }
  for (const SkipPort& skip : plan.skips) {
    result["skips"].push_back({{"from", skip.from.value}, {"to", skip.to.value}, {"tensor", skip.tensor}});
  }
  for (const RankProgram& rank : plan.ranks) {
    json lanes = json::object(), holds = json::array();
    for (const Holding& h : rank.holds) {
      holds.push_back({{"stage", h.stage.value}, {"replica", h.replica.value}, {"shard", h.shard}});
    }
    for (const Lane& lane : rank.lanes) {
      json& ops = lanes[name(lane.key)] = json::array();
      for (const Op& op : lane.ops) ops.push_back(op_json(op));
    }
    result["ranks"].push_back({{"holds", std::move(holds)},
                               {"weight_versions", rank.weight_versions},
                               {"in_flight", rank.in_flight},
                               {"lanes", std::move(lanes)}});
  }
  return result;
}

json to_json(const Plan& plan, const Timeline& timeline) {
  json result = to_json(plan);
  result["makespan"] = makespan(timeline);
  result["bubble_fraction"] = bubble_fraction(plan, timeline);
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (std::size_t lane = 0; lane < plan.ranks[r].lanes.size(); ++lane) {
      json& ops = result["ranks"][r]["lanes"][name(plan.ranks[r].lanes[lane].key)];
      const auto& spans = timeline.ranks[r][lane];
      for (std::size_t i = 0; i < spans.size(); ++i) {
        ops[i]["start"] = spans[i].start - timeline.origin;
        ops[i]["end"] = spans[i].end - timeline.origin;
      }
    }
  }
  return result;
}

void add_durations(json& plan_file, const Plan& plan, const Durations& durations) {
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (std::size_t lane = 0; lane < plan.ranks[r].lanes.size(); ++lane) {
      json& ops = plan_file["ranks"][r]["lanes"][name(plan.ranks[r].lanes[lane].key)];
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const Duration& duration = durations[r][lane][i];
        ops[i]["seconds"] = duration.seconds;
        if (duration.on_link_s > 0) ops[i]["on_link_seconds"] = duration.on_link_s;
      }
    }
  }
}

std::string hash(const Plan& plan) { return hex16(fnv1a64(to_json(plan).dump())); }

}  // namespace parabench::plan
