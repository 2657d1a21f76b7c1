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

ReduceKind automatic_reduce(int members) {
  return std::has_single_bit(static_cast<unsigned>(members)) ? ReduceKind::halving_doubling : ReduceKind::ring;
}

ReduceKind automatic_reduce(int members, bool whole, std::int64_t bytes) {
  const int spared = ring_rounds(members, whole) - halving_doubling_rounds(members, whole);
  return bytes <= bytes_for_rounds(spared) ? ReduceKind::halving_doubling : automatic_reduce(members);
}

}  // namespace parabench
