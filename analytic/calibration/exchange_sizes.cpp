#include "analytic/calibration/exchange_sizes.h"

#include <algorithm>
#include <set>

#include "analytic/calibration/scope.h"

namespace parabench::analytic {
namespace {

std::vector<std::int64_t> thinned(const std::set<std::int64_t>& sizes) {
  const std::vector<std::int64_t> all(sizes.begin(), sizes.end());
  if (all.size() <= most_exchange_sizes) return all;
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < most_exchange_sizes; ++i)
    some.push_back(all[i * (all.size() - 1) / (most_exchange_sizes - 1)]);
  return some;
}

/// What `bytes` says of each operation of the `wanted` lanes; 0 of those that are not asked for.
template <class Wanted, class BytesOf>
std::vector<std::int64_t> sizes_in(const plan::Plan& plan, Wanted wanted, BytesOf bytes) {
  std::set<std::int64_t> sizes;
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank)
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
      if (!wanted(rank, lane.key)) continue;
      for (const plan::Op& op : lane.ops)
        if (const std::int64_t size = bytes(rank, op); size > 0) sizes.insert(size);
    }
  return thinned(sizes);
}

constexpr std::int64_t element = 4;  // reductions are timed in fp32, and refuse a part of a number

std::int64_t in_whole_elements(std::int64_t bytes) { return bytes / element * element; }

/// Of what is less than a cache line, elements.
std::int64_t in_whole_lines(std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  return bytes < line ? in_whole_elements(bytes) : bytes / line * line;
}

}  // namespace

std::vector<std::int64_t> collective_sizes(const plan::Plan& plan, const Sizes& sizes, plan::OpKind collective,
                                           const GroupShape& shape) {
  const auto is_of_shape = [&](Rank, const plan::LaneKey& lane) {
    return lane.kind == plan::LaneKind::collectives &&
           group_shape(plan.placement, plan.groups[lane.group.value].ranks) == shape;
  };
  const auto curve = share_curves(collective);
  return sizes_in(plan, is_of_shape, [&](Rank rank, const plan::Op& op) {
    return share_curves(op.kind) == curve ? sizes.payload_bytes(plan, rank, op) : 0;
  });
}

std::vector<std::int64_t> message_sizes(const plan::Plan& plan, const Sizes& sizes, bool between_hosts) {
  const auto is_between = [&](Rank rank, const plan::LaneKey& lane) {
    return lane.kind == plan::LaneKind::send && on_one_host(plan.placement, rank, lane.peer) != between_hosts;
  };
  return sizes_in(plan, is_between, [&](Rank rank, const plan::Op& op) { return sizes.payload_bytes(plan, rank, op); });
}

std::vector<std::int64_t> timed_sizes(ExchangesOf whose, std::int64_t smallest, std::int64_t largest,
                                      const std::vector<std::int64_t>& own) {
  constexpr int factor = 8;
  const bool of_any = whose == ExchangesOf::any_plan;
  const std::int64_t last = in_whole_lines(largest);
  std::set<std::int64_t> sizes = {std::min(smallest, last)};
  if (of_any)
    for (std::int64_t bytes = smallest; bytes < last; bytes *= factor) sizes.insert(bytes);
  if (own.empty() || (of_any && own.back() < last)) sizes.insert(last);
  for (const std::int64_t bytes : own) sizes.insert(std::max(element, in_whole_elements(std::min(bytes, largest))));
  return {sizes.begin(), sizes.end()};
}

}  // namespace parabench::analytic
