// The losses that a measured launch has to reach.
#pragma once

#include <vector>

#include "models/spec/model.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Of the first steps of training `model` on one rank as the launch's case says (parallelism/exec/reference.h), up to
/// the first loss that rounding decides. Of three batches; of two where batch norms see few values per channel; of one
/// where arrival decides what an update is made of, which comes before all updates.
std::vector<double> reference_losses(const Launch& launch, const models::ModelSpec& model);

/// The first of `losses`, and those after it up to one that rounding decides: three times its difference from `nudged`,
/// the losses of weights that were each rounded once more, is beyond `tolerance` of it.
std::vector<double> decided_losses(std::vector<double> losses, const std::vector<double>& nudged, double tolerance);

}  // namespace parabench::rank
