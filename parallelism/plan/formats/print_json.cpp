#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/case_json.h"
#include "base/error.h"
#include "base/hash.h"
#include "parallelism/plan/formats/print.h"
#include "parallelism/plan/matching.h"

namespace parabench {
namespace {

using nlohmann::json;
constexpr std::string_view file_format = "parabench-plan-3";

/// Of an update only where it is sharded, as norms always are.
bool has_group(const Op& op) { return is_collective(op.kind) || op.group != GroupId(-1); }

json op_json(const Op& op) {
  json result = {{"op", name(op.kind)}, {"segment", op.segment.value}, {"step", op.step.value}};
  if (op.payload != Payload::none) result["payload"] = name(op.payload);
  if (is_over_run(op)) {
    result["segments"] = op.segments;
  } else {
    result["micro_batch"] = op.micro_batch.value;
  }
  if (has_version(op)) result["version"] = op.version.value;
  if (op.accumulates) result["accumulates"] = true;
  if (op.discards) result["discards"] = true;
  if (op.overlaps_next) result["overlaps_next"] = true;
  if (is_message(op.kind)) result["peer"] = op.peer.value;
  if (op.port != 0) result["port"] = static_cast<int>(op.port);
  if (op.kind == OpKind::broadcast) result["root"] = op.peer.value;
  if (has_group(op)) result["group"] = op.group.value;
  return result;
}

/// An object whose fields are taken by name; what is missing, of the wrong type or left over is an error.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("", object.type_name(), "an object");
  }

  const json& take(const char* key) {
    auto found = object_.find(key);
    if (found == object_.end()) fail(key, "missing", "this field");
    taken_.push_back(key);
    return *found;
  }
  const json& take_array(const char* key) {
    const json& value = take(key);
    if (!value.is_array()) fail(key, value.type_name(), "a list");
    return value;
  }
  int take_int(const char* key) { return to_int(take(key), key); }
  bool take_bool(const char* key) {
    const json& value = take(key);
    if (!value.is_boolean()) fail(key, value.dump(), "true or false");
    return value.get<bool>();
  }
  bool has(const char* key) const { return object_.contains(key); }
  /// False where it is left out.
  bool take_flag(const char* key) { return has(key) && take_bool(key); }
  std::string take_string(const char* key) {
    const json& value = take(key);
    if (!value.is_string()) fail(key, value.dump(), "a text");
    return value.get<std::string>();
  }
  int to_int(const json& value, const char* key) const {
    if (!value.is_number_integer()) fail(key, value.dump(), "an integer");
    return value.get<int>();
  }
  void allow(std::initializer_list<std::string> keys) { taken_.insert(taken_.end(), keys); }
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(taken_, key) == taken_.end()) fail("", key, "no field of this name");
    }
  }
  [[noreturn]] void fail(std::string_view key, std::string_view value, std::string_view expected) const {
    const std::string subject = key.empty() ? where_ : where_ + '.' + std::string(key);
    throw usage_error(subject, value, expected, "is this a plan file of this program?");
  }

 private:
  const json& object_;
  std::string where_;
  std::vector<std::string> taken_;
};

/// The one of such a name among `known`.
template <class Known>
auto named(Fields& fields, const char* key, const Known& known, std::string_view what) {
  const std::string text = fields.take_string(key);
  const auto found = std::ranges::find(known, text, [](auto one) { return name(one); });
  if (found == known.end()) fields.fail(key, text, what);
  return *found;
}

std::uint16_t port_from(Fields& fields) {
  const int port = fields.take_int("port");
  if (port < 1 || port > most_ports)
    fields.fail("port", std::to_string(port), "1 to " + std::to_string(most_ports) + ", or no such field");
  return static_cast<std::uint16_t>(port);
}

Op op_from(const json& value, const std::string& where) {
  Fields fields(value, where);
  Op op{.kind = named(fields, "op", all_op_kinds, "a kind of operation")};
  op.segment = SegmentId(fields.take_int("segment"));
  op.step = StepId(fields.take_int("step"));
  if (is_message(op.kind) || is_collective(op.kind)) {
    op.payload = named(fields, "payload", all_payloads, "what an operation moves");
  }
  if (is_over_run(op)) {
    op.segments = fields.take_int("segments");
  } else {
    op.micro_batch = MicroBatchId(fields.take_int("micro_batch"));
  }
  if (has_version(op)) op.version = VersionId(fields.take_int("version"));
  op.accumulates = fields.take_flag("accumulates");
  op.discards = fields.take_flag("discards");
  op.overlaps_next = fields.take_flag("overlaps_next");
  if (is_message(op.kind)) {
    op.peer = Rank(fields.take_int("peer"));
    if (fields.has("port")) op.port = port_from(fields);
  }
  if (op.kind == OpKind::broadcast) op.peer = Rank(fields.take_int("root"));
  if (is_collective(op.kind) || fields.has("group")) op.group = GroupId(fields.take_int("group"));
  fields.allow({"start", "end", "seconds"});
  fields.finish();
  return op;
}

/// What comes before the next colon; `text` keeps the rest.
std::string take_word(std::string& text) {
  const std::string word = text.substr(0, text.find(':'));
  text.erase(0, word.size() + 1);
  return word;
}

/// The lane of such a name ("send:activation:1"), made where there is none.
std::vector<Op>& lane_from(RankProgram& rank, const std::string& text, const Fields& fields) {
  if (text == name(LaneKind::compute)) return rank.compute();
  std::string rest = text;
  const std::string kind = take_word(rest), purpose = take_word(rest);
  int number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  for (LaneKind known : all_lane_kinds) {
    for (Payload payload : all_payloads) {
      if (name(known) != kind || name(payload) != purpose || payload == Payload::none) continue;
      if (known == LaneKind::compute || error != std::errc() || end != rest.data() + rest.size()) continue;
      LaneKey key{.kind = known, .purpose = payload};
      (is_message(known) ? key.peer.value : key.group.value) = number;
      return rank.lane(key);
    }
  }
  fields.fail(text, "unknown", "a lane: compute, collectives:gradients:GROUP, send:activation:PEER and the like");
}

RankProgram rank_from(const json& value, const std::string& where) {
  Fields fields(value, where);
  RankProgram rank;
  for (const json& holding : fields.take_array("holds")) {
    Fields of(holding, where + ".holds[" + std::to_string(rank.holds.size()) + ']');
    rank.holds.push_back({StageId(of.take_int("stage")), ReplicaId(of.take_int("replica")), of.take_int("shard")});
    of.finish();
  }
  rank.weight_versions = fields.take_int("weight_versions");
  rank.in_flight = fields.take_int("in_flight");
  const json& all = fields.take("lanes");
  Fields lanes(all, where + ".lanes");
  lanes.take("compute");
  for (const auto& [key, list] : all.items()) {
    auto& ops = lane_from(rank, key, lanes);
    for (const json& op : lanes.take_array(key.c_str())) {
      ops.push_back(op_from(op, where + '.' + key + '[' + std::to_string(ops.size()) + ']'));
    }
  }
  fields.finish();
  return rank;
}

Group group_from(const json& value, const std::string& where) {
  Fields fields(value, where);
  Group group{named(fields, "axis", all_axes, "an axis: data, pipeline or tensor"), {}};
  for (const json& rank : fields.take_array("ranks")) group.ranks.push_back(Rank(fields.to_int(rank, "ranks")));
  fields.finish();
  return group;
}

Segment segment_from(const json& value, const std::string& where) {
  Fields fields(value, where);
  Segment segment{fields.take_int("first_layer"), fields.take_int("layers"), StageId(fields.take_int("stage"))};
  fields.finish();
  return segment;
}

SkipPort skip_from(const json& value, const std::string& where) {
  Fields fields(value, where);
  SkipPort skip{SegmentId(fields.take_int("from")), SegmentId(fields.take_int("to")), fields.take_int("tensor")};
  fields.finish();
  return skip;
}

}  // namespace

json to_json(const Plan& plan) {
  json result = {{"format", file_format},     {"case", parameters_json(plan.spec)},
                 {"stages", plan.stages},     {"replicas", plan.replicas},
                 {"shards", plan.shards},     {"groups", json::array()},
                 {"steps", plan.steps},       {"asynchronous", plan.asynchronous},
                 {"pieces", plan.pieces},     {"in_order", plan.in_order},
                 {"versions", json::array()}, {"segments", json::array()},
                 {"ranks", json::array()}};
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
    result["groups"].push_back({{"axis", name(group.axis)}, {"ranks", std::move(ranks)}});
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

Plan plan_from_json(const json& value) {
  Fields fields(value, "plan");
  const std::string format = fields.take_string("format");
  if (format != file_format) fields.fail("format", format, file_format);
  Plan plan;
  plan.spec = case_from_json(fields.take("case"));
  plan.stages = fields.take_int("stages");
  plan.replicas = fields.take_int("replicas");
  plan.shards = fields.take_int("shards");
  for (const json& group : fields.take_array("groups")) {
    plan.groups.push_back(group_from(group, "plan.groups[" + std::to_string(plan.groups.size()) + ']'));
  }
  plan.steps = fields.take_int("steps");
  plan.asynchronous = fields.take_bool("asynchronous");
  plan.in_order = fields.take_bool("in_order");
  for (const json& rule : fields.take_array("versions")) {
    Fields of(rule, "plan.versions[" + std::to_string(plan.versions.size()) + ']');
    plan.versions.push_back({of.take_int("lag"), of.take_int("steps_per_update")});
    of.finish();
  }
  if (fields.has("tie")) {
    Fields of(fields.take("tie"), "plan.tie");
    plan.tie = {SegmentId(of.take_int("original")), SegmentId(of.take_int("copy")), of.take_bool("shared")};
    of.finish();
  }
  for (const json& replica : fields.take_array("pieces")) {
    auto& sizes = plan.pieces.emplace_back();
    if (!replica.is_array()) fields.fail("pieces", replica.dump(), "a list of lists");
    for (const json& samples : replica) sizes.push_back(fields.to_int(samples, "pieces"));
  }
  for (const json& segment : fields.take_array("segments")) {
    plan.segments.push_back(segment_from(segment, "plan.segments[" + std::to_string(plan.segments.size()) + ']'));
  }
  if (fields.has("skips")) {
    for (const json& skip : fields.take_array("skips")) {
      plan.skips.push_back(skip_from(skip, "plan.skips[" + std::to_string(plan.skips.size()) + ']'));
    }
  }
  for (const json& rank : fields.take_array("ranks")) {
    plan.ranks.push_back(rank_from(rank, "plan.ranks[" + std::to_string(plan.ranks.size()) + ']'));
  }
  fields.allow({"makespan", "bubble_fraction", "steady_step", "steady_bubble_fraction"});
  fields.finish();
  return plan;
}

void add_durations(json& plan_file, const Plan& plan, const Durations& durations) {
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (std::size_t lane = 0; lane < plan.ranks[r].lanes.size(); ++lane) {
      json& ops = plan_file["ranks"][r]["lanes"][name(plan.ranks[r].lanes[lane].key)];
      for (std::size_t i = 0; i < ops.size(); ++i) ops[i]["seconds"] = durations[r][lane][i];
    }
  }
}

Durations durations_from_json(const json& plan_file, const Plan& plan) {
  Durations durations;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    auto& lanes = durations.emplace_back();
    for (const Lane& lane : plan.ranks[r].lanes) {
      const json& ops = plan_file.at("ranks").at(r).at("lanes").at(name(lane.key));
      auto& seconds = lanes.emplace_back();
      for (std::size_t i = 0; i < lane.ops.size(); ++i) {
        const json given = ops.at(i).value("seconds", json());
        if (!given.is_number() || given.get<double>() < 0) {
          throw usage_error("seconds of " + describe(plan, {Rank(static_cast<int>(r)),
                                                            static_cast<int>(lanes.size()) - 1, static_cast<int>(i)}),
                            given.dump(), "a duration >= 0 for every operation of a plan on device:emulated",
                            "write the file with parabench plan CASE --format json");
        }
        seconds.push_back(given);
      }
    }
  }
  return durations;
}

std::string hash(const Plan& plan) { return hex16(fnv1a64(to_json(plan).dump())); }

}  // namespace parabench
