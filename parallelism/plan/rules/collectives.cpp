#include "parallelism/plan/rules/collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/case_text.h"
#include "base/compression.h"
#include "base/optimizer.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

bool same_run(const Op& a, const Op& b) {
  return a.segment == b.segment && a.segments == b.segments && a.group == b.group;
}

/// Whether a rank's groups divide the holders of a stage as neighbours that share a run, `within`, and those that have
/// the same share of it, `across`. All ascending.
bool divide(const std::vector<Rank>& holders, Rank rank, const std::vector<Rank>& within,
            const std::vector<Rank>& across) {
  const std::ptrdiff_t size = std::ssize(within), groups = std::ssize(across);
  if (size * groups != std::ssize(holders)) return false;
  const std::ptrdiff_t place = std::ranges::lower_bound(holders, rank) - holders.begin(), own = place % size;
  if (!std::equal(within.begin(), within.end(), holders.begin() + (place - own))) return false;
  for (std::ptrdiff_t i = 0; i < groups; ++i)
    if (across[i] != holders[i * size + own]) return false;
  return true;
}

/// Operations of one kind on one segment in one step.
struct Counted {
  int count = 0;
  const Op* op = nullptr;  ///< the latest
};

/// What happens to the parameters of one rank.
class UpdateCheck {
 public:
  UpdateCheck(const Plan& plan, Rank rank, Violations& found)
      : plan_(plan),
        rank_(rank),
        found_(found),
        reads_norms_(find_optimizer(plan.spec.optimizer.name).reads_norms),
        compression_(compression(plan.spec)),
        steps_(plan.segments.size(), std::vector<Step>(plan.steps)) {
    for (const Lane& lane : plan.ranks[rank.value].lanes) {
      for (const Op& op : lane.ops) {
        if (Counted Step::*member = member_of(op)) add(op, member);
      }
    }
    check_adds();
  }

  void check() {
    for (const Holding& holding : plan_.ranks[rank_.value].holds) {
      const std::vector<Rank> sharers = holders(plan_, holding.stage, holding.shard);
      const auto [first, last] = segments_of(plan_, holding.stage);
      for (SegmentId s = first; s <= last; ++s) {
        for (StepId step; step.value < plan_.steps; ++step) {
          check_sum(s, step, sharers);
          check_share_sum(s, step, sharers);
          check_compression(s, step);
          check_update(s, step);
          check_average(s, step, sharers);
          check_server(s, step, sharers);
          check_shares_of_servers(s, step);
          check_norms(s, step);
        }
      }
    }
  }

 private:
  struct Step {
    Counted sum, update, exchange;  ///< of gradients, of parameters, of what updates wrote
    Counted share_sum;              ///< of gradients after a reduce-scatter
    Counted norms, norm_sum;
    Counted average;
    Counted encode, project, projected, decode;  ///< beside the sum of what was encoded
    Counted push, pull, add;  ///< gradients to a server and weights from it, on its workers; what it adds
    Counted made;             ///< passes that make gradients
  };

  static Counted Step::*member_of(const Op& op) {
    if (op.kind == OpKind::update) return &Step::update;
    if (op.kind == OpKind::norms) return &Step::norms;
    if (op.kind == OpKind::average) return &Step::average;
    if (op.kind == OpKind::encode) return &Step::encode;
    if (op.kind == OpKind::project) return &Step::project;
    if (op.kind == OpKind::decode) return &Step::decode;
    if (op.kind == OpKind::add) return &Step::add;
    if (makes_weight_gradient(op.kind)) return &Step::made;
    if (op.kind == OpKind::send) return op.payload == Payload::gradients ? &Step::push : nullptr;
    if (op.kind == OpKind::receive) return op.payload == Payload::parameters ? &Step::pull : nullptr;
    if (op.payload == Payload::norms) return &Step::norm_sum;
    if (op.payload == Payload::gradients || op.payload == Payload::encoded) return &Step::sum;
    if (op.payload == Payload::gradient_shares) return &Step::share_sum;
    if (op.payload == Payload::projected) return &Step::projected;
    return op.payload == Payload::parameters ? &Step::exchange : nullptr;
  }
  void add(const Op& op, Counted Step::*member) {
    if (plan_.room.weights > 0 && member == &Step::exchange) check_gather(op);
    if (op.port > 0 && member == &Step::sum) check_part(op);
    if (served_in_shares(plan_) && (member == &Step::push || member == &Step::pull || member == &Step::add))
      check_same_share(op, member);
    if (plan_.scatters_pieces && (member == &Step::sum || member == &Step::add)) check_piece(op, member);
    for (int i = 0; i < op.segments; ++i) {
      Counted& counted = steps_[op.segment.value + i][op.step.value].*member;
      ++counted.count;
      counted.op = &op;
    }
  }
  /// Whether holders of a stage sum its gradients micro-batch by micro-batch.
  bool scatters(const std::vector<Rank>& sharers) const { return plan_.scatters_pieces && sharers.size() > 1; }
  const std::vector<Rank>& members(const Op& op) const { return plan_.groups[op.group.value].ranks; }
  const Step& at(SegmentId s, StepId step) const { return steps_[s.value][step.value]; }

  void complain(std::string rule, const Op& op, const std::string& what) {
    found_.push_back({{rank_},
                      std::move(rule),
                      to_text(op) + " of step " + std::to_string(op.step.value) + ' ' + what + " on rank " +
                          std::to_string(rank_.value)});
  }

  /// A server adds what it receives, once; where it takes those that come first, as many as it takes, by rank.
  void check_adds() {
    std::multiset<std::tuple<SegmentId, int, StepId, Rank>> received;
    std::map<std::tuple<SegmentId, int, StepId>, int> workers, places;
    const auto key = [](const Op& op) { return std::tuple(op.segment, op.segments, op.step, op.peer); };
    for (const Lane& lane : plan_.ranks[rank_.value].lanes) {
      if (lane.key.kind != LaneKind::receive || lane.key.purpose != Payload::gradients) continue;
      for (const Op& op : lane.ops) {
        received.insert(key(op));
        ++workers[{op.segment, op.segments, op.step}];
      }
    }
    for (const Op& op : plan_.ranks[rank_.value].compute()) {
      if (!adds_sent(op)) continue;
      if (plan_.taken > 0) {
        if (const int sent = workers[{op.segment, op.segments, op.step}]; sent != plan_.replicas)
          complain("exactly once", op, "chooses among the gradients of " + std::to_string(sent) + " workers");
        if (op.port != ++places[{op.segment, op.segments, op.step}])
          complain("first come", op, "is not of the next of those that are taken");
        continue;
      }
      const auto found = received.find(key(op));
      if (found == received.end()) {
        complain("exactly once", op, "is of gradients that rank " + std::to_string(op.peer.value) + " did not send");
      } else {
        received.erase(found);
      }
    }
  }

  /// What servers share is cut in one way: each has another part of the same version of the same run.
  void check_same_share(const Op& op, Counted Step::*member) {
    for (int i = 0; i < op.segments; ++i) {
      const Op* before = (steps_[op.segment.value + i][op.step.value].*member).op;
      if (!before) continue;
      if (!same_run(op, *before)) return complain("shard", op, "is of another run than " + to_text(*before));
      if (op.version != before->version) return complain("version", op, "is of another than " + to_text(*before));
    }
  }

  /// All parts of a run are summed on one lane, each once.
  void check_part(const Op& op) {
    const Op* before = at(op.segment, op.step).sum.op;
    if (before && !same_run(op, *before)) complain("parts", op, "is of another run than " + to_text(*before));
    if (!parts_.insert({op.segment, op.step, op.port}).second) complain("exactly once", op, "is one too many");
  }

  /// Those of a run's micro-batches, each once.
  void check_piece(const Op& op, Counted Step::*member) {
    const Op* before = (at(op.segment, op.step).*member).op;
    if (before && !same_run(op, *before)) complain("shard", op, "is of another run than " + to_text(*before));
    if (!pieces_.insert({op.kind, op.segment, op.step, op.micro_batch}).second)
      complain("exactly once", op, "is one too many");
  }

  /// `missing`: what is to be there, for people.
  void check_count(const Counted& counted, int due, const Op& missing) {
    if (counted.count < due) complain("exactly once", missing, "is missing");
    if (counted.count > due) complain("exactly once", *counted.op, "is one too many");
  }

  /// Of weights that are about to be read.
  void check_gather(const Op& op) {
    const VersionId read = version_read(plan_, stage_of(plan_, op.segment), op.step);
    if (op.kind != OpKind::all_gather || op.version != read)
      complain("version", op, "brings no version " + std::to_string(read.value) + ", which its step reads");
  }

  void check_sum(SegmentId s, StepId step, const std::vector<Rank>& sharers) {
    const Counted& sum = at(s, step).sum;
    const bool is_due = sharers.size() > 1 && is_update_due(plan_, stage_of(plan_, s), step) &&
                        plan_.averaging.every == 0 && plan_.servers.empty();
    const Op missing = sum.op ? *sum.op : all_reduce(s, 1, step, GroupId(-1));
    const int parts = scatters(sharers) ? micro_batches(plan_) : parts_of(plan_, missing.segment);
    check_count(sum, is_due ? parts : 0, missing);
    if (sum.op && scatters(sharers) && sum.op->kind != OpKind::reduce_scatter)
      complain("shard", *sum.op, "is of no micro-batch");
    if (sum.op && sum.op->kind != OpKind::reduce_scatter && members(*sum.op) != sharers)
      complain("group", *sum.op, "does not join the holders of its stage");
  }

  /// Where the holders of a stage share its runs in groups, they sum the shares between these.
  void check_share_sum(SegmentId s, StepId step, const std::vector<Rank>& sharers) {
    const Step& there = at(s, step);
    const Op* scatter = there.sum.op && there.sum.op->kind == OpKind::reduce_scatter ? there.sum.op : nullptr;
    const int due = scatter && members(*scatter) != sharers;
    const Op missing = all_reduce_shares(s, 1, step, GroupId(-1));
    check_count(there.share_sum, due, missing);
    const Op* sum = there.share_sum.op;
    if (!sum || !scatter) return;
    if (sum->segment != scatter->segment || sum->segments != scatter->segments)
      complain("shard", *sum, "is of other shares than " + to_text(*scatter) + " left there");
    if (!divide(sharers, rank_, members(*scatter), members(*sum)))
      complain("group", *sum, "does not join those that have the same share of its stage");
  }

  /// What is sent in the place of gradients where the case compresses them, and nowhere else.
  void check_compression(SegmentId s, StepId step) {
    const Step& there = at(s, step);
    const bool on = compression_.is_on(), projects = compression_.kind == CompressionKind::powersgd;
    const int sums = on && there.sum.op, projections = projects && there.sum.op;
    if (there.sum.op) {
      const OpKind kind = compression_.kind == CompressionKind::topk ? OpKind::all_gather : OpKind::all_reduce;
      const bool fits = there.sum.op->payload == (on ? Payload::encoded : Payload::gradients);
      if (!fits || (on && there.sum.op->kind != kind))
        complain("compression", *there.sum.op, "is not how compress:" + to_text(plan_.spec.compress) + " sums");
    }
    const Op whole = there.sum.op ? *there.sum.op : all_reduce(s, 1, step, GroupId(-1));
    const auto missing = [&](OpKind kind) {
      return compression_step(kind, whole.segment, whole.segments, step, whole.group);
    };
    const Op no_projection =
        compressed_sum(OpKind::all_reduce, Payload::projected, whole.segment, whole.segments, step, whole.group);
    for (const auto& [counted, due, op] : {std::tuple(there.encode, sums, missing(OpKind::encode)),
                                           std::tuple(there.project, projections, missing(OpKind::project)),
                                           std::tuple(there.projected, projections, no_projection),
                                           std::tuple(there.decode, sums, missing(OpKind::decode))}) {
      check_count(counted, due, op);
      if (counted.op && due > 0 && !same_run(*counted.op, whole))
        complain("shard", *counted.op, "is of another run than " + to_text(whole));
    }
  }

  void check_update(SegmentId s, StepId step) {
    const Step& there = at(s, step);
    const Counted &sum = there.sum, &update = there.update, &exchange = there.exchange;
    const bool received = exchange.op && exchange.op->kind == OpKind::broadcast && exchange.op->peer != rank_;
    const int due =
        is_update_due(plan_, stage_of(plan_, s), step) && !received && updates(plan_, rank_, stage_of(plan_, s));
    if (update.count > due && !received) complain("exactly once", *update.op, "is one too many");
    if (update.count < due) complain("exactly once", plan::update(s, 1, step, VersionId(0)), "is missing");
    if (received && update.op) complain("exactly once", *update.op, "is overwritten by the broadcast");
    const bool before_use = plan_.room.weights > 0;
    if (exchange.count > (before_use ? 2 : 1)) complain("exactly once", *exchange.op, "is one too many");
    if (exchange.op && exchange.op->kind == OpKind::all_reduce) return;  // of check_average()
    if (!update.op) {
      if (exchange.op && !received) complain("shard", *exchange.op, "comes without an update");
      return;
    }
    const bool sharded = update.op->group.value >= 0;
    if (sum.op && sum.op->kind == OpKind::reduce_scatter && !same_run(*sum.op, *update.op)) {
      complain("shard", *update.op, "is of more than the share that " + to_text(*sum.op) + " left there");
    }
    const bool serves = served_in_shares(plan_) && updates(plan_, rank_, stage_of(plan_, s));
    if (sharded && !exchange.op && !serves) complain("shard", *update.op, "is of a share that nothing gathers");
    if (!exchange.op) return;
    const bool gathers = exchange.op->kind == OpKind::all_gather;
    if (gathers != sharded || (gathers && !same_run(*exchange.op, *update.op))) {
      complain("shard", *exchange.op, "moves other shares than " + to_text(*update.op) + " wrote");
    }
    if (!before_use && exchange.op->version != update.op->version) {
      complain("version", *exchange.op, "moves another version than " + to_text(*update.op) + " wrote");
    }
  }

  /// Each worker that has a part in a step sends each server gradients and receives weights once; a server adds up what
  /// one of each replica has sent.
  void check_server(SegmentId s, StepId step, const std::vector<Rank>& sharers) {
    const Step& there = at(s, step);
    const StageId stage = stage_of(plan_, s);
    const bool served = !plan_.servers.empty(), serves = served && updates(plan_, rank_, stage);
    const std::span<const Rank> servers = servers_of(plan_, stage);
    const int exchanges = served && !serves && there.made.count > 0 ? static_cast<int>(servers.size()) : 0;
    const Rank server = served ? servers.front() : Rank(-1);
    const VersionId version = updates_by(plan_, stage, step);
    const bool adds_shares = scatters(sharers) && is_update_due(plan_, stage, step);
    const int summed = plan_.taken > 0 ? plan_.taken : plan_.replicas;
    const int adds = serves ? summed : adds_shares ? micro_batches(plan_) : 0;
    if (there.add.op && there.update.op && adds_shares && !same_run(*there.add.op, *there.update.op))
      complain("shard", *there.add.op, "is of other shares than " + to_text(*there.update.op) + " writes");
    const Op no_push = send_gradients(s, 1, step, server), no_add = add_gradients(s, 1, step, server),
             no_pull = recv_parameters(s, 1, step, version, server);
    for (const auto& [counted, due, missing] :
         {std::tuple(there.push, exchanges, no_push), std::tuple(there.pull, exchanges, no_pull),
          std::tuple(there.add, adds, no_add)}) {
      check_count(counted, due, missing);
      const bool leaves_stage =
          counted.op && stage_of(plan_, SegmentId(counted.op->segment.value + counted.op->segments - 1)) !=
                            stage_of(plan_, counted.op->segment);
      if (leaves_stage) complain("placement", *counted.op, "is of several stages");
    }
    if (there.pull.op && there.pull.op->version != version)
      complain("version", *there.pull.op,
               "is of no version " + std::to_string(version.value) + ", which its step wrote");
  }

  /// What moves to and from servers that share a run, and what they do, is of their shares of that run.
  void check_shares_of_servers(SegmentId s, StepId step) {
    if (!served_in_shares(plan_)) return;
    const Step& there = at(s, step);
    const bool serves = updates(plan_, rank_, stage_of(plan_, s));
    const Op* const like = serves ? there.update.op : there.push.op;
    for (const Op* op : {serves ? there.add.op : there.pull.op, like}) {
      if (!op) continue;
      if (op->group.value < 0 || members(*op) != plan_.servers)
        complain("group", *op, "does not join the servers of its stage");
      if (like && !same_run(*op, *like)) complain("shard", *op, "is of other shares than " + to_text(*like));
    }
  }

  /// Where the weights of a step are averaged, and nowhere else.
  void check_average(SegmentId s, StepId step, const std::vector<Rank>& sharers) {
    const Step& there = at(s, step);
    const bool sums = there.exchange.op && there.exchange.op->kind == OpKind::all_reduce;
    const Counted sum = sums ? there.exchange : Counted{};
    const int due = sharers.size() > 1 && plan_.averaging.is_due(step);
    const VersionId version = updates_by(plan_, stage_of(plan_, s), step);
    for (const auto& [counted, missing] : {std::pair(sum, all_reduce_parameters(s, 1, step, version, GroupId(-1))),
                                           std::pair(there.average, average(s, 1, step, version, GroupId(-1)))}) {
      check_count(counted, due, missing);
      if (!counted.op) continue;
      if (counted.op->version != version)
        complain("version", *counted.op,
                 "is of no version " + std::to_string(version.value) + ", which its step wrote");
      if (const GroupId group = counted.op->group; group.value < 0 || plan_.groups[group.value].ranks != sharers)
        complain("group", *counted.op, "does not join the holders of its stage");
    }
    if (sum.op && there.average.op && !same_run(*sum.op, *there.average.op))
      complain("shard", *there.average.op, "is of another run than " + to_text(*sum.op));
  }

  /// Where an update in shares reads norms of whole tensors, and nowhere else.
  void check_norms(SegmentId s, StepId step) {
    const Step& there = at(s, step);
    const Op* update = there.update.op;
    const int due = reads_norms_ && update && update->group.value >= 0;
    const Op whole = due ? *update : plan::update(s, 1, step, VersionId(0));
    for (const auto& [counted, missing] :
         {std::pair(there.norms, norms(whole.segment, whole.segments, step, whole.group)),
          std::pair(there.norm_sum, all_reduce_norms(whole.segment, whole.segments, step, whole.group))}) {
      check_count(counted, due, missing);
      if (counted.op && due && !same_run(*counted.op, *update))
        complain("shard", *counted.op, "is of another share than " + to_text(*update) + " writes");
    }
  }

  const Plan& plan_;
  Rank rank_;
  Violations& found_;
  bool reads_norms_;
  Compression compression_;
  std::vector<std::vector<Step>> steps_;                                  ///< [segment][step]
  std::set<std::tuple<SegmentId, StepId, int>> parts_;                    ///< of sums, by the run's first segment
  std::set<std::tuple<OpKind, SegmentId, StepId, MicroBatchId>> pieces_;  ///< the same of micro-batches
};

/// The sums of a tied tensor's gradients that one rank takes part in.
void check_tied_sums(const Plan& plan, Rank rank, Violations& found) {
  const TiedSegments& tie = *plan.tie;
  const StageId first = stage_of(plan, tie.original), last = stage_of(plan, tie.copy);
  const auto complain = [&](std::string rule, const Op& op, const std::string& what) {
    found.push_back({{rank},
                     std::move(rule),
                     to_text(op) + " of step " + std::to_string(op.step.value) + ' ' + what + " on rank " +
                         std::to_string(rank.value)});
  };
  const bool takes_part = !tie.shared && (find_holding(plan, rank, first) || find_holding(plan, rank, last));
  const std::vector<Rank> members = takes_part ? tie_members(plan, rank) : std::vector<Rank>();
  std::vector<int> sums(plan.steps, 0);
  for (const Lane& lane : plan.ranks[rank.value].lanes) {
    if (lane.key.purpose != Payload::tied_gradients) continue;
    for (const Op& op : lane.ops) {
      ++sums[op.step.value];
      if (members.size() != 2 || plan.groups[op.group.value].ranks != members)
        complain("group", op, "does not join the two ranks of a replica that have the tensor");
    }
  }
  for (StepId step; step.value < plan.steps; ++step) {
    const int due = takes_part && is_update_due(plan, first, step), sum = sums[step.value];
    const Op op = all_reduce_tied(tie.original, step, GroupId(-1));
    if (sum != due) complain("exactly once", op, sum < due ? "is missing" : "is one too many");
  }
}

/// Statistics that several ranks make are summed, and so are their gradients.
void check_statistics(const Plan& plan, Rank rank, Violations& found) {
  std::set<std::tuple<Payload, SegmentId, StepId, MicroBatchId>> summed;
  for (const Lane& lane : plan.ranks[rank.value].lanes)
    for (const Op& op : lane.ops)
      if (sums_statistics(plan, op)) summed.insert({op.payload, op.segment, op.step, op.micro_batch});
  std::set<StageId> of_several;
  for (const Holding& holding : plan.ranks[rank.value].holds)
    if (holders(plan, holding.stage).size() > 1) of_several.insert(holding.stage);
  const auto& compute = plan.ranks[rank.value].compute();
  for (int i = 0; i < std::ssize(compute); ++i) {
    const auto sum = sum_of_statistics(plan, compute[i], GroupId(-1));
    if (!sum || !of_several.contains(stage_of(plan, compute[i].segment))) continue;
    if (summed.contains({sum->payload, sum->segment, sum->step, sum->micro_batch})) continue;
    const OpRef ref{rank, compute_lane, i};
    found.push_back({ref, "exactly once", describe(plan, ref) + " lacks " + to_text(*sum) + ", the sum of statistics"});
  }
}

/// The sums of activations, or of their gradients, on one lane.
class ShardSumCheck {
 public:
  ShardSumCheck(const Plan& plan, Rank rank, int lane, Violations& found)
      : plan_(plan), at_{rank, lane}, lane_(plan.ranks[rank.value].lanes[lane]), found_(found) {}

  void check() {
    std::map<std::pair<SegmentId, StepId>, std::map<MicroBatchId, int>> summed;
    for (at_.index = 0; at_.index < std::ssize(lane_.ops); ++at_.index) {
      const Op& op = lane_.ops[at_.index];
      const bool of_statistics = sums_statistics(plan_, op);
      if (of_statistics && !joins_holders(op)) complain(at_, "group", "does not join the holders of its stage");
      if (!of_statistics && !joins_shards(op)) complain(at_, "group", "does not join the shards of its stage");
      if (summed[{op.segment, op.step}][op.micro_batch]++ > 0) complain(at_, "exactly once", "sums a second time");
    }
    // Which segments end in parts of a sum is the layers' business; that all micro-batches are treated alike is not.
    const auto& compute = plan_.ranks[at_.rank.value].compute();
    for (int i = 0; i < std::ssize(compute); ++i) {
      const Op& op = compute[i];
      const bool makes =
          lane_.key.purpose == Payload::activation ? op.kind == OpKind::forward : makes_input_gradient(op.kind);
      const auto found = makes ? summed.find({op.segment, op.step}) : summed.end();
      if (found != summed.end() && !found->second.contains(op.micro_batch)) {
        complain({at_.rank, compute_lane, i}, "exactly once", "is not summed, unlike its neighbours");
      }
    }
  }

 private:
  void complain(OpRef where, std::string rule, const std::string& what) {
    found_.push_back({where, std::move(rule), describe(plan_, where) + ' ' + what});
  }

  /// The operations of a lane have one group, and most of them one stage.
  bool joins_holders(const Op& op) {
    const StageId stage = stage_of(plan_, op.segment);
    if (holders_of_ != stage) joined_ = plan_.groups[op.group.value].ranks == holders(plan_, stage);
    holders_of_ = stage;
    return joined_;
  }

  bool joins_shards(const Op& op) const {
    const StageId stage = stage_of(plan_, op.segment);
    std::vector<Rank> shards = holders(plan_, stage);
    const ReplicaId replica = replica_of(plan_, at_.rank, op.segment);
    std::erase_if(shards, [&](Rank r) { return find_holding(plan_, r, stage)->replica != replica; });
    return plan_.shards > 1 && plan_.groups[op.group.value].ranks == shards;
  }

  const Plan& plan_;
  OpRef at_;
  const Lane& lane_;
  Violations& found_;
  StageId holders_of_{-1};  ///< of which joined_ is known
  bool joined_ = false;
};

}  // namespace

void check_collectives(const Plan& plan, Violations& found) {
  if (plan.tie) {
    const StageId first = stage_of(plan, plan.tie->original), last = stage_of(plan, plan.tie->copy);
    if (plan.versions[first.value] != plan.versions[last.value])
      found.push_back({{}, "version", "the stages of a tied tensor follow different rules of weight versions"});
  }
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    UpdateCheck(plan, r, found).check();
    if (plan.tie) check_tied_sums(plan, r, found);
    if (!plan.statistics.empty()) check_statistics(plan, r, found);
    const auto& lanes = plan.ranks[r.value].lanes;
    for (int lane = 0; lane < std::ssize(lanes); ++lane) {
      const LaneKey& key = lanes[lane].key;
      if (key.kind == LaneKind::collectives && is_of_micro_batch(key.purpose)) {
        ShardSumCheck(plan, r, lane, found).check();
      }
    }
  }
}

}  // namespace parabench::plan
