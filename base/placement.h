// On which hosts the ranks of a launch are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/strong.h"

namespace parabench {

/// Hosts are numbered from 0, in the order of their lowest ranks.
struct Placement {
  std::vector<int> host_of_rank;  ///< empty: all ranks are on one host
  bool operator==(const Placement&) const = default;
};

/// From the host of each rank by name; empty where all are the same.
Placement placement_by_names(std::span<const std::string> host_by_rank);
/// Consecutive ranks on each of so many hosts, the first ones having one more where they do not divide. Empty for one
/// host. Precondition: 1 <= hosts <= ranks.
Placement in_blocks(int ranks, int hosts);

int host_of(const Placement& placement, Rank rank);
int host_count(const Placement& placement);
bool on_one_host(const Placement& placement, Rank a, Rank b);
/// Of `ranks` ranks those on the host of `rank`, itself among them.
int ranks_beside(const Placement& placement, Rank rank, int ranks);
/// The lowest rank of the host that has most of them.
Rank first_on_fullest_host(const Placement& placement);
/// Of `ranks` ranks those on that host: as many compute at once where most do.
int ranks_on_fullest_host(const Placement& placement, int ranks);

/// How the members of a group lie on hosts: what a collective's time depends on besides its bytes.
struct GroupShape {
  int ranks = 1, hosts = 1;
  int most = ranks;  ///< members on the host that has most of them
  auto operator<=>(const GroupShape&) const = default;
};
/// `members` ascend. O(members log members).
GroupShape group_shape(const Placement& placement, std::span<const Rank> members);

/// "2 ranks", "2 ranks on 2 hosts", "5 ranks on 2 hosts, 3 on the fullest".
std::string to_text(const GroupShape& shape);

}  // namespace parabench
