// What reduce:auto takes between ranks that share no memory: one rule for those who send and for those who predict.
#pragma once

#include <cstdint>

#include "base/case.h"
#include "base/placement.h"

namespace parabench {

/// Messages that come one after the other in the longest chain, of a reduce_scatter or an all_gather among p members;
/// `whole`: of an all_reduce. Around a ring p - 1, whole 2 (p - 1).
int ring_rounds(int members, bool whole);
/// By recursive halving and doubling k, whole 2 k, with 2^k the largest power of two in p; 2 more where p is none.
int halving_doubling_rounds(int members, bool whole);

/// Bytes on the wire that so many rounds fewer are held to be worth: 32 KiB each (30 us at 10 Gbit/s, 260 us at 1
/// Gbit/s); 0 for less than none.
std::int64_t bytes_for_rounds(int spared);

/// By rings within hosts, then between them: (g - 1) + (m - 1), whole twice as many, on m hosts with up to g members.
int hierarchical_rounds(const GroupShape& shape, bool whole);

/// For large buffers in groups of this shape: hierarchical where hosts have several members, and there are several,
/// since only there fewer bytes cross. Members that are all as far from each other, each on a host of its own or all on
/// one: halving_doubling where they are a power of two, which has the fewest rounds and the fewest bytes; else ring,
/// which spares the bytes of pairs that act as one.
ReduceKind automatic_reduce(const GroupShape& shape);
/// Up to so many bytes halving_doubling takes the place of that: the rounds that it spares are worth more. 0 where it
/// is that already.
std::int64_t halving_doubling_bytes(const GroupShape& shape, bool whole);
/// The one of the two for `bytes`.
ReduceKind automatic_reduce(const GroupShape& shape, bool whole, std::int64_t bytes);

}  // namespace parabench
