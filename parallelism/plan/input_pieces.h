// The pieces of the batches that a rank reads, and which samples each of them holds.
#pragma once

#include <cstdint>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// A micro-batch of one replica in one step.
struct InputPiece {
  StepId step;
  ReplicaId replica;
  MicroBatchId micro_batch;
  auto operator<=>(const InputPiece&) const = default;
};

/// What a rank reads over the plan's window, in the order of its forwards: the images, with their labels, of the pieces
/// whose first segment it computes, and labels alone of those whose last segment it computes besides.
struct InputPieces {
  std::vector<InputPiece> images, labels;
};
/// O(operations, times the logarithm of pieces).
InputPieces input_pieces(const Plan& plan, Rank rank);

int samples_of(const Plan& plan, const InputPiece& piece);
/// The largest of them, 0 where there are none.
int most_samples(const Plan& plan, const std::vector<InputPiece>& pieces);
/// Position in the training stream (order.h of datasets) of a piece's first sample. With input:resident every step
/// counts as step 0.
std::int64_t first_position(const Plan& plan, const InputPiece& piece);
/// The pieces as those of step 0, each once, in order: what input:resident keeps on the device.
std::vector<InputPiece> resident_pieces(const std::vector<InputPiece>& pieces);

/// Pieces on their way to a GPU at a time: one is copied there while the one before is read.
inline constexpr int upload_slots = 2;

}  // namespace parabench::plan
