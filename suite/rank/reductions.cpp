#include "suite/rank/reductions.h"

#include <algorithm>

#include "parallelism/comm/bus_bandwidth.h"

namespace parabench {

std::optional<double> reduction_bandwidth(const Plan& plan, const Matching& matching, const Sizes& sizes,
                                          const Timeline& timeline, Rank rank, int first_step) {
  double bytes = 0, seconds = 0;
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    const auto& peers = matching[rank.value][lane];
    if (lanes[lane].kind != LaneKind::collectives || peers.empty()) continue;
    for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) {
      const Op& op = lanes[lane].ops[i];
      if (op.step < first_step) continue;
      const Span& own = timeline.ranks[rank.value][lane][i];
      double joined = own.start;
      for (const LaneRef& peer : peers) joined = std::max(joined, timeline.ranks[peer.rank.value][peer.lane][i].start);
      const std::int64_t buffer = sizes.parameter_bytes(plan, op.segment, op.segments);
      bytes += bus_bandwidth(BusOperation::all_reduce, buffer, static_cast<int>(peers.size()) + 1, /*seconds=*/1);
      seconds += own.end - joined;
    }
  }
  return seconds > 0 ? std::optional(bytes / seconds) : std::nullopt;
}

}  // namespace parabench
