#include "parallelism/comm/algorithms/transfers.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/automatic_reduce.h"
#include "parallelism/comm/algorithms/double_tree.h"
#include "parallelism/comm/algorithms/halving_doubling.h"
#include "parallelism/comm/algorithms/hierarchical.h"
#include "parallelism/comm/algorithms/ring.h"

namespace parabench::comm {
namespace {

Transfers ring(CollectiveKind kind, const Shares& shares, int position) {
  const int members = shares.members();
  Ring circle{{}, std::vector<std::vector<Share>>(members), position};
  for (int i = 0; i < members; ++i) {
    circle.members.push_back(i);
    if (shares.of(i).bytes() > 0) circle.parts[i].push_back(shares.of(i));
  }
  Transfers transfers;
  if (kind != CollectiveKind::all_gather) add_ring_reduce_scatter(transfers, circle, 0);
  const int scatter = kind == CollectiveKind::all_gather ? 0 : members - 1;
  if (kind != CollectiveKind::reduce_scatter) add_ring_all_gather(transfers, circle, scatter);
  return transfers;
}

Transfers unsorted(Algorithm algorithm, CollectiveKind kind, const Shares& shares, std::span<const int> hosts,
                   int position) {
  switch (algorithm) {
    case Algorithm::ring: return ring(kind, shares, position);
    case Algorithm::halving_doubling: return halving_doubling(kind, shares, position);
    case Algorithm::double_tree:
      if (kind != CollectiveKind::all_reduce) return ring(kind, shares, position);
      return double_tree(shares.bytes(), shares.members(), position);
    case Algorithm::hierarchical: return hierarchical(kind, shares, hosts, position);
  }
  return {};
}

}  // namespace

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring: return "ring";
    case Algorithm::halving_doubling: return "halving-doubling";
    case Algorithm::double_tree: return "double-tree";
    case Algorithm::hierarchical: return "hierarchical";
  }
  return "";
}

Transfers transfers_of(Algorithm algorithm, CollectiveKind kind, const Shares& shares, std::span<const int> hosts,
                       int position) {
  if (kind == CollectiveKind::broadcast) return {};
  const bool whole = kind == CollectiveKind::all_reduce;
  const Shares even = whole ? Shares::even(shares.bytes(), static_cast<int>(hosts.size())) : Shares();
  Transfers transfers = unsorted(algorithm, kind, whole ? even : shares, hosts, position);
  // Stable: both ends of a lane list the messages of one round in the same order.
  std::ranges::stable_sort(transfers, {}, [](const Transfer& transfer) {
    return std::pair(transfer.round, transfer.kind != Transfer::Kind::send);
  });
  return transfers;
}

int rounds_of(Algorithm algorithm, CollectiveKind kind, std::span<const int> hosts) {
  const int members = static_cast<int>(hosts.size());
  if (members <= 1 || kind == CollectiveKind::broadcast) return 0;
  const bool whole = kind == CollectiveKind::all_reduce;
  switch (algorithm) {
    case Algorithm::ring: return ring_rounds(members, whole);
    case Algorithm::halving_doubling: return halving_doubling_rounds(members, whole);
    case Algorithm::double_tree:
      return whole ? 2 * std::bit_width(static_cast<unsigned>(members - 1)) : ring_rounds(members, whole);
    case Algorithm::hierarchical: {
      const HostCounts counts = count_hosts(hosts);
      return hierarchical_rounds({.ranks = members, .hosts = counts.hosts, .most = counts.fullest}, whole);
    }
  }
  return 0;
}

Traffic traffic_of(const Transfers& transfers) {
  Traffic traffic;
  for (const Transfer& transfer : transfers) {
    (transfer.kind == Transfer::Kind::send ? traffic.sent : traffic.received) += transfer.part.bytes();
  }
  return traffic;
}

}  // namespace parabench::comm
