// What comes and goes at the moments of a micro-batch on a rank of a pipeline.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/allocations.h"
#include "analytic/memory/sizes.h"
#include "analytic/simulate/micro_batch_kinds.h"
#include "analytic/simulate/pipeline_sweep.h"
#include "base/measures.h"

namespace parabench::analytic {

/// Moments of a micro-batch on a rank: the begin and the end of each kind of pass of a chunk, the post of a receive and
/// the end of a send for it; and the end of the updates.
struct Moments {
  int chunks = 1;
  static constexpr int kinds = RankSeconds::kinds;
  int pass(plan::OpKind kind, int chunk, bool ends) const {
    return (chunk * kinds + static_cast<int>(kind)) * 2 + ends;
  }
  int message(bool sends, bool forwards, int chunk) const {
    return chunks * kinds * 2 + (chunk * 2 + sends) * 2 + forwards;
  }
  int update(int place) const { return chunks * (kinds * 2 + 4) + place; }
  int count() const { return update(chunks); }
};

/// Bytes that come less those that go at a moment.
struct Change {
  std::int64_t total = 0;
  std::array<std::int64_t, enum_names<MemoryCategory>.size()> category{};
  void add(const Allocation& a, int sign) {
    total += sign * a.bytes;
    category[static_cast<int>(a.category)] += sign * a.bytes;
  }
  bool is_none() const {
    return std::ranges::all_of(category, [](std::int64_t bytes) { return bytes == 0; });
  }
};

/// What micro-batches of each kind hold: allocations() of a rank that has one of each, every moment of whose operations
/// is a number of its own.
class HeldAtMoments {
 public:
  /// `once`: what the rank has in a step, of the first micro-batch of each kind alone. `window`, `timeline`: of the
  /// outline, where those of the rank are put.
  HeldAtMoments(const plan::PipelineOutline& outline, const Sizes& sizes, const MemoryModel& memory, Rank rank,
                const MicroBatchKinds& kinds, plan::RankProgram once, plan::Plan& window, plan::Timeline& timeline);

  const Moments& moments() const { return moments_; }
  /// By kind of micro-batch, then moment; place() in it.
  std::span<const Change> changes() const { return changes_; }
  int place(int kind, int moment) const { return kind * moments_.count() + moment; }
  const Change& always() const { return always_; }

 private:
  Moments moments_;
  std::vector<Change> changes_;
  Change always_;
};

/// Of each stage the rank's chunk that it is, -1 where it is another rank's.
std::vector<int> chunks_of(const plan::PipelineOutline& outline, Rank rank);

}  // namespace parabench::analytic
