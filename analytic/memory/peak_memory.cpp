#include "analytic/memory/peak_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "analytic/memory/allocations.h"
#include "analytic/memory/replay.h"

namespace parabench::analytic {
namespace {

/// Allocations [first, end) begin, or end, at one instant.
struct Change {
  double time = 0;
  bool begins = false;
  int first = 0, end = 0;
};

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
  std::ranges::sort(begins, [](const Change& a, const Change& b) {
    if (a.time != b.time) return a.time < b.time;
    return a.begins != b.begins ? b.begins : a.first < b.first;
  });
  return begins;
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

/// Requests of a step, if every step has as many.
std::size_t period_of(std::span<const Allocation> allocations, int steps) {
  const std::ptrdiff_t passing = std::ranges::count_if(
      allocations, [](const Allocation& a) { return is_pooled(a) && std::isfinite(a.from) && std::isfinite(a.until); });
  return passing % steps == 0 ? 2 * passing / steps : 0;
}

void add_device(MemoryUsage& usage, const DeviceOverhead& overhead, std::span<const Allocation> allocations,
                std::span<const Change> changes, int steps) {
  constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t outside = overhead.context_bytes + overhead.communicator_bytes;
  for (const Allocation& a : allocations) outside += is_pooled(a) ? 0 : a.bytes;
  const std::int64_t limit = overhead.memory_bytes > 0 ? overhead.memory_bytes - outside : unlimited;
  const std::vector<Request> requests = requests_of(allocations, changes);
  const std::size_t period = period_of(allocations, steps);
  auto replayed = replay(requests, limit, period);
  // What does not fit is told by what it would take.
  if (!replayed) replayed = replay(requests, unlimited, period);
  usage.reserved = replayed->reserved_peak;
  usage.device_used = usage.reserved + outside;
}

}  // namespace

MemoryUsage peak_memory(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                        const plan::Timeline& timeline, Rank rank) {
  const std::vector<Allocation> all = allocations(plan, sizes, memory, timeline, rank);
  const std::vector<Change> changes = changes_of(all);
  MemoryUsage peak = highest(all, changes);
  if (plan.spec.device == DeviceKind::cuda) add_device(peak, memory.device_overhead(plan), all, changes, plan.steps);
  return peak;
}

}  // namespace parabench::analytic
