#include "analytic/memory/skip_spans.h"

#include <algorithm>
#include <limits>

namespace parabench::analytic {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

}  // namespace

SkipSpans::SkipSpans(const plan::Plan& plan, Rank rank, std::span<const std::vector<plan::Span>> spans,
                     const PassSpans& passes)
    : plan_(plan), rank_(rank), passes_(passes) {
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    for (std::size_t i = 0; i < lanes[l].ops.size(); ++i) {
      const plan::Op& op = lanes[l].ops[i];
      if (op.kind == plan::OpKind::send && op.port > 0)
        sends_.try_emplace(place(op.payload, op, op.port), &spans[l][i]);
    }
  }
}

bool SkipSpans::computes_here(const plan::Op& op, SegmentId other) const {
  return plan::replica_of(plan_, rank_, other) == plan::replica_of(plan_, rank_, op.segment) &&
         passes_.find(plan::OpKind::forward, op, other.value - op.segment.value);
}

double SkipSpans::taken_until(const plan::Op& op, int tensor) const {
  double until = never;
  for (const plan::SkipPort& skip : plan_.skips) {
    if (skip.tensor != tensor || !computes_here(op, skip.to)) continue;
    const int away = skip.to.value - op.segment.value;
    const plan::Span* backward = passes_.find_input_gradient(op, away);
    until = std::max(until, (backward ? backward : passes_.find(plan::OpKind::forward, op, away))->end);
  }
  return until;
}

double SkipSpans::sent_until(plan::Payload payload, const plan::Op& pass, int port) const {
  const auto send = sends_.find(place(payload, pass, port));
  return send == sends_.end() ? never : send->second->end;
}

}  // namespace parabench::analytic
