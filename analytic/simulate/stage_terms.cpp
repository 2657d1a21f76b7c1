#include "analytic/simulate/stage_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "analytic/simulate/exchange_terms.h"
#include "base/case_text.h"
#include "base/optimizer.h"
#include "base/placement.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::analytic {
namespace {

std::string_view name_of(plan::OpKind kind) {
  switch (kind) {
    case plan::OpKind::forward: return "forward";
    case plan::OpKind::backward: return "backward";
    case plan::OpKind::backward_input: return "backward_input";
    case plan::OpKind::backward_weight: return "backward_weight";
    case plan::OpKind::recompute: return "recompute";
    case plan::OpKind::norms: return "norms";
    case plan::OpKind::update: return "update";
    case plan::OpKind::add: return "add";
    case plan::OpKind::average: return "average";
    case plan::OpKind::encode: return "encode";
    case plan::OpKind::project: return "project";
    case plan::OpKind::decode: return "decode";
    case plan::OpKind::send:
    case plan::OpKind::receive:
    case plan::OpKind::all_reduce:
    case plan::OpKind::reduce_scatter:
    case plan::OpKind::all_gather:
    case plan::OpKind::broadcast: return {};
  }
  return {};
}

/// Whether such operations of all micro-batches but the first add to gradients, or to shares of them.
bool adds(const plan::Plan& plan, plan::OpKind kind) {
  const bool is_of_gradients = plan.scatters_pieces ? kind == plan::OpKind::add : plan::makes_weight_gradient(kind);
  return is_of_gradients && plan::micro_batches(plan) > 1;
}

struct FirstPiece {
  const plan::Op* first = nullptr;  ///< nullptr: the rank has no such operation
  double seconds = 0;
};

/// The first such operation on the rank's lane, and its piece through the whole stage; `adding`: taken as operations
/// that add to gradients, or that start them, whichever they are.
FirstPiece first_piece(const TermList& terms, Rank rank, StageId stage, plan::OpKind kind, int busy,
                       std::optional<bool> adding) {
  FirstPiece piece;
  for (const plan::Op& op : terms.plan.ranks[rank.value].compute()) {
    if (op.kind != kind || plan::stage_of(terms.plan, op.segment) != stage) continue;
    if (!piece.first) piece.first = &op;
    if (op.step != piece.first->step || op.micro_batch != piece.first->micro_batch) continue;
    plan::Op taken = op;
    taken.accumulates = adding.value_or(op.accumulates);
    piece.seconds += terms.time.seconds(terms.plan, rank, taken, busy);
  }
  return piece;
}

/// Of operations that add gradients to those of the micro-batches before, as much as the first such one.
void adding_pass(TermList& terms, Rank rank, StageId stage, plan::OpKind kind, int busy) {
  terms.add(fmt::format("{}_adding[stage {}]", name_of(kind), stage.value),
            first_piece(terms, rank, stage, kind, busy, true).seconds, "s",
            "the same, and more words moved for each parameter x seconds per word",
            terms.with_assumption("gradients added to those of the micro-batches before"));
}

/// Of the first such pass; where others add to its gradients as one that starts them.
void pass(TermList& terms, Rank rank, StageId stage, plan::OpKind kind) {
  const int all = plan::computing_ranks(terms.counted),
            busy = std::min(all, ranks_beside(terms.plan.placement, rank, all));
  const bool others_add = adds(terms.plan, kind);
  const auto [first, sum] =
      first_piece(terms, rank, stage, kind, busy, others_add ? std::optional(false) : std::nullopt);
  if (!first) return;
  const std::string name = fmt::format("{}[stage {}]", name_of(kind), stage.value);
  if (plan::is_of_compression(kind)) {
    terms.add(name, sum, "s",
              "words moved for each parameter x seconds per word + products / rate of the model's forwards",
              terms.with_assumption(fmt::format("compress:{}, all buckets", to_text(terms.plan.spec.compress))));
    return;
  }
  if (kind == plan::OpKind::average || kind == plan::OpKind::add) {
    const bool averages = kind == plan::OpKind::average;
    terms.add(name, sum, "s",
              averages ? fmt::format("words moved for each parameter x seconds per word, once in {} steps",
                                     terms.plan.averaging.every)
              : terms.plan.scatters_pieces
                  ? "words moved for each parameter of a share x seconds per word, one micro-batch"
                  : "words moved for each parameter x seconds per word, over the workers of an update",
              terms.with_assumption(averages                     ? "weights from their sum"
                                    : terms.plan.scatters_pieces ? "shares of a micro-batch's gradients"
                                                                 : "gradients that workers sent"));
    if (others_add) adding_pass(terms, rank, stage, kind, busy);
    return;
  }
  if (kind == plan::OpKind::update || kind == plan::OpKind::norms) {
    const bool copies = kind == plan::OpKind::update && plan::sums_by_reducer(terms.plan.spec);
    terms.add(
        name, sum, "s", "parameters x seconds per parameter",
        terms.with_assumption(fmt::format("{}, one fused loop{}{}", find_optimizer(terms.plan.spec.optimizer.name).help,
                                          terms.plan.ranks[rank.value].weight_versions > 1 ? " to a new version" : "",
                                          copies ? ", and copies out of the reducer's buckets" : "")));
    return;
  }
  terms.add(name, sum, "s",
            fmt::format("sum over the stage's layers of t_floor + b t_sample, b = {} samples, {} busy ranks",
                        samples_of(terms.plan, rank, *first), busy),
            terms.with_assumption("per-layer costs, one micro-batch"));
  if (others_add) adding_pass(terms, rank, stage, kind, busy);
}

}  // namespace

void stage_terms(TermList& terms, StageId stage) {
  const Rank rank = terms.holders[stage.value].front();
  const plan::RankProgram& program = terms.plan.ranks[rank.value];
  for (const plan::OpKind kind :
       {plan::OpKind::forward, plan::OpKind::recompute, plan::OpKind::backward, plan::OpKind::backward_input,
        plan::OpKind::backward_weight, plan::OpKind::encode, plan::OpKind::project, plan::OpKind::decode,
        plan::OpKind::add, plan::OpKind::norms, plan::OpKind::update, plan::OpKind::average}) {
    pass(terms, rank, stage, kind);
  }
  for (const plan::Lane& lane : program.lanes) {
    if (lane.key.kind == plan::LaneKind::collectives) collective_terms(terms, rank, stage, lane);
    // Those to the other servers of a stage are alike.
    const bool to_another = plan::served_in_shares(terms.plan) && lane.key.peer != terms.plan.servers.back();
    if (lane.key.kind == plan::LaneKind::send && !to_another) message_terms(terms, rank, stage, lane);
  }
  compression_term(terms, rank, stage);
}

void server_terms(TermList& terms, StageId stage) {
  if (terms.plan.servers.empty()) return;
  const Rank rank = plan::servers_of(terms.plan, stage).back();
  for (const plan::OpKind kind : {plan::OpKind::add, plan::OpKind::norms, plan::OpKind::update})
    pass(terms, rank, stage, kind);
  for (const plan::Lane& lane : terms.plan.ranks[rank.value].lanes) {
    if (lane.key.kind == plan::LaneKind::collectives) collective_terms(terms, rank, stage, lane);
    if (lane.key == plan::sends_to(Rank(0), plan::Payload::parameters)) served_terms(terms, rank, stage, lane);
  }
}

}  // namespace parabench::analytic
