#include "parallelism/plan/rules/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>

#include "parallelism/plan/matching.h"

namespace parabench::plan {
namespace {

class FieldCheck {
 public:
  FieldCheck(const Plan& plan, Violations& found) : plan_(plan), found_(found) {}

  void check() {
    check_segments();
    check_skips();
    check_statistics();
    check_pieces();
    check_groups();
    check_counts();
    if (!found_.empty()) return;
    check_ranks();
    check_tie();
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) check_rank(Rank(r));
  }

 private:
  void complain(OpRef where, std::string rule, std::string text) {
    found_.push_back({where, std::move(rule), std::move(text)});
  }

  void check_segments() {
    std::int64_t layer = 0, stage = 0;  // wide: what a file says may lie at the end of int
    for (std::size_t i = 0; i < plan_.segments.size(); ++i) {
      const Segment& s = plan_.segments[i];
      const bool starts_stage = i > 0 && s.stage.value == stage + 1;
      if (s.first_layer != layer || s.layers < 1 || (s.stage.value != stage && !starts_stage)) {
        complain({}, "segments", "segment " + std::to_string(i) + " does not follow its neighbour");
      }
      layer = std::int64_t{s.first_layer} + s.layers;
      stage = s.stage.value;
    }
    if (plan_.segments.empty() || stage + 1 != plan_.stages) {
      complain({}, "segments",
               "the segments make " + std::to_string(stage + 1) + " stages, not " + std::to_string(plan_.stages));
    }
  }

  void check_skips() {
    for (int i = 0; i < std::ssize(plan_.skips); ++i) {
      const SkipPort& skip = plan_.skips[i];
      const SkipPort* before = i > 0 ? &plan_.skips[i - 1] : nullptr;
      const bool leads_on = skip.from.value >= 0 && skip.from < skip.to && skip.to.value < std::ssize(plan_.segments);
      const bool is_next = !before || skip.tensor > before->tensor ||
                           (skip.tensor == before->tensor && skip.from == before->from && skip.to > before->to);
      if (leads_on && is_next && skip.tensor >= 0) continue;
      complain({}, "skips",
               "skip " + std::to_string(i) + ": tensor " + std::to_string(skip.tensor) + " from segment " +
                   std::to_string(skip.from.value) + " to " + std::to_string(skip.to.value) +
                   ", expected a later one, by tensor and taker");
    }
    if (std::ssize(plan_.skips) > most_ports)
      complain({}, "skips", std::to_string(plan_.skips.size()) + " skips, at most " + std::to_string(most_ports));
  }

  /// They stay within their stage, whose next segment reads them.
  void check_statistics() {
    int before = -1;
    for (const SegmentId s : plan_.statistics) {
      const bool is_next = s.value > before && std::int64_t{s.value} + 1 < std::ssize(plan_.segments);
      if (!is_next || plan_.segments[s.value].stage != plan_.segments[s.value + 1].stage || plan_.shards != 1)
        complain({}, "statistics",
                 "statistics of segment " + std::to_string(s.value) +
                     ": expected an ascending one, of an unsharded stage that goes on");
      before = s.value;
    }
  }

  void check_pieces() {
    std::int64_t smallest = plan_.spec.batch, largest = 0, sum = 0;
    bool ragged = static_cast<int>(plan_.pieces.size()) != plan_.replicas;
    for (const auto& replica : plan_.pieces) {
      ragged |= replica.empty() || replica.size() != plan_.pieces.front().size();
      for (int samples : replica) {
        smallest = std::min<std::int64_t>(smallest, samples);
        largest = std::max<std::int64_t>(largest, samples);
        sum += samples;
      }
    }
    if (ragged)
      complain({}, "samples",
               "pieces: expected as many for each of the " + std::to_string(plan_.replicas) + " replicas");
    if (smallest < 1 || largest - smallest > 1) {
      complain({}, "samples",
               "pieces of " + std::to_string(smallest) + " to " + std::to_string(largest) +
                   " samples: expected sizes >= 1 that differ by one at most");
    }
    if (sum != plan_.spec.batch) {
      complain({}, "samples",
               "pieces hold " + std::to_string(sum) + " samples, the batch " + std::to_string(plan_.spec.batch));
    }
    if (plan_.room.weights < 0 || plan_.room.gradients < 0)
      complain({}, "room", "room for " + std::to_string(std::min(plan_.room.weights, plan_.room.gradients)) + " runs");
    if (const int every = plan_.averaging.every; every < 0 || (every > 0 && plan_.steps % every != 0))
      complain({}, "averaging",
               "weights averaged every " + std::to_string(every) + " of " + std::to_string(plan_.steps) + " steps");
    if (const Averaging& by = plan_.averaging;
        !(by.lr > 0 && std::isfinite(by.lr) && by.momentum >= 0 && by.momentum < 1))
      complain({}, "averaging",
               "an outer optimizer of lr " + std::to_string(by.lr) + " and momentum " + std::to_string(by.momentum) +
                   ": expected a positive lr and a momentum from 0 to below 1");
    if (plan_.averaging.every > 0 && (plan_.asynchronous || !plan_.servers.empty()))
      complain({}, "averaging", "weights are averaged beside servers or an asynchronous window");
    check_servers();
    check_taken(smallest == largest);
    const auto is_cut = [](int parts) { return parts >= 1 && parts <= most_ports; };
    if (!plan_.parts.empty() &&
        (plan_.parts.size() != plan_.segments.size() || !std::ranges::all_of(plan_.parts, is_cut)))
      complain({}, "parts",
               "expected for each of the " + std::to_string(plan_.segments.size()) + " segments 1 to " +
                   std::to_string(most_ports) + " parts of its sum");
    if (plan_.scatters_pieces && (plan_.asynchronous || !plan_.servers.empty() || plan_.averaging.every > 0))
      complain({}, "updates", "shares of micro-batches beside servers, averages or an asynchronous window");
    if (plan_.updates_late && plan_.asynchronous)
      complain({}, "updates", "updates that are late in an asynchronous window");
    if (plan_.steps < 1) complain({}, "steps", "a window of " + std::to_string(plan_.steps) + " steps");
  }

  /// One for each stage, or several for one stage.
  void check_servers() {
    if (plan_.servers.empty()) return;
    const auto serves_alone = [&](Rank r) {
      return r >= Rank(0) && r.value < std::ssize(plan_.ranks) && plan_.ranks[r.value].holds.size() == 1;
    };
    const bool several = served_in_shares(plan_);
    if ((std::ssize(plan_.servers) != plan_.stages && !several) || !std::ranges::all_of(plan_.servers, serves_alone))
      complain({}, "servers",
               "expected for each of the " + std::to_string(plan_.stages) +
                   " stages a rank that holds nothing else, or several of one stage");
    for (const Rank r : plan_.servers)
      if (std::ranges::count(plan_.servers, r) > 1)
        complain({}, "servers", "rank " + std::to_string(r.value) + " is a server more than once");
    if (several && !std::ranges::is_sorted(plan_.servers))
      complain({}, "servers", "expected those that share a stage ascending");
  }

  /// Where some gradients come too late.
  void check_taken(bool even) {
    if (plan_.taken == 0) return;
    if (served_in_shares(plan_))
      complain({}, "first come", "servers that share a stage, of which each would take other gradients for its part");
    if (plan_.servers.empty() || plan_.taken < 0 || plan_.taken >= plan_.replicas)
      complain({}, "first come",
               "servers that take the first " + std::to_string(plan_.taken) + " of " + std::to_string(plan_.replicas) +
                   " gradients: expected 1 or more, and fewer than there are");
    if (!even) complain({}, "first come", "pieces of several sizes, of which some come too late");
    if (plan_.asynchronous || is_futurized(plan_.spec))
      complain({}, "first come", "gradients that come first in an asynchronous window, or by executor:futurized");
  }

  /// The rules count what a plan must hold: counts of a size that no list in it bears out are not to be made room for.
  void check_counts() {
    std::size_t operations = 0, holdings = 0;
    for (const RankProgram& rank : plan_.ranks) {
      operations += rank.compute().size();
      holdings += rank.holds.size();
    }
    const auto are_over = [](std::initializer_list<int> factors, std::size_t limit) {
      double product = 1;
      for (const int factor : factors) product *= std::max(0, factor);
      return product > static_cast<double>(limit);
    };
    if (are_over({plan_.stages, plan_.replicas, plan_.shards}, holdings)) complain_of_holders();
    const int segments = static_cast<int>(plan_.segments.size());
    const int pieces = plan_.pieces.empty() ? 0 : static_cast<int>(plan_.pieces.front().size());
    if (are_over({segments, plan_.replicas, plan_.shards, plan_.steps, pieces}, operations))
      complain({}, "exactly once",
               std::to_string(operations) + " computations are fewer than the passes of " +
                   std::to_string(plan_.steps) + " steps");
  }
  void complain_of_holders() {
    complain({}, "placement", "expected a rank for each shard of each stage of each replica");
  }

  void check_groups() {
    for (int g = 0; g < std::ssize(plan_.groups); ++g) {
      const auto& ranks = plan_.groups[g].ranks;
      const bool rises = std::ranges::adjacent_find(ranks, std::greater_equal{}) == ranks.end();
      if (rises && !ranks.empty() && ranks.front().value >= 0 && ranks.back().value < std::ssize(plan_.ranks)) continue;
      complain({}, "groups", "group " + std::to_string(g) + ": expected ranks of the plan, ascending");
    }
    if (plan_.shards < 1 || plan_.shards > std::ssize(plan_.ranks))
      complain({}, "placement", "a plan of " + std::to_string(plan_.shards) + " shards");
  }

  void check_ranks() {
    std::vector<int> holders(
        static_cast<std::size_t>(std::max(0, plan_.stages)) * std::max(0, plan_.replicas) * std::max(0, plan_.shards),
        0);
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) {
      const RankProgram& rank = plan_.ranks[r];
      bool misplaced = rank.holds.empty() || rank.weight_versions < 1 || rank.in_flight < 0;
      StageId before(-1);
      for (const Holding& h : rank.holds) {
        misplaced |= h.stage <= before || h.stage.value >= plan_.stages || h.replica < ReplicaId(0) ||
                     h.replica.value >= plan_.replicas || h.shard < 0 || h.shard >= plan_.shards;
        before = h.stage;
      }
      if (misplaced) {
        complain({Rank(r)}, "placement", "rank " + std::to_string(r) + " has no place in the mesh");
        continue;
      }
      for (const Holding& h : rank.holds) {
        ++holders[(h.replica.value * plan_.stages + h.stage.value) * plan_.shards + h.shard];
      }
    }
    if (std::ranges::any_of(holders, [](int n) { return n < 1; })) complain_of_holders();
    const auto wrong = [](const VersionRule& rule) { return rule.lag < 0 || rule.steps_per_update < 1; };
    if (std::ssize(plan_.versions) != plan_.stages || std::ranges::any_of(plan_.versions, wrong)) {
      complain({}, "version", "expected a rule of weight versions for each stage");
    }
  }

  void check_tie() {
    if (!plan_.tie) return;
    const auto& [original, copy, shared] = *plan_.tie;
    if (original.value < 0 || copy < original || copy.value >= std::ssize(plan_.segments)) {
      complain({}, "tie",
               "a tied tensor in segments " + std::to_string(original.value) + " and " + std::to_string(copy.value) +
                   ": expected ascending ones of the plan");
      return;
    }
    for (Rank r; r.value < std::ssize(plan_.ranks); ++r) {
      const bool first = find_holding(plan_, r, stage_of(plan_, original)) != nullptr;
      const bool second = find_holding(plan_, r, stage_of(plan_, copy)) != nullptr;
      if (shared ? first != second : first && second) {
        complain({r}, "tie",
                 "rank " + std::to_string(r.value) + " has " + (shared ? "one end" : "both ends") +
                     " of a tied tensor that is " + (shared ? "" : "not ") + "shared");
      }
    }
  }

  void check_rank(Rank r) {
    const auto& lanes = plan_.ranks[r.value].lanes;
    for (int l = 0; l < static_cast<int>(lanes.size()); ++l) {
      // Operations are looked at below; an empty lane has nothing but its key.
      const LaneKey& key = lanes[l].key;
      if (key.group.value >= std::ssize(plan_.groups) || key.peer.value >= std::ssize(plan_.ranks) ||
          (key.kind == LaneKind::collectives && key.group.value < 0) || (is_message(key.kind) && key.peer.value < 0))
        complain({r}, "fields", "rank " + std::to_string(r.value) + " has a lane of no group or peer of the plan");
      for (int i = 0; i < static_cast<int>(lanes[l].ops.size()); ++i) {
        const std::string wrong = wrong_field(lanes[l].ops[i], r, lanes[l]);
        if (wrong.empty()) continue;
        const OpRef ref{r, l, i};
        complain(ref, "fields", describe(plan_, ref) + ": " + wrong + " out of range");
      }
    }
  }

  std::string wrong_field(const Op& op, Rank rank, const Lane& lane) const {
    const int segments = static_cast<int>(plan_.segments.size()), ranks = static_cast<int>(plan_.ranks.size());
    if (!may_move(op.kind, op.payload)) return "payload";
    const LaneKey own = lane_of(op);
    if (own.kind != lane.key.kind || own.purpose != lane.key.purpose) return "lane";
    if (op.segment.value < 0 || op.segments < 1 || std::int64_t{op.segment.value} + op.segments > segments)
      return "segment";
    if (op.segments > 1 && !is_over_run(op)) return "segment";
    if (is_first_come(op) || (adds_sent(op) && plan_.taken > 0)) {
      if (op.port < 1 || op.port > plan_.taken || op.peer != Rank(-1)) return "place among those taken";
    } else if (is_cut(op) ? op.port == 0 || op.port > parts_of(plan_, op.segment) : op.port > 0 && !is_end_of_port(op))
      return "port";
    if (op.step.value < 0 || op.step.value >= plan_.steps) return "step";
    if (op.version.value < 0 || (!has_version(op) && op.version != VersionId(0))) return "version";
    if (op.micro_batch.value < 0 || plan_.pieces.empty() || op.micro_batch.value >= micro_batches(plan_)) {
      return "micro-batch";
    }
    if (is_message(op.kind) &&
        (op.peer.value < 0 || op.peer.value >= ranks || op.peer == rank || op.peer != lane.key.peer)) {
      return "peer";
    }
    const bool is_piece = plan_.scatters_pieces && (op.kind == OpKind::reduce_scatter || op.kind == OpKind::add);
    if (is_over_run(op) && !is_piece && op.micro_batch != MicroBatchId(0)) return "micro-batch";
    const bool has_group = is_collective(op.kind) || is_of_compression(op.kind);
    const bool is_of_server = served_in_shares(plan_) && (is_served(op) || adds_sent(op));
    const bool may_have_group = has_group || op.kind == OpKind::update || op.kind == OpKind::norms ||
                                op.kind == OpKind::average || is_piece || is_of_server;
    // Of a worker and its server the one is a member.
    const bool joins =
        is_served(op) ? is_member(op.group, rank) != is_member(op.group, op.peer) : is_member(op.group, rank);
    if (op.group != GroupId(-1) && (!may_have_group || !joins)) return "group";
    if ((has_group || is_of_server) && op.group.value < 0) return "group";
    if (is_collective(op.kind) && op.group != lane.key.group) return "group";
    if (op.kind == OpKind::broadcast && !is_member(op.group, op.peer)) return "root";
    if (op.payload == Payload::tied_gradients) return wrong_tie(op, rank) ? "segment" : "";
    const bool meets_others = has_group || op.kind == OpKind::add || (is_message(op.kind) && is_over_run(op));
    for (int i = 0; i < op.segments && meets_others; ++i) {
      if (!find_holding(plan_, rank, stage_of(plan_, SegmentId(op.segment.value + i)))) return "segment";
    }
    return "";
  }

  bool wrong_tie(const Op& op, Rank rank) const {
    return !plan_.tie || op.segment != plan_.tie->original || op.segments != 1 ||
           (!find_holding(plan_, rank, stage_of(plan_, plan_.tie->original)) &&
            !find_holding(plan_, rank, stage_of(plan_, plan_.tie->copy)));
  }
  bool is_end_of_port(const Op& op) const {
    if (!is_message(op.kind) || op.port > std::ssize(plan_.skips)) return false;
    const SkipPort& skip = plan_.skips[op.port - 1];
    return op.segment == ((op.kind == OpKind::send) == (op.payload == Payload::activation) ? skip.from : skip.to);
  }

  /// Whether the operation is of a part of what it sums.
  bool is_cut(const Op& op) const {
    return op.kind == OpKind::all_reduce && op.payload == Payload::gradients && parts_of(plan_, op.segment) > 1;
  }

  static bool may_move(OpKind kind, Payload payload) {
    switch (kind) {
      case OpKind::forward:
      case OpKind::backward:
      case OpKind::backward_input:
      case OpKind::backward_weight:
      case OpKind::recompute:
      case OpKind::norms:
      case OpKind::update:
      case OpKind::add:
      case OpKind::average:
      case OpKind::encode:
      case OpKind::project:
      case OpKind::decode: return payload == Payload::none;
      case OpKind::send:
      case OpKind::receive:
        return is_of_micro_batch(payload) || payload == Payload::gradients || payload == Payload::parameters;
      case OpKind::all_reduce: return payload != Payload::none;
      case OpKind::reduce_scatter: return payload == Payload::gradients;
      case OpKind::all_gather: return payload == Payload::parameters || payload == Payload::encoded;
      case OpKind::broadcast: return payload == Payload::parameters;
    }
    return false;
  }

  bool is_member(GroupId group, Rank rank) const {
    return group.value >= 0 && group.value < std::ssize(plan_.groups) &&
           std::ranges::binary_search(plan_.groups[group.value].ranks, rank);
  }

  const Plan& plan_;
  Violations& found_;
};

}  // namespace

void check_fields(const Plan& plan, Violations& found) { FieldCheck(plan, found).check(); }

}  // namespace parabench::plan
