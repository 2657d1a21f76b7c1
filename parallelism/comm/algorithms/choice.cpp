#include "parallelism/comm/algorithms/choice.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/automatic_reduce.h"
#include "parallelism/comm/algorithms/hierarchical.h"

namespace parabench::comm {
namespace {

GroupShape shape_of(std::span<const int> hosts) {
  const HostCounts counts = count_hosts(hosts);
  return {.ranks = static_cast<int>(hosts.size()), .hosts = counts.hosts, .most = counts.fullest};
}

}  // namespace

std::optional<Algorithm> algorithm_for(ReduceKind wanted, CollectiveKind kind, std::int64_t bytes,
                                       std::span<const int> hosts) {
  switch (wanted) {
    case ReduceKind::automatic:
      return algorithm_for(automatic_reduce(shape_of(hosts), kind == CollectiveKind::all_reduce, bytes), kind, bytes,
                           hosts);
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
  const std::int64_t small =
      wanted == ReduceKind::automatic ? halving_doubling_bytes(shape_of(hosts), /*whole=*/true) : 0;
  const std::optional<Algorithm> large = algorithm_for(wanted, kind, small + 1, hosts);
  std::string text(large ? name(*large) : "library");
  if (small > 0) text += fmt::format(", {} up to {} bytes", name(Algorithm::halving_doubling), small);
  return text;
}

}  // namespace parabench::comm
