#include "analytic/costs/curve_times.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/interpolate.h"

namespace parabench::analytic {
namespace {

TimeParts along(const Curve& curve, std::int64_t bytes) {
  const double total = at_bytes(curve, bytes), latency = curve.front().seconds;
  return with_total({.latency = latency, .transfer = total - latency}, total);
}

/// By the points that tell them.
BesideComputing beside_computing(const Curve& curve, std::int64_t bytes) {
  Curve alone, loaded, lost;
  for (const CurvePoint& point : curve) {
    if (!(point.loaded_s > 0)) continue;
    alone.push_back(point);
    loaded.push_back({point.bytes, point.loaded_s});
    if (point.lost_share) lost.push_back({point.bytes, *point.lost_share});
  }
  if (alone.empty()) return {};
  const double seconds = at_bytes(alone, bytes);
  BesideComputing beside{.slowdown = seconds > 0 ? at_bytes(loaded, bytes) / seconds : 0};
  if (!lost.empty()) beside.lost_share = at_bytes(lost, std::min(bytes, lost.back().bytes));
  return beside;
}

/// Of an all-reduce among members that are all as far from each other: messages one after the other, and the buffers
/// that the busiest one sends.
struct Way {
  double rounds = 0, sent = 0;
};
Way way_of(ReduceKind reduce, int members) {
  return {.rounds = all_reduce_by(reduce, members, 0, {.latency_s = 1, .bytes_per_s = 1}),
          .sent = all_reduce_by(reduce, members, 1, {.bytes_per_s = 1})};
}

}  // namespace

Curve derived_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape) {
  const std::optional<GroupShape> similar = similar_shape(calibration, spec, shape);
  if (!similar) return reduction_curve(calibration, spec, shape);  // which throws
  const auto between_hosts = [&](const GroupShape& group) {
    constexpr std::int64_t large = std::numeric_limits<std::int64_t>::max();
    return way_of(algorithm_of(spec.reduce, group, /*whole=*/true, large), group.hosts);
  };
  const Way wanted = between_hosts(shape), known = between_hosts(*similar);
  const double rounds = wanted.rounds / known.rounds, sent = wanted.sent / known.sent;
  Curve curve = reduction_curve(calibration, spec, *similar);
  const double latency = curve.front().seconds;
  for (CurvePoint& point : curve) {
    const double slower = point.seconds > 0 ? point.loaded_s / point.seconds : 0;
    point.seconds = rounds * latency + sent * (point.seconds - latency);
    point.loaded_s = slower * point.seconds;
  }
  return curve;
}

Curve measured_or_derived_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape) {
  auto measured = find_reduction_curve(calibration, spec, shape);
  return measured ? *std::move(measured) : derived_curve(calibration, spec, shape);
}

TimeParts collective_times(const Calibration& calibration, const Case& spec, plan::OpKind collective,
                           const GroupShape& shape, std::int64_t bytes) {
  if (const auto own = find_share_curve(calibration, spec, collective, shape)) return along(*own, bytes);
  const TimeParts whole = along(measured_or_derived_curve(calibration, spec, shape), bytes);
  TimeParts times = share_of_all_reduce(collective) * whole;
  const ReduceKind own = algorithm_of(spec.reduce, shape, collective == plan::OpKind::all_reduce, bytes);
  if (spec.reduce != ReduceKind::double_tree || own == spec.reduce || shape.ranks == 1) return times;
  const Way around = way_of(own, shape.ranks), trees = way_of(spec.reduce, shape.ranks);
  times.latency *= around.rounds / trees.rounds;
  times.transfer *= around.sent / trees.sent;
  return times;
}

BesideComputing collective_beside_computing(const Calibration& calibration, const Case& spec, plan::OpKind collective,
                                            const GroupShape& shape, std::int64_t bytes) {
  if (const auto own = find_share_curve(calibration, spec, collective, shape)) {
    if (const BesideComputing known = beside_computing(*own, bytes); known.slowdown > 0) return known;
  }
  return beside_computing(measured_or_derived_curve(calibration, spec, shape), bytes);
}

BesideComputing message_beside_computing(const Calibration& calibration, const Case& spec, bool between_hosts,
                                         std::int64_t bytes) {
  return beside_computing(message_curve(calibration, spec, between_hosts), bytes);
}

TimeParts message_times(const Calibration& calibration, const Case& spec, bool between_hosts, std::int64_t bytes) {
  return along(message_curve(calibration, spec, between_hosts), bytes);
}

GroupShape exchange_shape(const ExchangeSetting& setting, const Exchange& exchange, const Placement& placement) {
  const int members = exchange.kind == ExchangeKind::ping_pong ? 2 : exchange.members;
  GroupShape widest{.ranks = members};
  for (int first = 0; first + exchange.members <= setting.np; first += exchange.members) {
    std::vector<Rank> group;
    for (int r = 0; r < members; ++r) group.emplace_back(first + r);
    const GroupShape shape = group_shape(placement, group);
    if (first == 0 || shape.hosts > widest.hosts) widest = shape;
  }
  return widest;
}

namespace {

/// In a plan; of messages that of a send.
plan::OpKind op_kind(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::all_reduce: return plan::OpKind::all_reduce;
    case ExchangeKind::reduce_scatter: return plan::OpKind::reduce_scatter;
    case ExchangeKind::all_gather: return plan::OpKind::all_gather;
    case ExchangeKind::broadcast: return plan::OpKind::broadcast;
    case ExchangeKind::send_receive:
    case ExchangeKind::ping_pong: break;
  }
  return plan::OpKind::send;
}

}  // namespace

double exchange_seconds(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange,
                        const Placement& placement) {
  const Case spec = case_of(setting);
  const GroupShape shape = exchange_shape(setting, exchange, placement);
  const bool between_hosts = shape.hosts > 1;
  const TimeParts parts = is_message(exchange.kind)
                              ? message_times(calibration, spec, between_hosts, exchange.bytes)
                              : collective_times(calibration, spec, op_kind(exchange.kind), shape, exchange.bytes);
  return parts.total();
}

ExchangeCurve exchange_curve(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange,
                             const Placement& placement) {
  const Case spec = case_of(setting);
  const GroupShape shape = exchange_shape(setting, exchange, placement);
  if (is_message(exchange.kind)) return {message_curve(calibration, spec, shape.hosts > 1)};
  const plan::OpKind collective = op_kind(exchange.kind);
  if (const auto own = find_share_curve(calibration, spec, collective, shape)) return {*own};
  return {measured_or_derived_curve(calibration, spec, shape), collective != plan::OpKind::all_reduce};
}

}  // namespace parabench::analytic
