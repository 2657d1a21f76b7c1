#include "parallelism/plan/input_pieces.h"

#include <algorithm>
#include <set>

namespace parabench::plan {
namespace {

/// The pieces of the rank's forwards of a segment, in their order.
std::vector<InputPiece> pieces_through(const Plan& plan, Rank rank, SegmentId segment) {
  std::vector<InputPiece> pieces;
  const ReplicaId replica = replica_of(plan, rank, segment);
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind == OpKind::forward && op.segment == segment) pieces.push_back({op.step, replica, op.micro_batch});
  }
  return pieces;
}

}  // namespace

InputPieces input_pieces(const Plan& plan, Rank rank) {
  InputPieces pieces{pieces_through(plan, rank, SegmentId(0)), pieces_through(plan, rank, last_segment(plan))};
  const std::set<InputPiece> with_images(pieces.images.begin(), pieces.images.end());
  std::erase_if(pieces.labels, [&](const InputPiece& piece) { return with_images.contains(piece); });
  return pieces;
}

int samples_of(const Plan& plan, const InputPiece& piece) { return samples_of(plan, piece.replica, piece.micro_batch); }

int most_samples(const Plan& plan, const std::vector<InputPiece>& pieces) {
  int most = 0;
  for (const InputPiece& piece : pieces) most = std::max(most, samples_of(plan, piece));
  return most;
}

std::int64_t first_position(const Plan& plan, const InputPiece& piece) {
  const std::int64_t step = plan.spec.input == InputKind::resident ? 0 : piece.step.value;
  return step * batch_samples(plan) + piece_offset(plan, piece.replica, piece.micro_batch);
}

std::vector<InputPiece> resident_pieces(const std::vector<InputPiece>& pieces) {
  std::set<InputPiece> kept;
  for (const InputPiece& piece : pieces) kept.insert({StepId(0), piece.replica, piece.micro_batch});
  return {kept.begin(), kept.end()};
}

}  // namespace parabench::plan
