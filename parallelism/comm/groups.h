// Which ranks of a world reduce among themselves.
#pragma once

#include <string>
#include <vector>

#include "base/strong.h"

namespace parabench::comm {

inline constexpr CommGroupId world_group{0};

/// The groups of a world, the same on all of its ranks. Group 0 holds every rank; the declared ones follow as 1, 2, ...
/// They may overlap and coincide: collectives of different groups know nothing of each other.
class RankGroups {
 public:
  /// `declared`: of each group its members in ascending order, at least one. Anything else throws std::invalid_argument
  /// naming the group.
  RankGroups(int ranks, std::vector<std::vector<Rank>> declared = {});

  int ranks() const { return static_cast<int>(groups_.front().size()); }
  /// The world's included.
  int count() const { return static_cast<int>(groups_.size()); }
  bool has(CommGroupId group) const { return group >= world_group && group.value < count(); }
  const std::vector<Rank>& members(CommGroupId group) const { return groups_[group.value]; }
  /// Place of `rank` among the members; -1 when it is none of them. O(log members).
  int position(CommGroupId group, Rank rank) const;

 private:
  std::vector<std::vector<Rank>> groups_;
};

/// "{0, 2}" for messages, "every rank" for group 0.
std::string to_text(const RankGroups& groups, CommGroupId group);

}  // namespace parabench::comm
