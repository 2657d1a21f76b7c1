// Training on one rank: what every strategy must equal.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/source.h"
#include "models/spec/model.h"
#include "parallelism/exec/arrivals.h"
#include "parallelism/exec/input.h"
#include "parallelism/plan/plan.h"

namespace parabench::exec {

/// Parameters and statistics of all layers, as fp64: [layer][tensor].
struct ReferenceState {
  bool whole_batch = false;  ///< trained on each batch as one piece; else piece after piece
  std::vector<std::vector<torch::Tensor>> initial, parameters;
  /// [i][layer][tensor]: the parameters i + 1 updates before, as many as some rank lacks (updates_missed()).
  std::vector<std::vector<std::vector<torch::Tensor>>> earlier;
  std::vector<std::vector<std::vector<torch::Tensor>>> buffers;  ///< [rank][layer][tensor]
  std::vector<double> losses;                                    ///< mean loss of each step
};

/// How a further reference departs from the first one, which tells what rounding makes of a training (rounding.h).
struct Departure {
  double nudge = 0;  ///< every initial weight is larger or smaller by this share of itself, by turns
  /// Of compress:bf16: sums are rounded at every addition, from this copy's gradients on, around to those before it;
  /// -1: once, when all are added.
  int first_term = -1;
};

/// Trains `steps` steps of the plan's case without lanes, arenas or messages, tensor by tensor with the optimizer's
/// formulas (optimizer/formulas.h).
///   No layer mixes samples: the batch of a step passes through the model as one piece. The reference knows nothing of
///     micro-batches, copies and the weights of pieces, nor of who computes what.
///   Batch norms take the statistics of all copies (sync_bn:on): the same, with `model` as it is before its layers are
///   cut
///     (models/spec/synchronised.h), and with one set of running statistics for all ranks.
///   Some layer mixes samples (batch norm): every replica's every micro-batch of a step passes through the model alone,
///   since
///     what a norm makes of a sample depends on those beside it, and the whole batch would train something else. Each
///     rank has running statistics of its own, of the pieces that it computes; the mean gradient of a piece counts
///     n_piece / N.
///   Copies that train by themselves (local_sgd.h): each by the pieces of its own share, as if it were alone; now and
///     then all take the average of their weights, or the step to it.
///   Gradients that are compressed (compression.h): each replica's by itself, by the pieces of its own share; all of
///   them
///     go through the formulas of compression/formulas.h.
///   Servers that take the gradients that come first (parameter_server.h): each replica's by itself; the update of a
///     stage is by the mean of those that `arrivals` names for it. Who came too late for a step computes nothing in it,
///     nor has it a part in the step's loss. Without `arrivals` all are taken.
/// Each step sees each stage at the version that its strategy's definition names (delay_rules.h), not at the one that
/// the plan claims, and the gradients of an update's steps are summed: PipeDream with weight stashing (SOSP'19) and 2BW
/// (ICML'21) update with a delay. A tied tensor is one tensor, which both layers read. `plan` has at least `steps`
/// steps; the batch is that of its case.
ReferenceState train_reference(const plan::Plan& plan, const models::ModelSpec& model, int steps,
                               std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options,
                               const Departure& departure = {}, const Arrivals& arrivals = {});

/// The same state by the layers of a model with the same tensors in the same order: the plan's, where the reference was
/// trained with others.
ReferenceState by_layers_of(ReferenceState reference, const models::ModelSpec& model);

/// Bytes that train_reference() and the comparison with it need at most: parameters, gradients, the optimizer's states
/// and versions of the whole model in fp64, the replies of the other ranks, a nudged reference's first and last
/// parameters; for the backward of the largest piece what its layers keep, and its outputs, their log-softmax and the
/// gradients of both. Never allocates.
std::int64_t reference_bytes(const plan::Plan& plan, const models::ModelSpec& model);

}  // namespace parabench::exec
