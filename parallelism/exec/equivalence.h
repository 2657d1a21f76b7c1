// Does a plan train the same network as the reference?
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/arrivals.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/reference.h"
#include "parallelism/exec/rounding.h"

namespace parabench::exec {

/// Fewest samples that give every batch norm of the model 8 values per channel, 2 at least: 2 where it has none. Over
/// fewer, rounding errors of single precision grow about a thousandfold with every step (seen: ResNet-18, 4 samples, 1
/// x 1 maps).
int steady_piece(const models::ModelSpec& model);

/// The plan in fp64 on small pieces (as unequal as the run's own) over a window of `steps` steps: same placement, order
/// and messages, rounds of local steps shortened (shorten_rounds). The smallest piece has 2 samples or more, and as
/// many as give every batch norm 8 values per channel: over 2 values it maps everything to +-1, the gradient of its
/// input vanishes, and rounding would be all that is left to compare.
plan::Plan small_pieces(const plan::Plan& plan, const models::ModelSpec& model, int steps);

/// What every rank ended with, on rank 0: [rank][layer that it holds][tensor], fp64; and who came in time, where
/// arrival decides. Empty on other ranks.
struct Trained {
  std::vector<std::vector<std::vector<torch::Tensor>>> parameters, buffers;
  Arrivals arrivals;
};
/// Executes `plan` (steps already in it) through lanes, arenas and messages. Collective.
Trained train_and_gather(const plan::Plan& plan, const models::ModelSpec& model,
                         std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options,
                         comm::Communicator& comm, Device& device);

struct Difference {
  double update = 0;  ///< max over ranks and parameter tensors of max|dw - dw_ref| / max|dw_ref|
  /// Likewise max|b - b_ref| / max|b_ref| over ranks and running statistics, against the reference's for that rank.
  double buffer = 0;
  std::string worst_parameter;
  int left_out = 0;  ///< tensors and running statistics, of every rank, that differ by what rounding explains
};
/// "updates differ by up to 0.003 (fc.bias (rank 0)), batch-norm statistics by 2e-07": of these only where the model
/// has any.
std::string describe(const Difference& difference, const models::ModelSpec& model);
/// dw: the tensor's change over the whole window, but for what a rank lacks by definition (updates_missed()). Per
/// tensor, so that a small one cannot hide behind a large one. A tensor that is not finite counts as NaN. With
/// `rounding`, what differs by more than `tolerance` but by no more than rounding explains is left out.
Difference compare(const plan::Plan& plan, const models::ModelSpec& model, const Trained& trained,
                   const ReferenceState& reference, const Rounding* rounding = nullptr, double tolerance = 0);

}  // namespace parabench::exec
