// Data parallelism that fuses gradients by size and by time, as Horovod does (Sergeev and Del Balso 2018,
// arXiv 1802.05799; horovod/common/controller.cc).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// What the strategy's parameters set: what is ready at one look of the coordinator is reduced together, as long as it
/// fits a buffer.
struct Fusion {
  Bytes buffer;   ///< HOROVOD_FUSION_THRESHOLD
  Seconds cycle;  ///< HOROVOD_CYCLE_TIME: from look to look; 0: whatever is ready at once
};

/// Of the parameters: defaults, and what they accept.
inline constexpr std::string_view usual_fusion = "64MiB", fusion_expected = "a size of at least one byte";
inline constexpr std::string_view usual_cycle = "1ms", cycle_expected = "a time, 0 for looking without pause";

/// Of a case of strategy horovod. Throws usage_error for what a parameter does not accept.
Fusion fusion(const Case& spec);

/// Which gradients are reduced together, in backward order, never across stages. `ready`: seconds from the start of a
/// step until each segment's gradients are there; a look is taken after every cycle. Neighbours share a buffer where
/// one look finds them both and the buffer holds them both; a segment larger than the buffer goes alone. Segments
/// without parameters join those that follow, at the end of a stage those before. O(segments).
std::vector<SegmentRun> fuse(const Plan& plan, std::span<const Bytes> segment_bytes, std::span<const double> ready,
                             const Fusion& fusion);

/// When each segment of a plan of one stage and micro-batch has its gradients, by the layers' times (Profile::seconds),
/// of which the forward is a third: seconds from the start of a step. Without times every layer takes none.
std::vector<double> gradients_ready(const Plan& plan, std::span<const double> layer_seconds);

/// With one rank: sequential. The looks fall where the predicted times put them, counted from the start of a step;
/// Horovod's are counted from the start of its program, so that its fusion differs from step to step.
Plan horovod_plan(const StrategyInput& input);

}  // namespace parabench::plan
