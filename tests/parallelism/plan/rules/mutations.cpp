#include "tests/parallelism/plan/rules/mutations.h"

#include <algorithm>

#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/skip_ports.h"
#include "tests/parallelism/plan/pick.h"

namespace parabench::plan {
namespace {

using Random = std::mt19937;

bool is_any_message(const Op& op) { return is_message(op.kind); }

template <bool (*wanted)(const Op&)>
bool drop(Plan& plan, Random& random) {
  const Place place = pick(plan, random, wanted);
  if (place) place.ops->erase(place.ops->begin() + place.index);
  return bool(place);
}

bool drop_both_ends(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_any_message);
  if (!place) return false;
  const Op gone = place.op();
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      if (!is_message(lane.key.kind) || lane.key.purpose != gone.payload) continue;
      std::erase_if(lane.ops, [&](const Op& op) { return op.micro_batch == gone.micro_batch && op.step == gone.step; });
    }
  }
  return true;
}

bool duplicate(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_any);
  const Op copy = place.op();
  place.ops->insert(place.ops->begin() + uniform(random, place.index, static_cast<int>(place.ops->size())), copy);
  return true;
}

/// F and B, F and I, I and W, RECOMPUTE and B of one piece.
bool swap_passes_of_a_piece(Plan& plan, Random& random) {
  return swap_wanted(any_compute_lane(plan, random), random, [](const Op& a, const Op& b) {
    return is_pass(a.kind) && is_pass(b.kind) && a.segment == b.segment && a.micro_batch == b.micro_batch &&
           a.step == b.step;
  });
}
bool swap_micro_batches(Plan& plan, Random& random) {
  return swap_wanted(any_compute_lane(plan, random), random, [](const Op& a, const Op& b) {
    return a.kind == b.kind && is_pass(a.kind) && a.kind != OpKind::recompute && a.segment == b.segment;
  });
}
bool weight_gradient_before_input_gradient(Plan& plan, Random& random) {
  return swap_wanted(any_compute_lane(plan, random), random, [](const Op& a, const Op& b) {
    return a.kind == OpKind::backward_input && b.kind == OpKind::backward_weight && a.segment == b.segment &&
           a.micro_batch == b.micro_batch && a.step == b.step;
  });
}
bool reorder_a_lane(Plan& plan, Random& random) {
  const Place place = pick(plan, random, [](const Op& op) { return lane_kind(op.kind) != LaneKind::compute; });
  return place && swap_wanted(*place.ops, random, [](const Op& a, const Op& b) { return a != b; });
}

bool move_to_another_rank(Plan& plan, Random& random) {
  if (plan.ranks.size() < 2) return false;
  const int from = below(random, plan.ranks.size());
  const int to = (from + uniform(random, 1, static_cast<int>(plan.ranks.size()) - 1)) % std::ssize(plan.ranks);
  auto &ops = plan.ranks[from].compute(), &theirs = plan.ranks[to].compute();
  if (ops.empty()) return false;
  const int i = below(random, ops.size());
  theirs.insert(theirs.begin() + below(random, theirs.size() + 1), ops[i]);
  ops.erase(ops.begin() + i);
  return true;
}

bool change_version(Plan& plan, Random& random) {
  const Place place = pick(plan, random, [](const Op& op) { return lane_kind(op.kind) == LaneKind::compute; });
  place.op().version.value += uniform(random, 0, 1) == 0 ? 1 : -1;
  return true;
}
bool change_version_rule(Plan& plan, Random& random) {
  int& steps = plan.versions[below(random, plan.versions.size())].steps_per_update;
  // Where no update is due within the window, nobody can tell.
  return plan.steps >= std::max(2, steps++);
}

/// Before the last weight gradient, hence before the reduction that waits for it, or what a server adds last.
bool update_early(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_of<OpKind::update>);
  if (!place) return false;
  const Op early = place.op();
  int before = place.index - 1;
  const auto makes = [](const Op& op) { return makes_weight_gradient(op.kind) || op.kind == OpKind::add; };
  while (!makes((*place.ops)[before]) || (*place.ops)[before].segment != early.segment) --before;
  place.ops->erase(place.ops->begin() + place.index);
  place.ops->insert(place.ops->begin() + before, early);
  return true;
}

bool exceed_in_flight(Plan& plan, Random& random) {
  const int r = below(random, plan.ranks.size()), peak = peak_in_flight(plan, r);
  if (peak < 2) return false;
  plan.ranks[r].in_flight = uniform(random, 1, peak - 1);
  return true;
}
bool flip_accumulates(Plan& plan, Random& random) {
  Op& op = pick(plan, random, [](const Op& o) { return makes_weight_gradient(o.kind); }).op();
  op.accumulates = !op.accumulates;
  return true;
}
bool flip_discards(Plan& plan, Random& random) {
  Op& op = pick(plan, random, is_of<OpKind::forward>).op();
  op.discards = !op.discards;
  return true;
}

bool pair_wrongly(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_any_message);
  if (!place || micro_batches(plan) < 2) return false;
  place.op().micro_batch = MicroBatchId((place.op().micro_batch.value + 1) % micro_batches(plan));
  return true;
}
bool address_wrongly(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_any_message);
  if (!place) return false;
  place.op().peer = Rank((place.op().peer.value + 1) % static_cast<int>(plan.ranks.size()));
  return true;
}
bool is_skip_message(const Op& op) { return is_message(op.kind) && op.port > 0; }
/// At both ends, and of the micro-batch alone.
bool drop_a_skip(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_skip_message);
  if (!place) return false;
  const Op gone = place.op();
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      std::erase_if(lane.ops, [&](const Op& op) {
        return op.port == gone.port && op.payload == gone.payload && op.micro_batch == gone.micro_batch &&
               op.step == gone.step;
      });
    }
  }
  return true;
}
bool take_another_port(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_skip_message);
  if (!place) return false;
  const int ports = static_cast<int>(plan.skips.size());
  place.op().port = static_cast<std::uint16_t>((place.op().port + uniform(random, 0, ports - 1)) % (ports + 1));
  return true;
}
/// To a rank that has the tensor already.
bool send_a_skip_again(Plan& plan, Random& random) {
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    for (Lane& lane : plan.ranks[r.value].lanes) {
      for (std::size_t i = 0; i < lane.ops.size(); ++i) {
        const Op send = lane.ops[i];
        if (!is_skip_message(send) || send.kind != OpKind::send || send.payload != Payload::activation) continue;
        Op again = send;
        ++again.port;
        if (again.port > plan.skips.size() || earlier_port(plan.skips, again.port) == 0) continue;
        if (!find_holding(plan, send.peer, stage_of(plan, plan.skips[again.port - 1].to))) continue;
        if (uniform(random, 0, 1) == 1) continue;
        lane.ops.push_back(again);
        const Op receive = receive_of(again, r, plan.skips);
        plan.ranks[again.peer.value].lane(lane_of(receive)).push_back(receive);
        return true;
      }
    }
  }
  return false;
}
bool lead_a_skip_elsewhere(Plan& plan, Random& random) {
  if (plan.skips.empty()) return false;
  SegmentId& to = plan.skips[below(random, plan.skips.size())].to;
  // Where both segments are on one rank, the plan may stay as good.
  return pick(plan, random, is_skip_message) && (to = SegmentId(0), true);
}
bool work_on_another_segment(Plan& plan, Random& random) {
  if (plan.segments.size() < 2) return false;
  SegmentId& segment = pick(plan, random, [](const Op& op) { return is_pass(op.kind); }).op().segment;
  segment = SegmentId((segment.value + 1) % static_cast<int>(plan.segments.size()));
  return true;
}
bool belong_to_another_step(Plan& plan, Random& random) {
  if (plan.steps < 2) return false;
  StepId& step = pick(plan, random, is_any).op().step;
  step = StepId((step.value + 1) % plan.steps);
  return true;
}
bool leave_a_stage(Plan& plan, Random& random) {
  auto& holds = plan.ranks[below(random, plan.ranks.size())].holds;
  holds.erase(holds.begin() + below(random, holds.size()));
  return true;
}
bool join_another_replica(Plan& plan, Random& random) {
  if (plan.replicas < 2) return false;
  const int r = below(random, plan.ranks.size());
  // A server computes no pieces, whosever they are.
  if (std::ranges::find(plan.servers, Rank(r)) != plan.servers.end()) return false;
  auto& holds = plan.ranks[r].holds;
  Holding& holding = holds[below(random, holds.size())];
  holding.replica = ReplicaId((holding.replica.value + 1) % plan.replicas);
  return true;
}
bool count_samples_wrongly(Plan& plan, Random& random) {
  auto& replica = plan.pieces[below(random, plan.replicas)];
  int& piece = replica[below(random, replica.size())];
  piece = uniform(random, 0, 1) == 0 ? piece + 1 : 0;
  return true;
}
bool lose_a_piece(Plan& plan, Random&) {
  plan.pieces.back().pop_back();
  return true;
}

bool update_more_than_the_share(Plan& plan, Random& random) {
  const Place place = pick(plan, random, [](const Op& op) { return op.kind == OpKind::update && op.group.value >= 0; });
  if (place) place.op().group = GroupId(-1);
  return bool(place);
}
bool gather_another_version(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_of<OpKind::all_gather>);
  if (!place) return false;
  const Op wrong = place.op();
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      for (Op& op : lane.ops) {
        if (op == wrong) ++op.version;
      }
    }
  }
  return true;
}
/// On all members alike.
bool gather_nothing(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_of<OpKind::all_gather>);
  if (!place) return false;
  const Op gone = place.op();
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) std::erase(lane.ops, gone);
  }
  return true;
}
bool reduce_without_a_member(Plan& plan, Random& random) {
  const Place place = pick(plan, random, [](const Op& op) { return is_collective(op.kind); });
  if (place) plan.groups[place.op().group.value].ranks.pop_back();
  return bool(place);
}

/// On all members alike.
bool sum_no_shares(Plan& plan, Random& random) {
  const Place place = pick(plan, random, [](const Op& op) { return op.payload == Payload::gradient_shares; });
  if (!place) return false;
  const Op gone = place.op();
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) std::erase(lane.ops, gone);
  }
  return true;
}
/// Neighbours that share a run become others.
bool share_with_another(Plan& plan, Random& random) {
  const Place place = pick(plan, random, [](const Op& op) { return op.payload == Payload::gradient_shares; });
  if (!place) return false;
  std::vector<Group*> groups;
  for (Group& group : plan.groups)
    if (group.ranks.size() == plan.groups[place.op().group.value].ranks.size()) groups.push_back(&group);
  if (groups.size() < 2) return false;
  Group &one = *groups[0], &other = *groups[1];
  std::swap(one.ranks.back(), other.ranks.back());
  std::ranges::sort(one.ranks);
  std::ranges::sort(other.ranks);
  return true;
}
bool is_part(const Op& op) { return is_collective(op.kind) && op.port > 0; }
bool sum_another_part(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_part);
  if (!place) return false;
  const Op was = place.op();
  const int parts = plan.parts[was.segment.value];
  const int other = (was.port - 1 + uniform(random, 1, parts)) % (parts + 1);
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      for (Op& op : lane.ops)
        if (op == was) op.port = static_cast<std::uint16_t>(other);
    }
  }
  return true;
}
bool cut_another_way(Plan& plan, Random& random) {
  if (plan.parts.empty()) return false;
  const Place place = pick(plan, random, is_of<OpKind::all_reduce>);
  if (!place) return false;
  plan.parts[place.op().segment.value] += uniform(random, 0, 1) == 0 ? 1 : -1;
  return true;
}

bool is_share(const Op& op) { return op.kind == OpKind::add && op.group.value >= 0; }
bool add_another_share(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_share);
  if (!place || micro_batches(plan) < 2) return false;
  place.op().micro_batch = MicroBatchId((place.op().micro_batch.value + 1) % micro_batches(plan));
  return true;
}
bool scatter_another_piece(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_share);
  if (!place || micro_batches(plan) < 2) return false;
  const MicroBatchId from = place.op().micro_batch, to((from.value + 1) % micro_batches(plan));
  const Op share = place.op();
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      for (Op& op : lane.ops)
        if (op.kind == OpKind::reduce_scatter && op.segment == share.segment && op.micro_batch == from &&
            op.step == share.step)
          op.micro_batch = to;
    }
  }
  return true;
}

bool encode_early(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_of<OpKind::encode>);
  if (!place) return false;
  const Op early = place.op();
  place.ops->erase(place.ops->begin() + place.index);
  const auto last = std::find_if(place.ops->rbegin(), place.ops->rend(), [&](const Op& op) {
    return makes_weight_gradient(op.kind) && op.step == early.step && op.segment == early.segment;
  });
  place.ops->insert(last.base() - 1, early);
  return true;
}
bool decode_another_run(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_of<OpKind::decode>);
  if (!place || place.op().segments == 1) return false;
  --place.op().segments;
  return true;
}
bool compress_otherwise(Plan& plan, Random& random) {
  if (!uses(plan, OpKind::encode)) return false;
  const bool gathers = plan.spec.compress.name == "topk", projects = plan.spec.compress.name == "powersgd";
  const NamedChoice others[] = {{"none", {}}, {gathers || projects ? "bf16" : "topk", {}}};
  plan.spec.compress = others[uniform(random, 0, 1)];
  return true;
}

constexpr Mutation harmful[] = {
    {"drop an operation", drop<is_any>},
    {"drop a recompute", drop<is_of<OpKind::recompute>>},
    {"drop a message", drop<is_any_message>},
    {"drop a message at both ends", drop_both_ends},
    {"drop an update", drop<is_of<OpKind::update>>},
    {"drop a reduction", drop<is_of<OpKind::all_reduce>>},
    {"drop a scattered reduction", drop<is_of<OpKind::reduce_scatter>>},
    {"drop a gathering", drop<is_of<OpKind::all_gather>>},
    {"drop norms", drop<is_of<OpKind::norms>>},
    {"drop an average", drop<is_of<OpKind::average>>},
    {"drop an addition", drop<is_of<OpKind::add>>},
    {"drop an encode", drop<is_of<OpKind::encode>>},
    {"drop a project", drop<is_of<OpKind::project>>},
    {"drop a decode", drop<is_of<OpKind::decode>>},
    {"encode before the last gradient", encode_early},
    {"decode another run", decode_another_run},
    {"compress otherwise", compress_otherwise},
    {"update more than the share", update_more_than_the_share},
    {"gather another version", gather_another_version},
    {"gather nothing", gather_nothing},
    {"reduce without a member", reduce_without_a_member},
    {"sum no shares", sum_no_shares},
    {"share with another", share_with_another},
    {"sum another part", sum_another_part},
    {"cut another way", cut_another_way},
    {"add another share", add_another_share},
    {"scatter another piece", scatter_another_piece},
    {"drop a share", drop<is_share>},
    {"duplicate an operation", duplicate},
    {"swap two passes of a piece", swap_passes_of_a_piece},
    {"swap two micro-batches", swap_micro_batches},
    {"W before its I", weight_gradient_before_input_gradient},
    {"reorder a lane", reorder_a_lane},
    {"move to another rank", move_to_another_rank},
    {"change a version", change_version},
    {"change the rule of versions", change_version_rule},
    {"update too early", update_early},
    {"exceed what may be in flight", exceed_in_flight},
    {"flip accumulates", flip_accumulates},
    {"flip discards", flip_discards},
    {"pair wrongly", pair_wrongly},
    {"address wrongly", address_wrongly},
    {"drop a skip", drop_a_skip},
    {"take another port", take_another_port},
    {"send a skip again", send_a_skip_again},
    {"lead a skip elsewhere", lead_a_skip_elsewhere},
    {"work on another segment", work_on_another_segment},
    {"belong to another step", belong_to_another_step},
    {"leave a stage", leave_a_stage},
    {"join another replica", join_another_replica},
    {"count samples wrongly", count_samples_wrongly},
    {"lose a piece", lose_a_piece},
};

bool swap_any_two(Plan& plan, Random& random) {
  return swap_wanted(any_compute_lane(plan, random), random, [](const Op& a, const Op& b) { return a != b; });
}
bool move_along_its_lane(Plan& plan, Random& random) {
  const Place place = pick(plan, random, is_any);
  const Op op = place.op();
  place.ops->erase(place.ops->begin() + place.index);
  place.ops->insert(place.ops->begin() + below(random, place.ops->size() + 1), op);
  return true;
}
/// The k-th and the l-th message of a lane change places, here and at the other end.
bool reorder_both_ends(Plan& plan, Random& random) {
  const int r = below(random, plan.ranks.size());
  std::vector<Lane*> sending;
  for (Lane& lane : plan.ranks[r].lanes) {
    if (lane.ops.size() > 1 && lane.ops.front().kind == OpKind::send) sending.push_back(&lane);
  }
  if (sending.empty()) return false;
  Lane& lane = *sending[below(random, sending.size())];
  auto& theirs = plan.ranks[lane.key.peer.value].lane(other_end(lane.key, Rank(r)));
  const int k = below(random, lane.ops.size()), l = below(random, lane.ops.size());
  std::swap(lane.ops[k], lane.ops[l]);
  std::swap(theirs[k], theirs[l]);
  return true;
}
bool reverse_backwards(Plan& plan, Random& random) {
  plan.in_order = false;
  auto& ops = any_compute_lane(plan, random);
  if (ops.empty()) return false;
  const Op first = ops[below(random, ops.size())];
  std::vector<Op*> same;
  for (Op& op : ops) {
    if (op.kind == first.kind && op.segment == first.segment && op.step == first.step) same.push_back(&op);
  }
  for (std::size_t i = 0; i < same.size() / 2; ++i) std::swap(*same[i], *same[same.size() - 1 - i]);
  plan = mark_accumulation(std::move(plan));
  return same.size() > 1;
}

/// Less may not be enough, and more is as good.
bool change_the_room(Plan& plan, Random& random) {
  if (plan.room == Room{}) return false;
  plan.room = {plan.room.weights == 0 ? 0 : uniform(random, 1, 5), uniform(random, 0, 5)};
  return true;
}

/// A window that ends early may need fewer than the steady state.
bool keep_fewer_versions(Plan& plan, Random& random) {
  return --plan.ranks[below(random, plan.ranks.size())].weight_versions > 0;
}

constexpr Mutation doubtful[] = {
    {"swap any two", swap_any_two},
    {"move along its lane", move_along_its_lane},
    {"reorder both ends of a lane", reorder_both_ends},
    {"reverse passes", reverse_backwards},
    {"change the room", change_the_room},
    {"keep fewer versions", keep_fewer_versions},
};

}  // namespace

std::span<const Mutation> harmful_mutations() { return harmful; }
std::span<const Mutation> doubtful_mutations() { return doubtful; }

}  // namespace parabench::plan
