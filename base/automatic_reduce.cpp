#include "base/automatic_reduce.h"

#include <algorithm>
#include <bit>

namespace parabench {

int ring_rounds(int members, bool whole) { return (whole ? 2 : 1) * (members - 1); }

int halving_doubling_rounds(int members, bool whole) {
  const auto p = static_cast<unsigned>(members);
  return (whole ? 2 : 1) * (std::bit_width(p) - 1) + (std::has_single_bit(p) ? 0 : 2);
}

std::int64_t bytes_for_rounds(int spared) { return std::max(0, spared) * (std::int64_t{32} << 10); }

int hierarchical_rounds(const GroupShape& shape, bool whole) {
  return (whole ? 2 : 1) * (shape.most - 1 + shape.hosts - 1);
}

ReduceKind automatic_reduce(const GroupShape& shape) {
  if (shape.hosts > 1 && shape.most > 1) return ReduceKind::hierarchical;
  return std::has_single_bit(static_cast<unsigned>(shape.ranks)) ? ReduceKind::halving_doubling : ReduceKind::ring;
}

std::int64_t halving_doubling_bytes(const GroupShape& shape, bool whole) {
  const ReduceKind large = automatic_reduce(shape);
  if (large == ReduceKind::halving_doubling) return 0;
  const int few = halving_doubling_rounds(shape.ranks, whole);
  const bool in_steps = large == ReduceKind::hierarchical;
  return bytes_for_rounds((in_steps ? hierarchical_rounds(shape, whole) : ring_rounds(shape.ranks, whole)) - few);
}

ReduceKind automatic_reduce(const GroupShape& shape, bool whole, std::int64_t bytes) {
  return bytes <= halving_doubling_bytes(shape, whole) ? ReduceKind::halving_doubling : automatic_reduce(shape);
}

}  // namespace parabench
