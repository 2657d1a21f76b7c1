#include "base/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counted.h"

namespace parabench {
namespace {

/// Counts by host.
template <class Hosts>
std::map<int, int> counts(const Hosts& hosts) {
  std::map<int, int> count;
  for (const int host : hosts) ++count[host];
  return count;
}

}  // namespace

Placement placement_by_names(std::span<const std::string> host_by_rank) {
  std::map<std::string, int> numbers;
  Placement placement;
  for (const std::string& name : host_by_rank)
    placement.host_of_rank.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  return numbers.size() > 1 ? placement : Placement{};
}

Placement in_blocks(int ranks, int hosts) {
  Placement placement;
  if (hosts == 1) return placement;
  for (int host = 0; host < hosts; ++host)
    placement.host_of_rank.insert(placement.host_of_rank.end(), ranks / hosts + (host < ranks % hosts ? 1 : 0), host);
  return placement;
}

int host_of(const Placement& placement, Rank rank) {
  return placement.host_of_rank.empty() ? 0 : placement.host_of_rank[rank.value];
}

int host_count(const Placement& placement) {
  return placement.host_of_rank.empty() ? 1 : std::ranges::max(placement.host_of_rank) + 1;
}

bool on_one_host(const Placement& placement, Rank a, Rank b) { return host_of(placement, a) == host_of(placement, b); }

int ranks_beside(const Placement& placement, Rank rank, int ranks) {
  if (placement.host_of_rank.empty()) return ranks;
  return static_cast<int>(std::ranges::count(placement.host_of_rank, host_of(placement, rank)));
}

Rank first_on_fullest_host(const Placement& placement) {
  const std::map<int, int> count = counts(placement.host_of_rank);
  if (count.empty()) return Rank(0);
  const int fullest =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;  // the first of them
  return Rank(static_cast<int>(std::ranges::find(placement.host_of_rank, fullest) - placement.host_of_rank.begin()));
}

int ranks_on_fullest_host(const Placement& placement, int ranks) {
  return ranks_beside(placement, first_on_fullest_host(placement), ranks);
}

GroupShape group_shape(const Placement& placement, std::span<const Rank> members) {
  const int ranks = static_cast<int>(members.size());
  if (placement.host_of_rank.empty()) return {.ranks = ranks};
  std::vector<int> hosts;
  for (const Rank member : members) hosts.push_back(host_of(placement, member));
  const std::map<int, int> count = counts(hosts);
  GroupShape shape{.ranks = ranks, .hosts = static_cast<int>(count.size()), .most = 0};
  for (const auto& [host, here] : count) shape.most = std::max(shape.most, here);
  return shape;
}

std::string to_text(const GroupShape& shape) {
  std::string text = counted(shape.ranks, "rank");
  if (shape.hosts > 1) text += fmt::format(" on {} hosts", shape.hosts);
  if (shape.hosts > 1 && shape.most * shape.hosts != shape.ranks)
    text += fmt::format(", {} on the fullest", shape.most);
  return text;
}

}  // namespace parabench
