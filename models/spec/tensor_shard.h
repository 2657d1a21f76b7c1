// Transformers whose matrix products several ranks divide among themselves.
#pragma once

#include "models/spec/model.h"

namespace parabench::models {

/// The model as each of `ranks` ranks has it that divide pairs of matrix products with an attention or a GELU between
/// them: the first by columns, so that each has some of the heads or of the features, the second by rows, whose
/// products the ranks then sum (Megatron-LM, Shoeybi et al. 2019, arXiv 1909.08053). Whatever else a layer has, each
/// rank has whole: norms, residual sums, embeddings and the head. FLOPs, parameters and saved activations of a rank
/// follow (of a block in 16 bits sbh (10 + 24 / t + 5 a s / (h t)) bytes without dropout's masks). Its forward is not
/// the model's without the sums. Throws usage_error where no layer has such a pair, and for heads or features that
/// `ranks` does not divide.
ModelSpec tensor_shard(const ModelSpec& model, int ranks);

/// Pairs of products in a layer: sums of its output's size in a forward, and in a backward.
int tensor_sums(const LayerSpec& layer);

}  // namespace parabench::models
