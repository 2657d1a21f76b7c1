#include "analytic/memory/peak_memory.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "analytic/memory/allocations.h"
#include "analytic/memory/replay.h"
#include "analytic/memory/resident.h"

namespace parabench::analytic {
namespace {

/// Allocations [first, end) begin, or end, at one instant.
struct Change {
  double time = 0;
  bool begins = false;
  int first = 0, end = 0;
};

bool comes_before(const Change& a, const Change& b) {
  if (a.time != b.time) return a.time < b.time;
  return a.begins != b.begins ? b.begins : a.first < b.first;
}

/// What comes lane by lane is a shuffle of few sequences in order: each change joins the first one that it continues,
/// and these are merged (patience sorting). O(n log sequences), and no worse than O(n log n).
std::vector<Change> sorted(std::span<const Change> changes) {
  constexpr std::size_t most_tried = 8;
  std::vector<std::vector<Change>> piles;
  for (const Change& change : changes) {
    const std::size_t tried = std::min(piles.size(), most_tried);
    const auto joins = [&](const std::vector<Change>& pile) { return !comes_before(change, pile.back()); };
    const auto pile = std::find_if(piles.end() - static_cast<std::ptrdiff_t>(tried), piles.end(), joins);
    (pile == piles.end() ? piles.emplace_back() : *pile).push_back(change);
  }
  std::vector<Change> merged;
  for (; piles.size() > 1; piles.resize((piles.size() + 1) / 2)) {
    for (std::size_t i = 0; i + 1 < piles.size(); i += 2) {
      merged.resize(piles[i].size() + piles[i + 1].size());
      std::ranges::merge(piles[i], piles[i + 1], merged.begin(), comes_before);
      std::swap(piles[i / 2], merged);
    }
    if (piles.size() % 2 == 1) std::swap(piles[piles.size() / 2], piles.back());
  }
  return piles.empty() ? std::vector<Change>{} : std::move(piles.front());
}

/// At one instant what ends is released before what begins is allocated.
std::vector<Change> changes_of(std::span<const Allocation> allocations) {
  std::vector<Change> begins, ends;
  const auto add = [](std::vector<Change>& to, double time, bool begin, int allocation) {
    if (!to.empty() && to.back().time == time) {
      ++to.back().end;
    } else {
      to.push_back({time, begin, allocation, allocation + 1});
    }
  };
  for (int i = 0; i < static_cast<int>(allocations.size()); ++i) {
    add(begins, allocations[i].from, true, i);
    add(ends, allocations[i].until, false, i);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return sorted(begins);
}

/// Categories at the highest sum.
MemoryUsage highest(std::span<const Allocation> allocations, std::span<const Change> changes) {
  MemoryUsage now, peak;
  std::int64_t total = 0, most = 0;
  for (const Change& c : changes) {
    for (const Allocation& a : allocations.subspan(c.first, c.end - c.first)) {
      const std::int64_t bytes = c.begins ? a.bytes : -a.bytes;
      now[a.category] += bytes;
      total += bytes;
      if (total <= most) continue;
      most = total;
      peak = now;
    }
  }
  return peak;
}

bool is_pooled(const Allocation& a) { return a.source != MemorySource::communicator; }

/// What the caching allocator is asked for.
std::vector<Request> requests_of(std::span<const Allocation> allocations, std::span<const Change> changes) {
  std::vector<Request> requests;
  requests.reserve(2 * allocations.size());
  std::vector<int> asked(allocations.size());
  for (const Change& c : changes) {
    for (int i = c.first; i < c.end; ++i) {
      const Allocation& a = allocations[i];
      if (!is_pooled(a)) continue;
      if (c.begins) asked[i] = static_cast<int>(requests.size());
      requests.push_back({a.bytes, static_cast<int>(a.source), c.begins ? Request::none : asked[i]});
    }
  }
  return requests;
}

void add_device(MemoryUsage& usage, const DeviceOverhead& overhead, std::span<const Allocation> allocations,
                std::span<const Change> changes) {
  constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t outside = overhead.context_bytes + overhead.communicator_bytes;
  for (const Allocation& a : allocations) outside += is_pooled(a) ? 0 : a.bytes;
  const std::int64_t limit = overhead.memory_bytes > 0 ? overhead.memory_bytes - outside : unlimited;
  const std::vector<Request> requests = requests_of(allocations, changes);
  auto replayed = replay(requests, limit);
  // What does not fit is told by what it would take.
  if (!replayed) replayed = replay(requests, unlimited);
  usage.reserved = replayed->reserved_peak;
  usage.device_used = usage.reserved + outside;
}

MemoryUsage peak_of(std::span<const Allocation> all, const plan::Plan& plan, const MemoryModel& memory) {
  const std::vector<Change> changes = changes_of(all);
  MemoryUsage peak = highest(all, changes);
  if (plan.spec.device == DeviceKind::cuda) add_device(peak, memory.device_overhead(plan), all, changes);
  return peak;
}

}  // namespace

MemoryUsage peak_memory(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                        const plan::Timeline& timeline, Rank rank) {
  MemoryUsage peak = peak_of(allocations(plan, sizes, memory, timeline, rank), plan, memory);
  peak.resident = resident_bytes(plan, sizes, memory.process_bytes(plan), rank, peak);
  return peak;
}

std::vector<MemoryUsage> peak_memories(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                                       const plan::Timeline& timeline, int ranks) {
  const std::int64_t process_bytes = memory.process_bytes(plan);
  std::vector<MemoryUsage> peaks;
  std::vector<Allocation> before;
  for (Rank rank; rank.value < ranks; ++rank) {
    std::vector<Allocation> all = allocations(plan, sizes, memory, timeline, rank);
    const bool is_twin = !peaks.empty() && all == before;
    peaks.push_back(is_twin ? peaks.back() : peak_of(all, plan, memory));
    peaks.back().resident = resident_bytes(plan, sizes, process_bytes, rank, peaks.back());
    before = std::move(all);
  }
  return peaks;
}

}  // namespace parabench::analytic
