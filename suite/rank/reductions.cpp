#include "suite/rank/reductions.h"

#include <algorithm>

#include "base/exchange.h"

namespace parabench::rank {
namespace {

ExchangeKind exchange_kind(plan::OpKind collective) {
  switch (collective) {
    case plan::OpKind::all_reduce: return ExchangeKind::all_reduce;
    case plan::OpKind::reduce_scatter: return ExchangeKind::reduce_scatter;
    case plan::OpKind::all_gather: return ExchangeKind::all_gather;
    case plan::OpKind::broadcast: return ExchangeKind::broadcast;
    case plan::OpKind::forward:
    case plan::OpKind::backward:
    case plan::OpKind::backward_input:
    case plan::OpKind::backward_weight:
    case plan::OpKind::recompute:
    case plan::OpKind::norms:
    case plan::OpKind::update:
    case plan::OpKind::add:
    case plan::OpKind::average:
    case plan::OpKind::encode:
    case plan::OpKind::project:
    case plan::OpKind::decode:
    case plan::OpKind::send:
    case plan::OpKind::receive: break;
  }
  return ExchangeKind::send_receive;
}

}  // namespace

std::optional<double> reduction_bandwidth(const plan::Plan& plan, const plan::Matching& matching,
                                          const analytic::Sizes& sizes, const plan::Timeline& timeline, Rank rank,
                                          StepId first_step) {
  double bytes = 0, seconds = 0;
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    const auto& peers = matching[rank.value][lane];
    // Sums of statistics are all latency.
    const bool of_passes = plan::is_of_micro_batch(lanes[lane].key.purpose);
    if (lanes[lane].key.kind != plan::LaneKind::collectives || of_passes || peers.empty()) continue;
    for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) {
      const plan::Op& op = lanes[lane].ops[i];
      if (op.step < first_step) continue;
      const plan::Span& own = timeline.ranks[rank.value][lane][i];
      double joined = own.start;
      for (const plan::LaneRef& peer : peers)
        joined = std::max(joined, timeline.ranks[peer.rank.value][peer.lane][i].start);
      const std::int64_t buffer = sizes.payload_bytes(plan, rank, op);
      bytes += bus_bandwidth(exchange_kind(op.kind), buffer, static_cast<int>(peers.size()) + 1, /*seconds=*/1);
      seconds += own.end - joined;
    }
  }
  return seconds > 0 ? std::optional(bytes / seconds) : std::nullopt;
}

}  // namespace parabench::rank
