#include "parallelism/plan/formats/read_json.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/called.h"
#include "base/case_json.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/matching.h"

namespace parabench::plan {
namespace {

using nlohmann::json;

/// False where it is left out.
bool flag(const JsonReader& object, std::string_view key) { return object.find<bool>(key).value_or(false); }

std::uint16_t port_from(const JsonReader& value) {
  const int port = value.as<int>();
  if (port < 1 || port > most_ports) throw value.error("1 to " + std::to_string(most_ports) + ", or no such field");
  return static_cast<std::uint16_t>(port);
}

Op op_from(const JsonReader& object) {
  Op op{.kind = object.get<OpKind>("op")};
  std::vector<std::string_view> allowed = {"op",    "segment", "step",    "accumulates",    "discards", "overlaps_next",
                                           "start", "end",     "seconds", "on_link_seconds"};
  const auto number = [&](std::string_view key) {
    allowed.push_back(key);
    return object.get<int>(key);
  };
  op.segment = SegmentId(number("segment"));
  op.step = StepId(number("step"));
  if (is_message(op.kind) || is_collective(op.kind)) {
    allowed.push_back("payload");
    op.payload = object.get<Payload>("payload");
  }
  if (is_over_run(op)) op.segments = number("segments");
  if (!is_over_run(op) || object.has("micro_batch")) op.micro_batch = MicroBatchId(number("micro_batch"));
  if (has_version(op)) op.version = VersionId(number("version"));
  op.accumulates = flag(object, "accumulates");
  op.discards = flag(object, "discards");
  op.overlaps_next = flag(object, "overlaps_next");
  if (is_message(op.kind)) {
    op.peer = Rank(number("peer"));
    allowed.push_back("port");
    if (object.has("port")) op.port = port_from(object.at("port"));
  }
  if (is_collective(op.kind)) {
    allowed.push_back("part");
    if (object.has("part")) op.port = port_from(object.at("part"));
  }
  if (op.kind == OpKind::add && object.has("taken")) {
    allowed.push_back("taken");
    op.port = port_from(object.at("taken"));
  } else if (op.kind == OpKind::add && (object.has("peer") || !object.has("group"))) {
    op.peer = Rank(number("peer"));
  }
  if (op.kind == OpKind::broadcast) op.peer = Rank(number("root"));
  if (is_collective(op.kind) || object.has("group")) op.group = GroupId(number("group"));
  object.allow_only(allowed);
  return op;
}

/// What comes before the next colon; `text` keeps the rest.
std::string take_word(std::string& text) {
  const std::string word = text.substr(0, text.find(':'));
  text.erase(0, word.size() + 1);
  return word;
}

/// The lane of such a name ("send:activation:1"), made where there is none.
std::vector<Op>& lane_from(RankProgram& rank, const std::string& text, const JsonReader& lanes) {
  if (text == parabench::to_text(LaneKind::compute)) return rank.compute();
  std::string rest = text;
  const std::string kind = take_word(rest), purpose = take_word(rest);
  int number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  for (LaneKind known : enum_values<LaneKind>) {
    for (Payload payload : enum_values<Payload>) {
      if (parabench::to_text(known) != kind || parabench::to_text(payload) != purpose) continue;
      if (payload == Payload::none) continue;
      if (known == LaneKind::compute || error != std::errc() || end != rest.data() + rest.size()) continue;
      LaneKey key{.kind = known, .purpose = payload};
      (is_message(known) ? key.peer.value : key.group.value) = number;
      if (name(key) == text) return rank.lane(key);  // not of "01"
    }
  }
  throw usage_error(lanes.place(), text,
                    "a lane: compute, collectives:gradients:GROUP, send:activation:PEER and the like", plan_file_hint);
}

RankProgram rank_from(const JsonReader& object) {
  object.allow_only({"holds", "weight_versions", "in_flight", "lanes"});
  RankProgram rank;
  for (const JsonReader& holding : object.at("holds").items()) {
    holding.allow_only({"stage", "replica", "shard"});
    rank.holds.push_back(
        {StageId(holding.get<int>("stage")), ReplicaId(holding.get<int>("replica")), holding.get<int>("shard")});
  }
  rank.weight_versions = object.get<int>("weight_versions");
  rank.in_flight = object.get<int>("in_flight");
  const JsonReader lanes = object.at("lanes");
  lanes.at("compute");
  for (const auto& [key, list] : lanes.members()) {
    auto& ops = lane_from(rank, key, lanes);
    for (const JsonReader& op : list.items()) ops.push_back(op_from(op));
  }
  return rank;
}

Group group_from(const JsonReader& object) {
  object.allow_only({"axis", "ranks"});
  Group group{object.get<Axis>("axis"), {}};
  for (const int rank : object.get<std::vector<int>>("ranks")) group.ranks.push_back(Rank(rank));
  return group;
}

Segment segment_from(const JsonReader& object) {
  object.allow_only({"first_layer", "layers", "stage"});
  return {object.get<int>("first_layer"), object.get<int>("layers"), StageId(object.get<int>("stage"))};
}

VersionRule version_rule_from(const JsonReader& object) {
  object.allow_only({"lag", "steps_per_update"});
  return {object.get<int>("lag"), object.get<int>("steps_per_update")};
}

TiedSegments tie_from(const JsonReader& object) {
  object.allow_only({"original", "copy", "shared"});
  return {SegmentId(object.get<int>("original")), SegmentId(object.get<int>("copy")), object.get<bool>("shared")};
}

Room room_from(const JsonReader& object) {
  object.allow_only({"weights", "gradients"});
  return {object.get<int>("weights"), object.get<int>("gradients")};
}

Averaging averaging_from(const JsonReader& object) {
  object.allow_only({"every", "lr", "momentum"});
  return {object.get<int>("every"), object.get<double>("lr"), object.get<double>("momentum")};
}

SkipPort skip_from(const JsonReader& object) {
  object.allow_only({"from", "to", "tensor"});
  return {SegmentId(object.get<int>("from")), SegmentId(object.get<int>("to")), object.get<int>("tensor")};
}

}  // namespace

Plan plan_from_json(const json& plan_file) {
  const JsonReader file(plan_file, "plan", plan_file_hint);
  if (file.get<std::string>("format") != plan_file_format) throw file.at("format").error(plan_file_format);
  file.allow_only({"format",     "case",     "stages",          "replicas",     "shards",
                   "groups",     "steps",    "asynchronous",    "in_order",     "versions",
                   "room",       "tie",      "pieces",          "segments",     "skips",
                   "ranks",      "makespan", "bubble_fraction", "steady_step",  "steady_bubble_fraction",
                   "averaging",  "servers",  "parts",           "updates_late", "scatters_pieces",
                   "statistics", "taken"});
  Plan plan;
  plan.spec = case_from_json(file.at("case"));
  plan.stages = file.get<int>("stages");
  plan.replicas = file.get<int>("replicas");
  plan.shards = file.get<int>("shards");
  for (const JsonReader& group : file.at("groups").items()) plan.groups.push_back(group_from(group));
  plan.steps = file.get<int>("steps");
  plan.asynchronous = file.get<bool>("asynchronous");
  plan.in_order = file.get<bool>("in_order");
  for (const JsonReader& rule : file.at("versions").items()) plan.versions.push_back(version_rule_from(rule));
  if (file.has("room")) plan.room = room_from(file.at("room"));
  if (file.has("averaging")) plan.averaging = averaging_from(file.at("averaging"));
  if (file.has("parts")) plan.parts = file.get<std::vector<int>>("parts");
  plan.scatters_pieces = flag(file, "scatters_pieces");
  plan.updates_late = flag(file, "updates_late");
  if (file.has("servers"))
    for (const int rank : file.get<std::vector<int>>("servers")) plan.servers.push_back(Rank(rank));
  if (file.has("statistics"))
    for (const int s : file.get<std::vector<int>>("statistics")) plan.statistics.push_back(SegmentId(s));
  if (file.has("taken")) plan.taken = file.get<int>("taken");
  if (file.has("tie")) plan.tie = tie_from(file.at("tie"));
  plan.pieces = file.get<std::vector<std::vector<int>>>("pieces");
  for (const JsonReader& segment : file.at("segments").items()) plan.segments.push_back(segment_from(segment));
  if (file.has("skips"))
    for (const JsonReader& skip : file.at("skips").items()) plan.skips.push_back(skip_from(skip));
  for (const JsonReader& rank : file.at("ranks").items()) plan.ranks.push_back(rank_from(rank));
  return plan;
}

Durations durations_from_json(const json& plan_file, const Plan& plan) {
  const std::vector<JsonReader> ranks = JsonReader(plan_file, "plan", plan_file_hint).at("ranks").items();
  Durations durations;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    auto& lanes = durations.emplace_back();
    for (const Lane& lane : plan.ranks[r].lanes) {
      auto& read = lanes.emplace_back();
      for (const JsonReader& op : ranks.at(r).at("lanes").at(name(lane.key)).items()) {
        const auto refuse = [&](const std::string& what, const std::optional<double>& given,
                                const std::string& expected) {
          const OpRef ref{Rank(static_cast<int>(r)), static_cast<int>(lanes.size()) - 1, static_cast<int>(read.size())};
          throw usage_error(what + " of " + describe(plan, ref), given ? std::to_string(*given) : "missing", expected,
                            "write the file with " + to_type("plan CASE --format json"));
        };
        const auto seconds = op.find<double>("seconds"), on_link = op.find<double>("on_link_seconds");
        if (!seconds || *seconds < 0)
          refuse("seconds", seconds, "a duration >= 0 for every operation of a plan on device:emulated");
        if (on_link && (*on_link < 0 || *on_link > *seconds))
          refuse("on_link_seconds", on_link, "a part of the operation's " + std::to_string(*seconds) + " seconds");
        read.push_back({*seconds, on_link.value_or(0)});
      }
    }
  }
  return durations;
}

}  // namespace parabench::plan
