// Tensors that skip segments: which a plan has, and between which ranks they go.
#pragma once

#include <span>
#include <vector>

#include "models/spec/model.h"
#include "parallelism/plan/owners.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// The ports of a model cut into segments, by tensor and the segment that takes it; a skip within a segment needs none.
/// SkipPort::tensor: an index into skips(model), as tensors_of() says. Throws usage_error for more than most_ports.
std::vector<SkipPort> skip_ports(std::span<const Segment> segments, const models::ModelSpec& model);

/// The segment that a layer belongs to.
SegmentId segment_of(std::span<const Segment> segments, int layer);

/// Of each segment the ports that leave it and those that enter it, ascending.
struct PortsOfSegments {
  explicit PortsOfSegments(const Plan& plan);
  std::vector<std::vector<int>> leaving, entering;
};

/// The port before `port` that leads the same tensor; 0 where there is none.
int earlier_port(std::span<const SkipPort> skips, int port);

/// Who sends a skip to whom. A tensor goes once to each other rank that takes it, straight from the rank that makes it,
/// under the first of its ports that ends there; and from there, once the gradients of all segments that take it there
/// are added up, its gradient comes straight back.
class SkipMessages {
 public:
  SkipMessages(const Plan& plan, const PieceOwners& owners) : plan_(plan), owners_(owners), ports_(plan) {}
  /// What rank `r` sends when it has run `pass`, in the order of the ports. O(ports of the pass).
  std::vector<Op> sends_after(Rank r, const Op& pass) const;

 private:
  /// Of a pass's piece where it passes another segment; the rank itself where nobody computes it there.
  Rank owner(Rank r, const Op& pass, SegmentId segment) const;
  bool is_first_on(Rank taker, Rank r, const Op& pass, int port) const;

  const Plan& plan_;
  const PieceOwners& owners_;
  PortsOfSegments ports_;
};

/// The rank that computes the piece of `pass`, run by rank `r`, on another segment; -1 if none does.
Rank owner_of(const Plan& plan, const PieceOwners& owners, Rank r, const Op& pass, SegmentId segment);

}  // namespace parabench::plan
