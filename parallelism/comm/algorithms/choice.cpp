#include "parallelism/comm/algorithms/choice.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/automatic_reduce.h"
#include "parallelism/comm/algorithms/hierarchical.h"

namespace parabench::comm {
namespace {

Algorithm for_large(std::span<const int> hosts) {
  const HostCounts counts = count_hosts(hosts);
  if (counts.hosts > 1 && counts.fullest > 1) return Algorithm::hierarchical;
  return automatic_reduce(static_cast<int>(hosts.size())) == ReduceKind::ring ? Algorithm::ring
                                                                              : Algorithm::halving_doubling;
}

/// Up to so many bytes, halving_doubling takes the place of the one for large buffers.
std::int64_t small_bytes(CollectiveKind kind, std::span<const int> hosts) {
  return bytes_for_rounds(rounds_of(for_large(hosts), kind, hosts) -
                          rounds_of(Algorithm::halving_doubling, kind, hosts));
}

}  // namespace

std::optional<Algorithm> algorithm_for(ReduceKind wanted, CollectiveKind kind, std::int64_t bytes,
                                       std::span<const int> hosts) {
  switch (wanted) {
    case ReduceKind::automatic:
      return bytes <= small_bytes(kind, hosts) ? Algorithm::halving_doubling : for_large(hosts);
    case ReduceKind::ring: return Algorithm::ring;
    case ReduceKind::halving_doubling: return Algorithm::halving_doubling;
    case ReduceKind::double_tree: return Algorithm::double_tree;
    case ReduceKind::hierarchical: return Algorithm::hierarchical;
    case ReduceKind::library: return std::nullopt;
    case ReduceKind::window: break;
  }
  throw std::logic_error("ranks that share no memory have no window");
}

std::string reduction_text(ReduceKind wanted, std::span<const int> hosts) {
  constexpr CollectiveKind kind = CollectiveKind::all_reduce;
  const std::int64_t small = wanted == ReduceKind::automatic ? small_bytes(kind, hosts) : 0;
  const std::optional<Algorithm> large = algorithm_for(wanted, kind, small + 1, hosts);
  std::string text(large ? name(*large) : "library");
  if (small > 0) text += fmt::format(", {} up to {} bytes", name(Algorithm::halving_doubling), small);
  return text;
}

}  // namespace parabench::comm
