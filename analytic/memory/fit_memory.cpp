#include "analytic/memory/fit_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/simulate.h"
#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/passes/passes.h"

namespace parabench::analytic {
namespace {

/// A choice of segments and what it leads to.
class Fit {
 public:
  Fit(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory, Bytes limit,
      int steps, int ranks_of_each)
      : plan_(plan),
        sizes_(sizes),
        time_(time),
        memory_(memory),
        limit_(limit.value),
        steps_(plan.steps),
        most_steps_(std::max(plan.steps, steps)),
        ranks_of_each_(ranks_of_each),
        chosen_(plan.segments.size()) {}

  plan::Plan run() {
    add_until_all_fit();
    for (const SegmentId s : slowest_first()) {
      chosen_[s.value] = false;
      if (first_over().value >= 0) chosen_[s.value] = true;
    }
    // Ranks that run ahead into the next step may hold more than in a step alone, which is quicker to simulate.
    steps_ = most_steps_;
    add_until_all_fit();
    return plan::add_recompute(plan_, chosen_);
  }

 private:
  struct Gain {
    double bytes = 0, seconds = 0;
  };

  /// Of the segment's first forward on the rank: its output stays, for whoever comes next, and so do its skips.
  Gain gain(Rank rank, SegmentId segment) const {
    const auto& ops = plan_.ranks[rank.value].compute();
    const auto first = std::ranges::find_if(
        ops, [&](const plan::Op& op) { return op.kind == plan::OpKind::forward && op.segment == segment; });
    if (first == ops.end()) return {};
    std::int64_t freed = memory_.saved_bytes(plan_, rank, *first) - sizes_.output_bytes(plan_, rank, *first);
    for (const plan::SkipPort& skip : plan_.skips) {
      if (skip.from == segment && sizes_.skip_memory(plan_, segment, skip.tensor) == Sizes::SkipMemory::own)
        freed -= sizes_.skip_bytes(plan_, rank, *first, skip.tensor);
    }
    return {static_cast<double>(freed), time_.seconds(plan_, rank, *first, plan_.spec.np)};
  }

  void add_until_all_fit() {
    for (Rank over = first_over(); over.value >= 0; over = first_over()) add_best(over);
  }

  void add_best(Rank rank) {
    SegmentId best(-1);
    double most = 0;
    for (const SegmentId s : plan::segments_held(plan_, rank)) {
      const auto [bytes, seconds] = gain(rank, s);
      if (chosen_[s.value] || bytes <= most * seconds) continue;
      best = s;
      most = seconds > 0 ? bytes / seconds : bytes;
    }
    if (best.value >= 0) {
      chosen_[best.value] = true;
      return;
    }
    // How long messages wait, and so what a rank holds, depends on the other ranks too.
    chosen_.assign(chosen_.size(), true);
    steps_ = most_steps_;
    const std::vector<std::int64_t> bytes = rank_bytes();
    const auto busiest = std::ranges::max_element(bytes);
    if (*busiest > limit_) throw_too_large(Rank(static_cast<int>(busiest - bytes.begin())), *busiest);
  }

  std::vector<SegmentId> slowest_first() const {
    std::vector<std::pair<double, SegmentId>> chosen;
    for (SegmentId s; s.value < std::ssize(chosen_); ++s) {
      if (chosen_[s.value])
        chosen.emplace_back(-gain(plan::holders(plan_, plan::stage_of(plan_, s)).front(), s).seconds, s);
    }
    std::ranges::sort(chosen);
    std::vector<SegmentId> result;
    for (const auto& [seconds, s] : chosen) result.push_back(s);
    return result;
  }

  /// What each rank needs with the present choice, up to the first that needs more than `enough`.
  std::vector<std::int64_t> rank_bytes(std::int64_t enough = std::numeric_limits<std::int64_t>::max()) const {
    const plan::Plan window = plan::unroll(plan::add_recompute(plan_, chosen_), steps_);
    const plan::Timeline timeline = simulate(window, time_);
    std::vector<std::int64_t> bytes;
    for (Rank rank(0); rank.value < std::ssize(window.ranks); ++rank) {
      bytes.push_back(limited_bytes(peak_memory(window, sizes_, memory_, timeline, rank)));
      if (bytes.back() > enough) break;
    }
    return bytes;
  }

  /// The first rank beyond the limit, -1 where all keep it.
  Rank first_over() const {
    const std::vector<std::int64_t> bytes = rank_bytes(limit_);
    return Rank(bytes.back() > limit_ ? static_cast<int>(bytes.size()) - 1 : -1);
  }

  [[noreturn]] void throw_too_large(Rank rank, std::int64_t bytes) const {
    throw usage_error("memory", print_bytes(Bytes(limit_)),
                      fmt::format("at least {} bytes, which rank {} is predicted to need with everything recomputed",
                                  bytes, rank.value * ranks_of_each_),
                      "try more ranks, smaller micro-batches or another partition");
  }

  const plan::Plan& plan_;
  const Sizes& sizes_;
  const TimeModel& time_;
  const MemoryModel& memory_;
  std::int64_t limit_;
  int steps_, most_steps_, ranks_of_each_;
  std::vector<bool> chosen_;
};

}  // namespace

plan::Plan recompute_to_fit(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time,
                            const MemoryModel& memory, Bytes limit, int steps, int ranks_of_each) {
  return Fit(plan, sizes, time, memory, limit, steps, ranks_of_each).run();
}

std::int64_t limited_bytes(const MemoryUsage& usage) {
  return usage.device_used > 0 ? usage.device_used : usage.total_counted();
}

}  // namespace parabench::analytic
