// What another product needs to train the same: network, first weights and batches, as files.
#pragma once

#include "suite/protocol/reply.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Batches that another product gets.
inline constexpr int hand_over_steps = 3;

/// Writes into the reply folder, numbers as this machine keeps them (little-endian), one behind the other:
///   weights.bin  the first values of all parameters, in the order of work.json, in the precision's master type
///   samples.bin  the values of the samples of the first hand_over_steps batches: fp32, or int64 for tokens
///   labels.bin   their labels, int64
///   work.json    {"plan_hash", "parameters": the case, "model" (model_json.h), "stages": [{"rank", "first_layer",
///                "layers"}], "pieces": [[samples of each micro-batch] of each replica], "steps": batches,
///                "sample", "labels": dims of one of each, "sample_type", "weight_type": float32, float64 or int64}
/// Answers with the losses of training on them on one rank (reference_losses.h); with all cores.
protocol::HandOver hand_over(const Launch& launch);

}  // namespace parabench::rank
