#include "parallelism/comm/algorithms/hierarchical.h"

#include <algorithm>
#include <map>

#include "parallelism/comm/algorithms/ring.h"

namespace parabench::comm {
namespace {

/// By host, in the order of their first members: the positions of its members.
std::vector<std::vector<int>> members_by_host(std::span<const int> hosts) {
  std::map<int, int> index;
  std::vector<std::vector<int>> members;
  for (int position = 0; position < std::ssize(hosts); ++position) {
    const auto [found, fresh] = index.try_emplace(hosts[position], static_cast<int>(members.size()));
    if (fresh) members.emplace_back();
    members[found->second].push_back(position);
  }
  return members;
}

void add_part(std::vector<Share>& parts, Share part) {
  if (part.bytes() == 0) return;
  if (!parts.empty() && parts.back().end == part.begin) {
    parts.back().end = part.end;
  } else {
    parts.push_back(part);
  }
}

class Places {
 public:
  Places(std::span<const int> hosts, int position) : members_(members_by_host(hosts)) {
    for (const auto& members : members_) lanes_ = std::max(lanes_, static_cast<int>(members.size()));
    for (int host = 0; host < host_count(); ++host) {
      const auto found = std::ranges::find(members_[host], position);
      if (found == members_[host].end()) continue;
      host_ = host;
      place_ = static_cast<int>(found - members_[host].begin());
    }
  }

  int host_count() const { return static_cast<int>(members_.size()); }
  int lanes() const { return lanes_; }
  int size(int host) const { return static_cast<int>(members_[host].size()); }
  int member(int host, int place) const { return members_[host][place]; }
  bool stands_in(int lane) const { return lane % size(host_) == place_; }

  /// Whoever has bytes of its own in the lane.
  bool owns(int host, int lane) const { return lane < size(host); }

  /// The ring on this host: each member is to own what its lanes hold.
  Ring on_host(const std::vector<Share>& parts) const {
    Ring ring{members_[host_], std::vector<std::vector<Share>>(size(host_)), place_};
    for (int lane = 0; lane < lanes_; ++lane) {
      for (int host = 0; host < host_count(); ++host) {
        if (owns(host, lane)) add_part(ring.parts[lane % size(host_)], parts[member(host, lane)]);
      }
    }
    return ring;
  }

  /// The ring of the hosts in one lane.
  Ring between_hosts(const std::vector<Share>& parts, int lane) const {
    Ring ring{{}, std::vector<std::vector<Share>>(host_count()), host_};
    for (int host = 0; host < host_count(); ++host) {
      ring.members.push_back(member(host, lane % size(host)));
      if (owns(host, lane)) add_part(ring.parts[host], parts[member(host, lane)]);
    }
    return ring;
  }

  /// By position, even parts for an all_reduce, those of a lane side by side.
  std::vector<Share> even_parts(std::int64_t bytes, int all) const {
    std::vector<Share> parts(all);
    int next = 0;
    for (int lane = 0; lane < lanes_; ++lane) {
      for (int host = 0; host < host_count(); ++host) {
        if (owns(host, lane)) parts[member(host, lane)] = share_of(bytes, all, next++);
      }
    }
    return parts;
  }

 private:
  std::vector<std::vector<int>> members_;
  int lanes_ = 0, host_ = 0, place_ = 0;
};

}  // namespace

Transfers hierarchical(CollectiveKind kind, const Shares& shares, std::span<const int> hosts, int position) {
  const Places places(hosts, position);
  const int all = static_cast<int>(hosts.size());
  std::vector<Share> parts;
  if (kind == CollectiveKind::all_reduce) parts = places.even_parts(shares.bytes(), all);
  for (int i = static_cast<int>(parts.size()); i < all; ++i) parts.push_back(shares.of(i));

  Transfers transfers;
  int round = 0;
  const int on_host = places.lanes() - 1, between_hosts = places.host_count() - 1;
  if (kind != CollectiveKind::all_gather) {
    add_ring_reduce_scatter(transfers, places.on_host(parts), round);
    round += on_host;
    for (int lane = 0; lane < places.lanes(); ++lane) {
      if (places.stands_in(lane)) add_ring_reduce_scatter(transfers, places.between_hosts(parts, lane), round);
    }
    round += between_hosts;
  }
  if (kind != CollectiveKind::reduce_scatter) {
    for (int lane = 0; lane < places.lanes(); ++lane) {
      if (places.stands_in(lane)) add_ring_all_gather(transfers, places.between_hosts(parts, lane), round);
    }
    round += between_hosts;
    add_ring_all_gather(transfers, places.on_host(parts), round);
  }
  return transfers;
}

HostCounts count_hosts(std::span<const int> hosts) {
  HostCounts counts;
  for (const auto& members : members_by_host(hosts)) {
    ++counts.hosts;
    counts.fullest = std::max(counts.fullest, static_cast<int>(members.size()));
  }
  return counts;
}

}  // namespace parabench::comm
