#include "suite/rank/reductions.h"

#include <algorithm>

#include "parallelism/comm/bus_bandwidth.h"

namespace parabench {
namespace {

BusOperation bus_operation(OpKind collective) {
  switch (collective) {
    case OpKind::all_reduce: return BusOperation::all_reduce;
    case OpKind::reduce_scatter: return BusOperation::reduce_scatter;
    case OpKind::all_gather: return BusOperation::all_gather;
    case OpKind::broadcast: return BusOperation::broadcast;
    case OpKind::forward:
    case OpKind::backward:
    case OpKind::backward_input:
    case OpKind::backward_weight:
    case OpKind::recompute:
    case OpKind::norms:
    case OpKind::update:
    case OpKind::send:
    case OpKind::receive: break;
  }
  return BusOperation::send_recv;
}

}  // namespace

std::optional<double> reduction_bandwidth(const Plan& plan, const Matching& matching, const Sizes& sizes,
                                          const Timeline& timeline, Rank rank, int first_step) {
  double bytes = 0, seconds = 0;
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    const auto& peers = matching[rank.value][lane];
    if (lanes[lane].key.kind != LaneKind::collectives || peers.empty()) continue;
    for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) {
      const Op& op = lanes[lane].ops[i];
      if (op.step.value < first_step) continue;
      const Span& own = timeline.ranks[rank.value][lane][i];
      double joined = own.start;
      for (const LaneRef& peer : peers) joined = std::max(joined, timeline.ranks[peer.rank.value][peer.lane][i].start);
      const std::int64_t buffer = sizes.payload_bytes(plan, rank, op);
      bytes += bus_bandwidth(bus_operation(op.kind), buffer, static_cast<int>(peers.size()) + 1, /*seconds=*/1);
      seconds += own.end - joined;
    }
  }
  return seconds > 0 ? std::optional(bytes / seconds) : std::nullopt;
}

}  // namespace parabench
