#include "analytic/memory/peak_memory.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "analytic/memory/allocations.h"
#include "analytic/memory/caching_allocator.h"

namespace parabench::analytic {
namespace {

/// The begin or the end of an allocation.
struct Change {
  double time;
  bool begins;
  int allocation;
};

/// At one instant what ends is released before what begins is allocated.
std::vector<Change> changes_of(std::span<const Allocation> allocations) {
  std::vector<Change> changes;
  changes.reserve(2 * allocations.size());
  for (int i = 0; i < static_cast<int>(allocations.size()); ++i) {
    changes.push_back({allocations[i].from, true, i});
    changes.push_back({allocations[i].until, false, i});
  }
  std::ranges::sort(changes, {}, [](const Change& c) { return std::tuple(c.time, c.begins, c.allocation); });
  return changes;
}

/// Categories at the highest sum.
MemoryUsage highest(std::span<const Allocation> allocations, std::span<const Change> changes) {
  MemoryUsage now, peak;
  std::int64_t total = 0, most = 0;
  for (const Change& c : changes) {
    const Allocation& a = allocations[c.allocation];
    const std::int64_t bytes = c.begins ? a.bytes : -a.bytes;
    now[a.category] += bytes;
    total += bytes;
    if (total > most) {
      most = total;
      peak = now;
    }
  }
  return peak;
}

bool is_pooled(const Allocation& a) { return a.source != MemorySource::communicator; }

/// Most that the caching allocator reserves of `limit` bytes; nullopt where they do not suffice.
std::optional<std::int64_t> reserved_within(std::int64_t limit, std::span<const Allocation> allocations,
                                            std::span<const Change> changes) {
  CachingAllocator allocator(limit);
  std::vector<std::int64_t> addresses(allocations.size());
  for (const Change& c : changes) {
    const Allocation& a = allocations[c.allocation];
    if (!is_pooled(a)) continue;
    if (!c.begins) {
      allocator.free(addresses[c.allocation]);
      continue;
    }
    const auto block = allocator.allocate(a.bytes, static_cast<int>(a.source));
    if (!block) return std::nullopt;
    addresses[c.allocation] = block->address;
  }
  return allocator.usage().reserved_peak;
}

void add_device(MemoryUsage& usage, const DeviceOverhead& overhead, std::span<const Allocation> allocations,
                std::span<const Change> changes) {
  constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t outside = overhead.context_bytes + overhead.communicator_bytes;
  for (const Allocation& a : allocations) outside += is_pooled(a) ? 0 : a.bytes;
  const std::int64_t limit = overhead.memory_bytes > 0 ? overhead.memory_bytes - outside : unlimited;
  auto reserved = reserved_within(limit, allocations, changes);
  // What does not fit is told by what it would take.
  if (!reserved) reserved = reserved_within(unlimited, allocations, changes);
  usage.reserved = *reserved;
  usage.device_used = usage.reserved + outside;
}

}  // namespace

MemoryUsage peak_memory(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                        const plan::Timeline& timeline, Rank rank) {
  const std::vector<Allocation> all = allocations(plan, sizes, memory, timeline, rank);
  const std::vector<Change> changes = changes_of(all);
  MemoryUsage peak = highest(all, changes);
  if (plan.spec.device == DeviceKind::cuda) add_device(peak, memory.device_overhead(plan), all, changes);
  return peak;
}

}  // namespace parabench::analytic
