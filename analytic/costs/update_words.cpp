#include "analytic/costs/update_words.h"

#include "analytic/calibration/calibration.h"
#include "base/compression.h"
#include "base/optimizer.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::analytic {

double copied_words(const Case& spec) { return measured_device(spec) == DeviceKind::cuda ? 2 : 3; }

double version_words(const Case& spec) {
  constexpr double read_and_written = 2;
  return copied_words(spec) - read_and_written;
}

double gradient_words(const plan::Plan& plan, Rank rank, const plan::Op& pass) {
  if (!plan::makes_weight_gradient(pass.kind)) return 0;
  if (pass.accumulates) return adding_words;
  return plan::reduces(plan.ranks[rank.value]) ? copied_words(plan.spec) : 0;
}

double gathered_words(const plan::Plan& plan, const plan::Op& collective) {
  const bool gathers = collective.kind == plan::OpKind::all_gather && collective.payload == plan::Payload::parameters;
  return gathers && plan.room.weights > 0 ? copied_words(plan.spec) : 0;
}

namespace {

/// Words of a gradient that a step reads and writes. What top-k takes to select is not moving words: as many as take as
/// long, 10 ns a value beside 0.074 ns for a word of an update (one core of a 2-core x86 machine).
double compression_words(const plan::Plan& plan, plan::OpKind step) {
  constexpr double rounded = 0.5;              // of a word: bf16
  constexpr double feedback = 3, product = 1;  // error and gradient read, error written; the matrix read
  constexpr double selection = 140;
  constexpr double result = 1, remainder = 3;  // written; error and result read, error written
  switch (compression(plan.spec).kind) {
    case CompressionKind::none: return 0;
    case CompressionKind::bf16: return 1 + rounded;
    case CompressionKind::powersgd:
      if (step == plan::OpKind::encode) return feedback + product;
      return step == plan::OpKind::project ? product : result + remainder;
    case CompressionKind::topk: return step == plan::OpKind::encode ? feedback + selection : result;
  }
  return 0;
}

}  // namespace

double update_words(const plan::Plan& plan, Rank rank, const plan::Op& op) {
  if (plan::is_of_compression(op.kind)) return compression_words(plan, op.kind);
  constexpr double words_of_norms = 2;  // a weight and a gradient
  if (op.kind == plan::OpKind::norms) return words_of_norms;
  if (op.kind == plan::OpKind::add) return op.accumulates ? adding_words : copied_words(plan.spec);
  // Read and written; an outer optimizer makes its gradient of them and what it keeps, updates that, and copies it.
  if (op.kind == plan::OpKind::average)
    return plan.averaging.is_mean() ? averaged_words : 3 + optimizers().front().words + 2;
  const bool beside_norms = op.group.value >= 0 && find_optimizer(plan.spec.optimizer.name).reads_norms;
  double words = update_words(plan);
  if (beside_norms) words -= words_of_norms;
  if (plan.ranks[rank.value].weight_versions > 1) words += version_words(plan.spec);
  // Out of buckets to where the update has them.
  if (plan::sums_by_reducer(plan.spec)) words += copied_words(plan.spec);
  return words;
}

double update_words(const plan::Plan& plan) {
  const OptimizerRow& row = find_optimizer(plan.spec.optimizer.name);
  // A state that is not kept is neither read nor written.
  return row.words - 2 * (row.states - state_count(optimizer_rule(plan.spec)));
}

}  // namespace parabench::analytic
