#include "parallelism/comm/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace parabench::comm {
namespace {

std::string list(const std::vector<Rank>& members) {
  std::string text;
  for (const Rank rank : members) text += fmt::format("{}{}", text.empty() ? "" : ", ", rank.value);
  return "{" + text + "}";
}

}  // namespace

RankGroups::RankGroups(int ranks, std::vector<std::vector<Rank>> declared) {
  std::vector<Rank>& world = groups_.emplace_back();
  for (int r = 0; r < ranks; ++r) world.emplace_back(r);
  for (std::vector<Rank>& members : declared) {
    const bool ascending = std::ranges::adjacent_find(members, std::greater_equal<>()) == members.end();
    if (members.empty() || !ascending || members.front() < Rank(0) || members.back() >= Rank(ranks)) {
      throw std::invalid_argument(
          fmt::format("group {} {}: expected one or more of the ranks 0 to {}, in ascending order", count(),
                      list(members), ranks - 1));
    }
    groups_.push_back(std::move(members));
  }
}

int RankGroups::position(CommGroupId group, Rank rank) const {
  const std::vector<Rank>& all = members(group);
  const auto found = std::ranges::lower_bound(all, rank);
  return found != all.end() && *found == rank ? static_cast<int>(found - all.begin()) : -1;
}

std::string to_text(const RankGroups& groups, CommGroupId group) {
  return group == world_group ? "every rank" : list(groups.members(group));
}

}  // namespace parabench::comm
