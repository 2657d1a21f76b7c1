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
/// `wanted` is not window. `automatic` takes hierarchical where hosts have several members, and there are several,
/// since only there fewer bytes cross; else what automatic_reduce.h says; and halving_doubling in place of both where
/// the rounds that it spares are worth more than `bytes` (bytes_for_rounds). It never takes double_tree, whose rounds
/// are those of halving_doubling, and whose members with children send up to half as much again.
std::optional<Algorithm> algorithm_for(ReduceKind wanted, CollectiveKind kind, std::int64_t bytes,
                                       std::span<const int> hosts);

/// What becomes of all_reduces between such members, for records: "ring", "hierarchical, halving-doubling up to 65536
/// bytes", "library".
std::string reduction_text(ReduceKind wanted, std::span<const int> hosts);

}  // namespace parabench::comm
