// Which algorithm a collective takes between ranks that share no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/case.h"
#include "parallelism/comm/algorithms/transfers.h"

namespace parabench::comm {

/// The algorithm for `bytes` between members on these hosts, where ranks send messages; nullopt for the library's own.
/// `wanted` is not window. `automatic` holds a round to be worth as much as 32 KiB on the wire (30 us at 10 Gbit/s,
/// 260 us at 1 Gbit/s), and then takes
///  - hierarchical where hosts have several members, and there are several, since only there fewer bytes cross;
///  - else halving_doubling where the members are a power of two, which has the fewest rounds and the fewest bytes;
///  - else ring, which spares the bytes of pairs that act as one;
///  - halving_doubling in place of the first and the last where the rounds that it spares are worth more than `bytes`.
/// It never takes double_tree, whose rounds are those of halving_doubling, and whose members with children send up to
/// half as much again.
std::optional<Algorithm> algorithm_for(ReduceKind wanted, CollectiveKind kind, std::int64_t bytes,
                                       std::span<const int> hosts);

/// What becomes of all_reduces between such members, for records: "ring", "hierarchical, halving-doubling up to 65536
/// bytes", "library".
std::string reduction_text(ReduceKind wanted, std::span<const int> hosts);

}  // namespace parabench::comm
